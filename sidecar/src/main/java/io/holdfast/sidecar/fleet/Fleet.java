package io.holdfast.sidecar.fleet;

import io.holdfast.core.EngineView;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.ConfigKey;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.ReloadReport;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.Limits;
import io.holdfast.sidecar.engine.SharedServices;
import io.holdfast.sidecar.store.StrayLedgers;
import io.holdfast.sidecar.view.Metrics;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The engines that a sidecar looks after, and what it takes to look after others.
 *
 * <p>An engine that goes is let go of first, for a bounded time; what it did not answer stays in its ledger. What acts for one
 * engine runs on an executor of its own, so that its ledger can be closed when the last line is written, while the others go
 * on. Only one thread at a time opens, changes or ends engines; {@link #links} may be read by any.
 */
final class Fleet {
    private static final Logger LOG = LoggerFactory.getLogger(Fleet.class);
    private static final Duration LONGEST_ROUND = Duration.ofMillis(100);
    static final int RELEASE_SECONDS = 5;
    private static final int WRITE_SECONDS = 3;
    private static final int RESOLVE_SECONDS = 2;
    private static final long NO_TIMER = -1;
    private static final String WHERE_PINS_ARE =
            "if that engine has ended, its pins ended with it, else the next start releases them from the ledger";

    private record Member(EngineLink link, ExecutorService executor, long timer) {}

    /** @param before how it was seen last, where it was */
    private record Absent(EngineConfig config, Optional<EngineView> before, String why) {}

    private final Vertx vertx;
    private final Path stateDirectory;
    private final StrayLedgers strays;
    private final Limits limits;
    private final EventThread thread;
    private final Metrics metrics;
    private final SharedServices shared;
    private final Map<String, EngineLink> links = new ConcurrentSkipListMap<>();
    private final Map<String, Member> members = new ConcurrentHashMap<>();
    /** Engines of the configuration that are not looked after at the moment. */
    private final Map<String, Absent> absent = new ConcurrentSkipListMap<>();

    private Optional<URI> servedAt = Optional.empty();

    Fleet(
            Vertx vertx,
            Path stateDirectory,
            StrayLedgers strays,
            Limits limits,
            EventThread thread,
            Metrics metrics,
            SharedServices shared) {
        this.vertx = vertx;
        this.stateDirectory = stateDirectory;
        this.strays = strays;
        this.limits = limits;
        this.thread = thread;
        this.metrics = metrics;
        this.shared = shared;
    }

    /** The engines by their ids, as they are now. */
    Map<String, EngineLink> links() {
        return Collections.unmodifiableMap(links);
    }

    /** Which engines of the configuration are not looked after at the moment, and why; any thread. */
    Map<String, String> absent() {
        Map<String, String> why = new LinkedHashMap<>();
        absent.forEach((id, engine) -> why.put(id, engine.why()));
        return why;
    }

    /** How often the event thread has to come round for these. */
    static int roundMillis(Collection<EngineConfig> engines, SharedServices.Seams seams) {
        return (int) seams.waitMillis(engines.stream()
                .map(EngineConfig::tick)
                .filter(tick -> tick.compareTo(LONGEST_ROUND) < 0)
                .min(Comparator.naturalOrder())
                .orElse(LONGEST_ROUND));
    }

    /** @throws IOException with one sentence, when the engine cannot be looked after */
    void open(EngineConfig engine) throws IOException {
        open(engine, Optional.empty());
    }

    /** @param before how the same engine was seen last, where it is followed anew */
    private void open(EngineConfig engine, Optional<EngineView> before) throws IOException {
        ExecutorService executor = Executors.newThreadPerTaskExecutor(Thread.ofVirtual()
                .name("holdfast-acting-" + engine.id() + "-", 0)
                .factory());
        EngineLink link;
        try {
            link = EngineLink.open(
                    engine, stateDirectory, strays, limits.of(engine.id()), thread, shared.withExecutor(executor));
        } catch (IOException | RuntimeException e) {
            executor.shutdownNow();
            throw e;
        }
        // Before it knows enough of the engine to act.
        before.ifPresent(link::steerLike);
        members.put(engine.id(), new Member(link, executor, NO_TIMER));
        metrics.follow(link);
        links.put(engine.id(), link);
        servedAt.ifPresent(uri -> begin(link, uri));
    }

    /** Waits, for a bounded time, until what earlier processes held is there to be seen. */
    void awaitRestored() {
        CompletableFuture.allOf(
                        links.values().stream().map(EngineLink::restored).toArray(CompletableFuture<?>[]::new))
                .join();
    }

    /** Asks the engines for their numbers from now on. */
    void begin(URI uri) {
        servedAt = Optional.of(uri);
        links.values().forEach(link -> begin(link, uri));
    }

    private void begin(EngineLink link, URI uri) {
        link.servedAt(uri);
        askRegularly(link);
    }

    private void askRegularly(EngineLink link) {
        long timer =
                vertx.setPeriodic(1, shared.seams().waitMillis(link.config().readings()), fired -> link.ask());
        members.computeIfPresent(link.id(), (id, member) -> {
            cancel(member);
            return new Member(member.link(), member.executor(), timer);
        });
    }

    private void cancel(Member member) {
        if (member.timer() != NO_TIMER) {
            vertx.cancelTimer(member.timer());
        }
    }

    /** Two names can be one engine, which a configuration that asks no name server cannot know. */
    void refuseTwins(List<EngineConfig> configured) throws IOException {
        List<CompletableFuture<String>> addresses = configured.stream()
                .map(engine -> CompletableFuture.supplyAsync(
                                () -> EngineAddress.resolved(engine.url()), shared.executor())
                        .completeOnTimeout(EngineAddress.spelling(engine.url()), RESOLVE_SECONDS, TimeUnit.SECONDS))
                .toList();
        Map<String, EngineConfig> seen = new LinkedHashMap<>();
        for (int i = 0; i < configured.size(); i++) {
            EngineConfig engine = configured.get(i);
            EngineConfig twin = seen.putIfAbsent(addresses.get(i).join(), engine);
            if (twin != null) {
                throw new IOException("Engines " + twin.id() + " (" + twin.url() + ") and " + engine.id() + " ("
                        + engine.url() + ") are one, at " + addresses.get(i).join()
                        + "; list it once, since two ledgers of one engine would release each other's pins.");
            }
        }
    }

    /**
     * Gets to another configuration; whatever can be known to fail fails before anything is done.
     *
     * @throws ConfigException in one sentence, where only a restart gets there
     * @throws IOException in one sentence, where a file or a variable is missing
     */
    ReloadReport change(SidecarConfig before, SidecarConfig after) throws IOException {
        FleetChange change = FleetChange.between(before, after);
        refuseTwins(after.engines());
        for (EngineConfig engine : change.added()) {
            engine.requireFiles(System.getenv());
        }
        for (EngineConfig engine : change.changed().keySet()) {
            engine.requireFiles(System.getenv());
        }
        List<String> problems = new ArrayList<>();
        Map<String, List<String>> changed = new LinkedHashMap<>();
        List<EngineConfig> anew = new ArrayList<>();
        change.changed().forEach((engine, keys) -> {
            changed.put(engine.id(), keys.stream().map(ConfigKey::name).toList());
            if (FleetChange.anew(keys)) {
                anew.add(engine);
            } else {
                inPlace(engine);
            }
        });
        absent.values().removeIf(engine -> !after.engines().contains(engine.config()));
        List<Absent> back = new ArrayList<>(absent.values());
        anew.forEach(engine -> back.add(new Absent(
                engine,
                Optional.ofNullable(links.get(engine.id())).map(EngineLink::view),
                "it is being followed anew with other settings")));
        back.forEach(engine -> absent.put(engine.config().id(), engine));
        List<EngineLink> going = new ArrayList<>();
        change.removed()
                .forEach(engine -> Optional.ofNullable(links.get(engine.id())).ifPresent(going::add));
        anew.forEach(engine -> Optional.ofNullable(links.get(engine.id())).ifPresent(going::add));
        problems.addAll(end(going));
        List<String> added = new ArrayList<>();
        for (EngineConfig engine : change.added()) {
            if (opened(engine, Optional.empty(), problems)) {
                added.add(engine.id());
            }
        }
        back.forEach(engine -> {
            boolean _ = opened(engine.config(), engine.before(), problems);
        });
        thread.comeRoundEvery(roundMillis(after.engines(), shared.seams()));
        return new ReloadReport(
                added,
                change.removed().stream().map(EngineConfig::id).toList(),
                changed,
                back.stream().map(engine -> engine.config().id()).toList(),
                problems);
    }

    /**
     * Looks after those engines anew that were let go of because the event thread did not come round: with other controllers
     * that know nothing of before, and by their ledgers, as a start would. Tries the same for what is absent for another
     * reason.
     *
     * @return what keeps an engine from that, for another call; empty when all are looked after
     */
    List<String> followAnew() {
        List<EngineLink> missed = links.values().stream()
                .filter(link -> thread.missed(link.controller()))
                .toList();
        List<EngineLink> _ = letGo(missed);
        List<String> problems = new ArrayList<>();
        List<EngineLink> ready = new ArrayList<>();
        for (EngineLink link : missed) {
            // Else what is released now would be released once more, which could take somebody else's pin.
            link.unfinished()
                    .ifPresentOrElse(
                            why -> problems.add("engine " + link.id() + " is not followed yet: " + why),
                            () -> ready.add(link));
        }
        ready.forEach(link -> absent.put(
                link.id(),
                new Absent(
                        link.config(),
                        Optional.of(link.view()),
                        "it is being followed anew, since the event thread was held up")));
        end(ready).forEach(left -> LOG.warn("While the event thread was away: {}.", left));
        List<String> followed = new ArrayList<>();
        for (Absent engine : List.copyOf(absent.values())) {
            if (opened(engine.config(), engine.before(), problems)) {
                followed.add(engine.config().id());
            }
        }
        if (!followed.isEmpty()) {
            LOG.warn("{} are followed anew; what their ledgers list is released before anything is held.", followed);
        }
        return problems;
    }

    /** What a person should know of how often all were let go of. */
    Optional<String> note() {
        int hangs = thread.hangs();
        return hangs == 0
                ? Optional.empty()
                : Optional.of("the event thread was held up " + (hangs == 1 ? "once" : hangs + " times")
                        + " since the start, and every pin was released meanwhile; the machine is overloaded, or"
                        + " report this");
    }

    private boolean opened(EngineConfig engine, Optional<EngineView> before, List<String> problems) {
        try {
            open(engine, before);
            absent.remove(engine.id());
            return true;
        } catch (IOException | RuntimeException e) {
            absent.put(engine.id(), new Absent(engine, before, String.valueOf(e.getMessage())));
            problems.add("engine " + engine.id() + " is not looked after: " + e.getMessage());
            return false;
        }
    }

    private void inPlace(EngineConfig engine) {
        Optional.ofNullable(links.get(engine.id())).ifPresent(link -> {
            boolean paced = !link.config().readings().equals(engine.readings());
            boolean _ = link.change(engine)
                    .toCompletableFuture()
                    .completeOnTimeout(false, 1, TimeUnit.SECONDS)
                    .exceptionally(failure -> false)
                    .join();
            if (paced) {
                askRegularly(link);
            }
        });
    }

    /** Lets go of these engines and looks after them no more; answers what should be known of that. */
    private List<String> end(List<EngineLink> going) {
        if (going.isEmpty()) {
            return List.of();
        }
        List<String> problems = new ArrayList<>();
        going.forEach(link -> Optional.ofNullable(members.get(link.id())).ifPresent(this::cancel));
        List<EngineLink> unanswered = letGo(going);
        for (EngineLink link : going) {
            links.remove(link.id());
            link.leave();
            Member member = members.remove(link.id());
            close(member == null ? List.of() : List.of(member));
            metrics.forget(link.id());
            int left = link.outstanding();
            if (left > 0 && !link.endsByItself()) {
                problems.add((unanswered.contains(link)
                                ? "engine " + link.id() + " did not answer within " + RELEASE_SECONDS + " s; "
                                : "")
                        + left + " pins of engine " + link.id() + " are still listed in its ledger in "
                        + stateDirectory
                        + ": holdfast ledger release releases them, or the next start with this engine does");
            }
        }
        return problems;
    }

    /** Lets go of all that all engines hold, for a bounded time. */
    void letGo() {
        List<EngineLink> all = List.copyOf(links.values());
        for (EngineLink engine : letGo(all)) {
            if (engine.outstanding() > 0) {
                LOG.warn(
                        "Engine {} has not answered every unpin within {} s, and {} not released ({}); {}.",
                        engine.id(),
                        RELEASE_SECONDS,
                        engine.outstanding() == 1 ? "1 pin is" : engine.outstanding() + " pins are",
                        engine.whyNotReleased(),
                        WHERE_PINS_ARE);
            }
        }
    }

    /** Writes what was learned since the last snapshots, for a bounded time. */
    void keepLearned() {
        CompletableFuture<?>[] snapshots =
                links.values().stream().map(EngineLink::keepLearned).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(snapshots).get(WRITE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("What was learned since the last snapshot is not on the disk, so the next start learns it anew.");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Lets go of what these engines hold, if need be without their controllers; returns those that did not answer in time. */
    private List<EngineLink> letGo(List<EngineLink> all) {
        List<EngineLink> unanswered = letGoOnce(all);
        // Whose controller does not come round is let go of without it.
        boolean hangs = thread.lagNanos() > TimeUnit.SECONDS.toNanos(RELEASE_SECONDS) / 2.0;
        if (unanswered.isEmpty() || !hangs) {
            return unanswered;
        }
        all.forEach(engine -> engine.failed("the event thread hangs while the sidecar ends"));
        return letGoOnce(all);
    }

    private static List<EngineLink> letGoOnce(List<EngineLink> all) {
        Map<EngineLink, CompletableFuture<Void>> releases = new LinkedHashMap<>();
        all.forEach(engine -> releases.put(
                engine,
                engine.letGo().thenAccept(done -> tell(engine, done.pending())).toCompletableFuture()));
        try {
            CompletableFuture.allOf(releases.values().toArray(CompletableFuture<?>[]::new))
                    .get(RELEASE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            return all.stream()
                    .filter(engine -> {
                        CompletableFuture<Void> release = releases.get(engine);
                        return release != null && !release.isDone();
                    })
                    .toList();
        } catch (ExecutionException e) {
            LOG.warn("Letting go failed; the ledger keeps the rest for the next start.", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return List.of();
    }

    /** Tells of holds that an engine was asked to release and did not. */
    private static void tell(EngineLink engine, int pending) {
        String holds = pending == 1 ? "1 hold" : pending + " holds";
        if (pending > 0 && engine.endsByItself()) {
            LOG.info("Engine {}: the pins of {} end automatically when their time has run out.", engine.id(), holds);
        } else if (pending > 0) {
            LOG.warn(
                    "Engine {} did not release {} ({}); {}.",
                    engine.id(),
                    holds,
                    engine.whyNotReleased(),
                    WHERE_PINS_ARE);
        }
    }

    /** Asks the engines for nothing any more. */
    void stopAsking() {
        members.values().forEach(this::cancel);
    }

    /** Closes all of them; the event thread has ended. */
    void shut() {
        close(List.copyOf(members.values()));
    }

    private static void close(List<Member> all) {
        all.forEach(member -> member.link().hangUp());
        all.forEach(member -> member.executor().shutdown());
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WRITE_SECONDS);
        for (Member member : all) {
            try {
                // What was released is on its way to the ledger; unwritten it would be unpinned once more by the next
                // start.
                if (!member.executor().awaitTermination(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS)) {
                    LOG.warn(
                            "Engine {}: not every line was written to the ledger within {} s.",
                            member.link().id(),
                            WRITE_SECONDS);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            member.link().close();
        }
    }
}
