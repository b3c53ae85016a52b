package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.EngineView;
import io.holdfast.core.hold.ClaimView;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.DeclaredHold;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.store.HoldFile;
import io.holdfast.sidecar.store.KeptClaim;
import io.holdfast.sidecar.store.KeptHold;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requested holds of one engine that last: through restarts of the sidecar until their leases end, or by name. */
public final class LastingHolds {
    /*
     * Two kinds
     * ---------
     * A hold that was asked for through the API is kept until its lease ends or somebody releases it. A declared one lasts
     * while the configuration names it: it is asked for again whenever it is over or says something else by now, and
     * released when its name is gone. Both keep their number through a restart.
     *
     * Leases
     * ------
     * A hold is kept with all its claims. What is asked of one is written at once; what uses prolong is compared with each
     * look, and written when it has moved by more than a grain, since a disk is no place for each use. So after a crash a
     * lease that is prolonged all the time may end a twentieth of its length too early, a minute at most.
     *
     * Not named yet
     * -------------
     * What is asked for before the engine has shown how it names blocks, or while it makes no tokens of a text, has no
     * blocks yet. Such a hold is kept without them, is shown as requested with the reason, and is looked at again and again:
     * it goes to the controller under its number as soon as its blocks are known.
     *
     * Another model
     * -------------
     * Tokens and blocks belong to a model. While the engine serves another one, a hold that was asked for is given up here
     * and stays in the file: should its model come back within the lease, it is asked for again. A declared hold is made
     * anew of what it was declared by.
     *
     * Order
     * -----
     * What is written of a hold comes from answers, and those may come here in another order than they were given: a renewal
     * may be written late, when its requester has left. So a view that is older than what was written last of that hold is
     * passed over, and so is whatever comes of one that was released here: its number is never used again. A change that
     * comes before the hold itself was written is written with it. What tells all this has a lock of its own, behind which
     * nothing waits for a disk: a release does not either.
     *
     * Threads
     * -------
     * What touches the file or asks the engine runs on the executor, one at a time; the controller is told through its
     * mailbox. A disk that takes no line never keeps a hold from being made or released: it is said, and that is all.
     */

    private static final Logger LOG = LoggerFactory.getLogger(LastingHolds.class);
    private static final Lease DECLARED_LEASE = Lease.absolute(Lease.LONGEST);
    private static final int MOST_UNNAMED = 256;
    private static final int MOST_CHARACTERS = 8 << 20;
    private static final String RESTARTED = "requested before the sidecar was started again";
    private static final Duration ANSWER = Duration.ofSeconds(90);
    private static final Duration AGAIN = Duration.ofSeconds(1);
    private static final Duration REFUSED_AGAIN = Duration.ofMinutes(1);
    /** More than can be on their way at a time. */
    private static final int ENDED_REMEMBERED = 4096;

    private volatile EngineConfig config;
    private final HoldFile file;
    private final Controller controller;
    private final PrefixResolver prefixes;
    private final Supplier<Optional<EngineIdentity>> engine;
    private final InstantSource wall;
    private final Executor executor;
    /** Of the view that was looked at last: one that does not move any more says nothing of how long leases run. */
    private long lastTick = -1;

    private final AtomicBoolean looking = new AtomicBoolean();
    /** Numbers of holds that the controller has from us. */
    private final Set<Long> active = new HashSet<>();

    /** Guards the next three. */
    private final Object order = new Object();
    /** Of what was written last of each hold, or came before it could be: the order of its view. */
    private final Map<Long, Long> orders = new HashMap<>();
    /** Numbers of holds that were released here lately. */
    private final SequencedSet<Long> ended = new LinkedHashSet<>();
    /** Claims of holds that were changed before they were written. */
    private final Map<Long, List<KeptClaim>> early = new HashMap<>();

    /** Why holds that are not named yet wait. */
    private final Map<Long, String> waits = new ConcurrentHashMap<>();

    private final Map<String, Instant> notBefore = new HashMap<>();
    private final Map<String, String> troubles = new LinkedHashMap<>();
    private volatile Map<Long, KeptHold> known = Map.of();
    private volatile List<String> notes = List.of();

    LastingHolds(
            EngineConfig config,
            HoldFile file,
            Controller controller,
            PrefixResolver prefixes,
            Supplier<Optional<EngineIdentity>> engine,
            InstantSource wall,
            Executor executor) {
        this.config = config;
        this.file = file;
        this.controller = controller;
        this.prefixes = prefixes;
        this.engine = engine;
        this.wall = wall;
        this.executor = executor;
    }

    /** Hands what was kept to the controller, before anybody else asks it for a hold. */
    synchronized void begin() {
        file.kept().forEach(hold -> restore(hold, RESTARTED));
        publish();
    }

    private void restore(KeptHold hold, String why) {
        if (hold.unnamed()) {
            return;
        }
        if (!claimsNow(hold).isEmpty() && active.add(hold.id())) {
            HoldRequest request = request(hold);
            if (hold.asked() instanceof PrefixSource.Text || hold.asked() instanceof PrefixSource.Messages) {
                controller.hasToken(request.largestToken());
            }
            controller.restore(hold.id(), request, () -> claimsNow(hold), why);
        }
    }

    private List<ClaimView> claimsNow(KeptHold hold) {
        Instant now = wall.instant();
        return (hold.declared() ? List.of(declared(hold.name(), now)) : hold.claims())
                .stream()
                        .filter(claim -> claim.until().isAfter(now))
                        .map(claim -> claim.left(now))
                        .toList();
    }

    private KeptClaim declared(String name, Instant now) {
        return KeptClaim.until(
                now.plus(DECLARED_LEASE.length()),
                config.ownHolds().stream().anyMatch(hold -> hold.name().equals(name) && hold.measured()));
    }

    private static HoldRequest request(KeptHold hold) {
        return hold.tokens()
                .map(tokens -> new HoldRequest(hold.blocks(), tokens, DECLARED_LEASE))
                .orElseGet(() -> new HoldRequest(hold.blocks(), DECLARED_LEASE));
    }

    /**
     * Keeps a hold whose blocks are not known yet, or renews its requester's; answered with the hold as it waits, absent where
     * no more may wait.
     */
    CompletionStage<Optional<HoldView>> keepUnnamed(PrefixSource source, HoldRequest wish, String why) {
        return controller.newHoldId().thenApplyAsync(id -> keepUnnamed(id, source, wish, why), executor);
    }

    private synchronized Optional<HoldView> keepUnnamed(long id, PrefixSource source, HoldRequest wish, String why) {
        KeptClaim claim = KeptClaim.of(wish, wall.instant());
        String digest = DeclaredHold.digest(source);
        Optional<KeptHold> before = known.values().stream()
                .filter(hold -> hold.unnamed() && !wish.requester().isEmpty())
                .filter(hold -> hold.claims().getFirst().requester().equals(wish.requester()))
                .filter(hold -> DeclaredHold.digest(hold.asked()).equals(digest))
                .findFirst();
        if (before.isEmpty() && !unnamedFits(source)) {
            return Optional.empty();
        }
        KeptHold hold = before.map(known -> known.claimedBy(List.of(claim)))
                .orElseGet(() -> new KeptHold(
                        id,
                        "",
                        "",
                        List.of(claim),
                        engine.get().flatMap(EngineIdentity::model),
                        new long[0],
                        source instanceof PrefixSource.Tokens tokens ? Optional.of(tokens.ids()) : Optional.empty(),
                        source));
        waits.put(hold.id(), why);
        boolean _ = write(hold);
        active.remove(hold.id());
        return Optional.of(waiting(hold));
    }

    private boolean unnamedFits(PrefixSource source) {
        List<KeptHold> unnamed =
                known.values().stream().filter(KeptHold::unnamed).toList();
        long tokens = unnamed.stream()
                .mapToLong(hold -> hold.tokens().map(ids -> ids.length).orElse(0))
                .sum();
        return unnamed.size() < MOST_UNNAMED
                && switch (source) {
                    case PrefixSource.Tokens more -> tokens + more.ids().length <= PrefixSource.MOST_TOKENS;
                    case PrefixSource.Text text -> fits(text.text().length());
                    case PrefixSource.Messages talk ->
                        fits(talk.messages().toString().length());
                    case PrefixSource.Hashes hashes -> false;
                    case PrefixSource.Example example -> false;
                };
    }

    /** Holds that wait until their blocks are known. */
    List<HoldView> unnamed() {
        return known.values().stream()
                .filter(KeptHold::unnamed)
                .map(this::waiting)
                .toList();
    }

    private HoldView waiting(KeptHold hold) {
        Instant now = wall.instant();
        List<ClaimView> claims =
                hold.claims().stream().map(claim -> claim.left(now)).toList();
        return new HoldView(
                hold.id(),
                HoldOrigin.REQUESTED,
                HoldState.REQUESTED,
                0,
                0,
                0,
                0,
                0,
                1,
                hold.claims().getFirst().weight(),
                claims.getFirst().left(),
                claims,
                Optional.empty(),
                waits.getOrDefault(hold.id(), RESTARTED),
                0);
    }

    /** Asks once more how the engine names what an unnamed hold is about. */
    private void name(KeptHold hold) {
        String key = "unnamed " + hold.id();
        Instant now = wall.instant();
        if (notBefore.getOrDefault(key, now).isAfter(now)) {
            return;
        }
        notBefore.put(key, now.plus(ANSWER));
        prefixes.resolve(hold.asked(), DECLARED_LEASE)
                .whenCompleteAsync(
                        (resolved, failure) -> {
                            if (failure == null) {
                                named(hold, resolved.request());
                            } else {
                                waits.put(hold.id(), sentence(failure));
                            }
                            notBefore.put(key, wall.instant().plus(failure == null ? REFUSED_AGAIN : AGAIN));
                        },
                        executor);
    }

    private synchronized void named(KeptHold unnamed, HoldRequest request) {
        Optional<KeptHold> hold = Optional.ofNullable(known.get(unnamed.id())).filter(KeptHold::unnamed);
        if (hold.isEmpty() || isEnded(unnamed.id())) {
            return;
        }
        long[] blocks = new long[request.blocks()];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = request.block(i);
        }
        KeptHold named = new KeptHold(
                unnamed.id(),
                "",
                "",
                hold.get().claims(),
                hold.get().model(),
                blocks,
                request.tokens(),
                remembered(unnamed.asked(), request, blocks));
        waits.remove(unnamed.id());
        boolean _ = write(named);
        active.remove(named.id());
        restore(named, "requested before the engine had shown how it names its blocks");
    }

    /**
     * Keeps a hold as it is after this request, which may have joined it; answered with whether it would outlive this
     * process.
     */
    public CompletionStage<Boolean> keep(HoldView hold, PrefixSource asked, HoldRequest request) {
        KeptHold kept = kept(hold, "", "", asked, request);
        return CompletableFuture.supplyAsync(() -> keep(hold, kept), executor);
    }

    private synchronized boolean keep(HoldView hold, KeptHold asked) {
        boolean outdated = outdated(hold);
        Optional<KeptHold> before = Optional.ofNullable(known.get(hold.id()));
        if (outdated && (before.isPresent() || isEnded(hold.id()))) {
            return true;
        }
        KeptHold kept = asked.claimedBy(claimedEarly(hold.id()).orElse(asked.claims()));
        if (before.isEmpty()
                || (before.get().tokens().isEmpty() && kept.tokens().isPresent())) {
            return write(kept);
        }
        return isAbout(before.get().claims(), kept.claims()) || write(Map.of(kept.id(), kept.claims()));
    }

    /** Whether more is known of the hold than this view of it; if not, nothing older is written from here on. */
    private boolean outdated(HoldView hold) {
        synchronized (order) {
            if (ended.contains(hold.id()) || orders.getOrDefault(hold.id(), Long.MIN_VALUE) > hold.order()) {
                return true;
            }
            orders.put(hold.id(), hold.order());
            return false;
        }
    }

    private boolean isEnded(long id) {
        synchronized (order) {
            return ended.contains(id);
        }
    }

    private Optional<List<KeptClaim>> claimedEarly(long id) {
        synchronized (order) {
            return Optional.ofNullable(early.remove(id));
        }
    }

    /** Keeps who wants a hold, and until when, after that was changed; answered with whether it would outlive this process. */
    public CompletionStage<Boolean> changed(HoldView hold) {
        if (hold.claims().isEmpty() || hold.state() == HoldState.EXPIRING) {
            return released(hold.id());
        }
        List<KeptClaim> claims = claims(hold);
        return CompletableFuture.supplyAsync(() -> changed(hold, claims), executor);
    }

    private synchronized boolean changed(HoldView hold, List<KeptClaim> claims) {
        if (outdated(hold)) {
            return true;
        }
        if (known.containsKey(hold.id())) {
            return write(Map.of(hold.id(), claims));
        }
        synchronized (order) {
            early.put(hold.id(), claims);
            if (early.size() > ENDED_REMEMBERED) {
                early.clear();
            }
        }
        return true;
    }

    private List<KeptClaim> claims(HoldView hold) {
        Instant now = wall.instant();
        return hold.claims().stream().map(claim -> KeptClaim.of(claim, now)).toList();
    }

    private static boolean isAbout(List<KeptClaim> before, List<KeptClaim> now) {
        return before.size() == now.size()
                && before.stream().allMatch(claim -> now.stream().anyMatch(claim::isAbout));
    }

    private synchronized boolean write(Map<Long, List<KeptClaim>> claims) {
        try {
            file.claimed(claims);
            publish();
            return true;
        } catch (IOException e) {
            LOG.warn(
                    "Engine {}: how long holds {} last would be forgotten with this process: {}",
                    config.id(),
                    claims.keySet(),
                    e.getMessage());
            return false;
        }
    }

    /** Texts are remembered for those who may see them, within a bound; the blocks say all that is needed. */
    private PrefixSource remembered(PrefixSource asked, HoldRequest request, long[] blocks) {
        PrefixSource plain = request.tokens()
                .<PrefixSource>map(PrefixSource.Tokens::new)
                .orElseGet(() -> new PrefixSource.Hashes(blocks));
        return switch (asked) {
            case PrefixSource.Text text -> fits(text.text().length()) ? asked : plain;
            case PrefixSource.Messages conversation ->
                fits(conversation.messages().toString().length()
                                + conversation
                                        .tools()
                                        .map(tools -> tools.toString().length())
                                        .orElse(0))
                        ? asked
                        : plain;
            case PrefixSource.Tokens tokens -> plain;
            case PrefixSource.Hashes hashes -> plain;
            case PrefixSource.Example example -> plain;
        };
    }

    private boolean fits(int characters) {
        long all = characters;
        for (KeptHold hold : known.values()) {
            all += hold.asked() instanceof PrefixSource.Text text
                    ? text.text().length()
                    : hold.asked() instanceof PrefixSource.Messages conversation
                            ? conversation.messages().toString().length()
                            : 0;
        }
        return all <= MOST_CHARACTERS;
    }

    private KeptHold kept(HoldView hold, String name, String declaration, PrefixSource asked, HoldRequest request) {
        long[] blocks = new long[request.blocks()];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = request.block(i);
        }
        return new KeptHold(
                hold.id(),
                name,
                declaration,
                claims(hold),
                engine.get().flatMap(EngineIdentity::model),
                blocks,
                request.tokens(),
                remembered(asked, request, blocks));
    }

    private synchronized boolean write(KeptHold hold) {
        active.add(hold.id());
        try {
            file.keep(hold);
            publish();
            return true;
        } catch (IOException e) {
            LOG.warn("Engine {}: hold {} would not outlive this process: {}", config.id(), hold.id(), e.getMessage());
            return false;
        }
    }

    /** Somebody gave the hold up; answered with whether it would stay so after a restart. */
    CompletionStage<Boolean> released(long id) {
        end(id);
        // Also where it is not known: it may be about to be written.
        return CompletableFuture.supplyAsync(() -> forget(id), executor);
    }

    private void end(long id) {
        synchronized (order) {
            orders.remove(id);
            early.remove(id);
            ended.add(id);
            if (ended.size() > ENDED_REMEMBERED) {
                ended.removeFirst();
            }
        }
    }

    /**
     * Somebody gave all of them up; answered with whether they would stay so after a restart. Those that are declared are
     * asked for again when holding is resumed.
     */
    CompletionStage<Boolean> allReleased() {
        Set<Long> all = new LinkedHashSet<>(known.keySet());
        controller.view().holds().forEach(hold -> all.add(hold.id()));
        all.forEach(this::end);
        return CompletableFuture.supplyAsync(
                () -> {
                    boolean written = true;
                    for (long id : all) {
                        written &= forget(id);
                    }
                    return written;
                },
                executor);
    }

    private synchronized boolean forget(long id) {
        if (!known.containsKey(id)) {
            active.remove(id);
            return true;
        }
        boolean written = true;
        active.remove(id);
        waits.remove(id);
        notBefore.remove("unnamed " + id);
        try {
            file.end(id);
        } catch (IOException e) {
            written = false;
            LOG.warn("Engine {}: hold {} would come back after a restart: {}", config.id(), id, e.getMessage());
        }
        publish();
        return written;
    }

    /** By what a hold was asked for; absent where it is not kept. */
    Optional<PrefixSource> asked(long id) {
        return Optional.ofNullable(known.get(id)).map(KeptHold::asked);
    }

    /** What the configuration calls a hold; absent where it is not declared. */
    public Optional<String> name(long id) {
        return Optional.ofNullable(known.get(id)).filter(KeptHold::declared).map(KeptHold::name);
    }

    /** Asks for what this declares in place of what was declared before, with the next look. */
    void changed(EngineConfig next) {
        config = next;
    }

    /** What a person should know of holds that are kept or declared and not asked for. */
    List<String> notes() {
        return notes;
    }

    /** Ends what is over, and asks for what is declared and missing; one look at a time. */
    void look() {
        if (looking.compareAndSet(false, true)) {
            executor.execute(() -> {
                try {
                    lookNow();
                } finally {
                    looking.set(false);
                }
            });
        }
    }

    private void lookNow() {
        Optional<String> model = engine.get().flatMap(EngineIdentity::model);
        boolean fresh = keepWhatUsesProlonged();
        endWhatIsOver(model, fresh);
        if (engine.get().isPresent() && controller.view().paused().isEmpty()) {
            config.ownHolds().forEach(declared -> ask(declared, model));
        }
        synchronized (this) {
            publish();
        }
    }

    /** Returns whether the view has moved since the last look, so that the file says how long leases run. */
    private synchronized boolean keepWhatUsesProlonged() {
        EngineView view = controller.view();
        if (view.lastPlan().tick() == lastTick) {
            return false;
        }
        lastTick = view.lastPlan().tick();
        Instant now = wall.instant();
        Map<Long, List<KeptClaim>> moved = new LinkedHashMap<>();
        for (HoldView hold : view.holds()) {
            Optional<KeptHold> kept = Optional.ofNullable(known.get(hold.id()))
                    .filter(before -> !before.declared() && active.contains(before.id()));
            if (kept.isPresent() && !hold.claims().isEmpty() && hold.state() != HoldState.EXPIRING && !outdated(hold)) {
                List<KeptClaim> claims = claims(hold);
                if (!isAbout(kept.get().claims(), claims) || !kept.get().until().isAfter(now)) {
                    moved.put(hold.id(), claims);
                }
            }
        }
        if (!moved.isEmpty()) {
            boolean _ = write(moved);
        }
        return true;
    }

    private synchronized void endWhatIsOver(Optional<String> model, boolean fresh) {
        Instant now = wall.instant();
        Set<String> names = new HashSet<>();
        config.ownHolds().forEach(declared -> names.add(declared.name()));
        for (KeptHold hold : file.kept()) {
            boolean foreign = model.isPresent()
                    && hold.model().isPresent()
                    && !hold.model().equals(model);
            if (hold.declared() && !names.contains(hold.name())) {
                CompletionStage<?> _ = controller.release(hold.id(), "the configuration does not name it any more");
                boolean _ = forget(hold.id());
            } else if (!hold.declared()
                    && !hold.until().isAfter(now)
                    // Where the wall's clock was set forward since, the controller's lease may run still.
                    && (fresh || !active.contains(hold.id()))) {
                boolean _ = forget(hold.id());
            } else if (foreign && active.remove(hold.id())) {
                controller.release(
                        hold.id(),
                        "it was requested while the engine served "
                                + hold.model().orElseThrow() + ", and it serves " + model.orElseThrow()
                                + " now: ask for it again");
            } else if (!foreign && !hold.declared() && !active.contains(hold.id())) {
                if (hold.unnamed()) {
                    name(hold);
                } else {
                    restore(hold, RESTARTED);
                }
            }
        }
    }

    private void ask(DeclaredHold declared, Optional<String> model) {
        PrefixSource source;
        try {
            source = declared.source();
        } catch (ApiError e) {
            trouble(declared, e.sentence(), AGAIN);
            return;
        }
        String digest = declared.digestOf(source);
        if (due(declared, digest, model)) {
            prefixes.resolve(source, DECLARED_LEASE)
                    .thenCompose(resolved -> controller
                            .request(declared.measured() ? resolved.request().toBeMeasured() : resolved.request())
                            .thenAcceptAsync(
                                    hold -> asked(declared, digest, source, resolved.request(), hold), executor))
                    .whenComplete((done, failure) -> {
                        if (failure != null) {
                            trouble(declared, sentence(failure), AGAIN);
                        }
                    });
        }
    }

    private void asked(DeclaredHold declared, String digest, PrefixSource source, HoldRequest request, HoldView hold) {
        if (hold.state() == HoldState.RELEASED) {
            trouble(declared, hold.reason(), REFUSED_AGAIN);
        } else {
            boolean _ = write(kept(hold, declared.name(), digest, source, request));
            synchronized (this) {
                notBefore.remove(declared.name());
                troubles.remove(declared.name());
                publish();
            }
        }
    }

    private static String sentence(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof ApiError error ? error.sentence() : String.valueOf(cause.getMessage());
    }

    /** Whether it is to be asked for now; what it was before is given up where it is something else by now. */
    private synchronized boolean due(DeclaredHold declared, String digest, Optional<String> model) {
        Optional<KeptHold> before = file.kept().stream()
                .filter(hold -> hold.name().equals(declared.name()))
                .findFirst();
        if (before.isPresent()) {
            KeptHold hold = before.get();
            boolean same = hold.declaration().equals(digest)
                    && (model.isEmpty() || hold.model().equals(model));
            if (same && alive(hold.id())) {
                return false;
            }
            CompletionStage<?> _ = controller.release(
                    hold.id(), "it is declared otherwise by now, or the engine serves another model");
            boolean _ = forget(hold.id());
        }
        Instant now = wall.instant();
        boolean due = !notBefore.getOrDefault(declared.name(), now).isAfter(now);
        if (due) {
            // Until an answer is there.
            notBefore.put(declared.name(), now.plus(ANSWER));
        }
        return due;
    }

    private boolean alive(long id) {
        return active.contains(id)
                && controller.view().holds().stream()
                        .filter(hold -> hold.id() == id)
                        .noneMatch(hold -> hold.state() == HoldState.RELEASED);
    }

    private synchronized void trouble(DeclaredHold declared, String sentence, Duration pause) {
        notBefore.put(declared.name(), wall.instant().plus(pause));
        if (!sentence.equals(troubles.put(declared.name(), sentence))) {
            LOG.warn("Engine {}: the declared hold {} is not requested: {}", config.id(), declared.name(), sentence);
        }
    }

    private void publish() {
        Map<Long, KeptHold> now = new LinkedHashMap<>();
        file.kept().forEach(hold -> now.put(hold.id(), hold));
        known = now;
        List<String> all = new ArrayList<>();
        long asleep = now.values().stream()
                .filter(hold -> !hold.unnamed() && !active.contains(hold.id()))
                .count();
        if (asleep > 0) {
            all.add(asleep + " kept holds are of a model that the engine does not serve, and wait for it");
        }
        troubles.forEach((name, why) -> all.add("the declared hold " + name + " is not requested yet: " + why));
        notes = all;
    }
}
