package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.EngineView;
import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.Budget.AlarmKind;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.PinsView;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.WarmingView;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.Subscription;
import io.holdfast.http.DetokenizeRoute;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.GuardState;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.config.Secret;
import io.holdfast.sidecar.store.EngineLock;
import io.holdfast.sidecar.store.HoldFile;
import io.holdfast.sidecar.store.LearnedFile;
import io.holdfast.sidecar.store.StrayLedgers;
import io.holdfast.sidecar.store.ViewFile;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One engine as the sidecar follows it: its controller, its event subscription and the asking for its numbers.
 *
 * <p>The engine need not be there: whatever is not known of it is asked again with every reading until it answers. When
 * the controller fails, what was pinned is let go of without it, and this answers in its place.
 */
public final class EngineLink implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineLink.class);
    private static final int LEAVE_SECONDS = 2;
    private static final int OUTCOME_SECONDS = 2;

    private static final String PAUSE = "everything was released by one call; only resume ends the pause";

    private volatile EngineConfig config;
    private final FileLedgerStore store;
    private final Ledger ledger;
    private final EngineLock lock;
    private final EngineProbe probe;
    private final EngineHttp http;
    private final Backend backend;
    private final EngineNews news;
    private final PinLog log;
    private final EngineCalls calls;
    private final Controller controller;
    private final EmergencyRelease emergency;
    private final LedgerBinding binding;
    private final EventSubscriptions events;
    private final PrefixResolver prefixes;
    private final HoldFile holdFile;
    private final LastingHolds lasting;
    private final LearnedSnapshots snapshots;
    private final EngineViews views;
    private final EngineReport report;
    private final boolean showText;
    private final EventThread thread;
    private final Executor executor;
    private final AtomicReference<Set<AlarmKind>> logged = new AtomicReference<>(Set.of());
    private final AtomicBoolean reading = new AtomicBoolean();
    private final AtomicBoolean mending = new AtomicBoolean();
    /** Who waits for the controller, and is to be answered without it should it fail meanwhile. */
    private final Set<Runnable> waiting = ConcurrentHashMap.newKeySet();

    private final Optional<EngineLimit> limit;
    private final EngineReleases releases;

    private volatile Optional<SharedEngine> shared = Optional.empty();
    private volatile double warmEnough;
    private volatile CompletionStage<Boolean> pauseWritten = CompletableFuture.completedFuture(false);

    private EngineLink(
            EngineConfig config,
            Path stateDirectory,
            FileLedgerStore store,
            HoldFile holdFile,
            StrayLedgers strays,
            EngineHttp http,
            EngineHttp admin,
            Optional<Secret> connectorSecret,
            Optional<EngineLimit> limit,
            EventThread thread,
            SharedServices shared)
            throws IOException {
        this.limit = limit;
        this.config = config;
        this.store = store;
        this.holdFile = holdFile;
        this.http = http;
        this.thread = thread;
        this.showText = shared.showText();
        this.executor = shared.executor();
        this.ledger = new Ledger(store);
        this.probe = new EngineProbe(config, http, shared.clock());
        this.news = new EngineNews(config.id(), shared.clock());
        this.log = new PinLog(config.id(), ledger, this::blockTokens, this::hold, news);
        RandomGenerator random = new SplittableRandom();
        this.lock = new EngineLock(Path.of(System.getProperty("java.io.tmpdir")), this::identity, shared.clock());
        this.calls = new EngineCalls(ledger, lock, new CallMeter(config.id(), shared.registry(), log));
        EngineFamily.BackendParts parts = new EngineFamily.BackendParts(
                config, http, admin, connectorSecret, shared.timer(), shared.clock(), random);
        Backends backends = BackendRegistry.of(config, ledger, parts, calls::tracked);
        this.backend = backends.chosen();
        this.controller = new Controller(
                config.controllerSettings(),
                EngineFamily.of(config.type()).requestRules(),
                backends,
                ledger,
                shared.executor(),
                random);
        if (!config.publishes()) {
            controller.publishesNothing();
        }
        this.binding =
                new LedgerBinding(config, ledger, store.file(), http, controller, shared.executor(), shared.clock());
        this.emergency = new EmergencyRelease(
                config.id(), ledger, calls, binding::engine, shared.clock(), shared.executor(), shared.watch());
        BlockNaming naming = EngineFamily.of(config.type()).naming(config);
        this.events = new EventSubscriptions(
                config.id(),
                probe,
                controller,
                thread,
                sink -> shared.seams().sinks().apply(config.id(), naming.listening(sink)));
        this.prefixes = new PrefixResolver(
                EngineFamily.of(config.type()).renderer(http),
                naming,
                this::view,
                // To pin them, or to store them by a request of our own: a dry run for whoever holds after it.
                () -> backend.traits().needs(Need.TOKENS)
                        || backends.sender().isPresent()
                        || config.backend().equals(AutoBackend.NAME)
                        || config.dryRun(),
                controller,
                shared.executor());
        this.lasting = new LastingHolds(
                config,
                holdFile,
                controller,
                prefixes,
                binding::engine,
                shared.seams().wall(),
                shared.executor());
        this.releases =
                new EngineReleases(this, ledger, EngineFamily.of(config.type()).sessionCloser(parts));
        controller.onGivenBack(releases::forget);
        LearnedFile learned =
                new LearnedFile(stateDirectory, config.id(), shared.seams().files());
        // What it learned waits for the engine, whose events may come sooner.
        controller.learnedUntil(learned.untilMicros(EngineAddress.spelling(config.url())));
        this.snapshots = new LearnedSnapshots(
                config.id(),
                learned,
                controller,
                binding::engine,
                shared.snapshots(),
                shared.clock(),
                shared.seams().wall(),
                shared.executor());
        this.views = new EngineViews(
                config.id(),
                new ViewFile(stateDirectory, config.id(), shared.seams().files(), shared.executor()),
                shared.siblings(),
                controller.caches(),
                controller,
                events,
                thread,
                shared.snapshots(),
                shared.clock(),
                shared.executor());
        this.report = new EngineReport(this, events, binding, strays, store, ledger, lasting, snapshots);
        report.leftAlone().ifPresent(sentence -> LOG.warn("Engine {}: {}.", config.id(), sentence));
    }

    /**
     * Opens the ledger and lets the thread drive the controller from then on.
     *
     * @throws IOException with one sentence, when the ledger cannot be had
     */
    public static EngineLink open(
            EngineConfig config,
            Path stateDirectory,
            StrayLedgers strays,
            Optional<EngineLimit> limit,
            EventThread thread,
            SharedServices shared)
            throws IOException {
        String keys = "engines." + config.id() + ".";
        Map<String, String> headers = Secret.headers(System.getenv(), config.apiKeyEnv(), keys + "apiKeyEnv");
        Map<String, String> adminHeaders = config.adminKeyEnv().isPresent()
                ? Secret.headers(System.getenv(), config.adminKeyEnv(), keys + "adminKeyEnv")
                : headers;
        Optional<Secret> connectorSecret = config.connectorSecret(System.getenv());
        FileLedgerStore store = FileLedgerStore.open(
                stateDirectory,
                config.id(),
                shared.seams().files(),
                shared.seams().wall());
        EngineHttp http;
        try {
            http = new EngineHttp(
                    config.http().withHeaders(headers), shared.executor(), shared.timer(), shared.clock());
        } catch (IOException e) {
            store.close();
            throw e;
        }
        try {
            Instant now = shared.seams().wall().instant();
            HoldFile holdFile = HoldFile.open(
                    stateDirectory,
                    config.id(),
                    shared.seams().files(),
                    now,
                    HoldFile.setBack(stateDirectory, config.id(), now));
            EngineLink link = new EngineLink(
                    config,
                    stateDirectory,
                    store,
                    holdFile,
                    strays,
                    http,
                    http.withHeaders(adminHeaders),
                    connectorSecret,
                    limit,
                    thread,
                    shared);
            link.lasting.begin();
            thread.drive(link.controller, link::failed);
            return link;
        } catch (IOException | RuntimeException e) {
            http.close();
            store.close();
            throw e;
        }
    }

    public String id() {
        return config.id();
    }

    public EngineConfig config() {
        return config;
    }

    private Optional<EngineIdentity> identity() {
        return binding.engine();
    }

    public Controller controller() {
        return controller;
    }

    public EngineView view() {
        return controller.view();
    }

    /** Completes when the events that have arrived by now are applied; any thread. */
    public CompletionStage<Void> upToDate() {
        return thread.upToDate();
    }

    /** Whether the view is exact; that of an engine that is followed no more is not. */
    public boolean certain() {
        return view().certain() && fault().isEmpty();
    }

    /** Why the engine is followed no more; empty while it is. */
    public String fault() {
        return thread.fault(controller);
    }

    public List<Subscription> subscriptions() {
        return events.subscriptions();
    }

    /** How many pins the engine has, or may have, for us. */
    public PinsView pins() {
        return emergency.reason().isPresent() ? emergency.pins() : view().pins();
    }

    public String backendName() {
        return backend.name();
    }

    /** What the backend can do on this engine; absent while that is not known. */
    public Optional<Capabilities> capabilities() {
        return Optional.of(view().capabilities()).filter(Capabilities::asked);
    }

    /** The holds as they are, also when the controller does not change them any more. */
    public List<HoldView> holds() {
        return holds(view());
    }

    /** The holds of a view that was taken before. */
    public List<HoldView> holds(EngineView view) {
        List<HoldView> unnamed = lasting.unnamed();
        List<HoldView> seen = unnamed.isEmpty()
                ? view.holds()
                : Stream.concat(view.holds().stream(), unnamed.stream()).toList();
        return emergency
                .reason()
                .map(why -> seen.stream().map(hold -> afterTheFault(hold, why)).toList())
                .orElse(seen);
    }

    private HoldView afterTheFault(HoldView hold, String why) {
        if (hold.state() == HoldState.RELEASED) {
            return hold;
        }
        Optional<String> pending = emergency.pending(hold.id());
        return hold.abandoned(
                pending.isPresent(),
                "released after a fault of the sidecar (" + why + ")"
                        + pending.map(what -> "; " + what).orElse(""));
    }

    private Optional<HoldView> hold(long id) {
        return holds().stream().filter(hold -> hold.id() == id).findFirst();
    }

    long blockTokens() {
        return (long) view().readings().blockTokens().number().orElse(0);
    }

    /** Asks the engine for its numbers, and for whatever is not known of it yet; one question of a kind at a time. */
    public void ask() {
        logAlarms();
        if (reading.compareAndSet(false, true)) {
            probe.read().whenComplete((readings, fault) -> {
                reading.set(false);
                if (fault == null) {
                    controller.readings(limit.map(its -> its.hear(readings)).orElse(readings));
                    // Of all numbers this one is never remembered from an earlier answer.
                    events.answers(readings.runningRequests().number().isPresent());
                } else {
                    LOG.error("Reading engine {} failed.", id(), fault);
                }
            });
        }
        if (store.unwritable().isPresent() && mending.compareAndSet(false, true)) {
            executor.execute(() -> {
                store.tryToWrite();
                mending.set(false);
            });
        }
        binding.ask();
        if (limit.isPresent()) {
            probe.caches().thenAccept(limit.get()::hearCaches);
        } else {
            events.ask();
        }
        lasting.look();
        snapshots.look();
        views.look();
    }

    /** Tells the log what has changed since the last look. */
    public void tellNews() {
        news.look(new EngineNews.Seen(
                report.silence(),
                backend.name(),
                capabilities(),
                view().automatic().on(),
                report.unreadiness()));
        news.evicted(view().evictions(), view().readings().blockTokens().number());
        log.look(holds());
    }

    /** Keeps what was learned and what the engine has because the process ends; completed when that is done, or cannot be. */
    public CompletableFuture<Void> keepLearned() {
        return fault().isEmpty()
                ? CompletableFuture.allOf(snapshots.last(), views.last())
                : CompletableFuture.completedFuture(null);
    }

    /**
     * A hold as it is answered.
     *
     * @param written whether it would outlive this process, where that is wanted
     */
    public record Held(HoldView hold, boolean written) {}

    /**
     * Requests a hold and keeps it; refused while everything is released. A hold without an outcome in time is
     * withdrawn, since its caller does not know its number.
     *
     * @param source what it was requested by
     * @param taken run when the controller took the request, or refused it: until then it waits in a queue
     */
    public CompletionStage<Held> hold(HoldRequest request, PrefixSource source, Runnable taken) {
        CompletableFuture<HoldView> outcome = takesNone()
                .map(CompletableFuture::<HoldView>failedFuture)
                .orElseGet(() -> controller.request(request).toCompletableFuture());
        return outcome.whenComplete((hold, refusal) -> {
                    taken.run();
                    if (hold != null && hold.state() == HoldState.RELEASED) {
                        log.refused(hold);
                    }
                })
                // What is timed out is the copy, so that a late outcome is heard above all the same.
                .copy()
                .orTimeout(OUTCOME_SECONDS, TimeUnit.SECONDS)
                .exceptionallyCompose(failure -> failure instanceof TimeoutException
                        ? withdrawn(outcome, request)
                        : CompletableFuture.failedFuture(failure))
                .thenCompose(hold -> kept(hold, source, request));
    }

    private CompletableFuture<HoldView> withdrawn(CompletableFuture<HoldView> outcome, HoldRequest request) {
        // A requester with a name need not know the number: it asks again, and may have had a part in it before.
        if (request.requester().isEmpty()) {
            CompletionStage<?> _ = outcome.thenCompose(hold -> release(hold.id()));
        }
        return CompletableFuture.failedFuture(new ApiError(
                503,
                "The engine gave no outcome within " + OUTCOME_SECONDS
                        + " s, so the hold is withdrawn; ask again when the engine answers."));
    }

    /** A hold that is not refused is answered when it would outlive this process, or is known not to. */
    private CompletionStage<Held> kept(HoldView hold, PrefixSource source, HoldRequest request) {
        if (hold.state() == HoldState.RELEASED) {
            return CompletableFuture.completedFuture(new Held(hold, true));
        }
        return lasting.keep(hold, source, request)
                .toCompletableFuture()
                .completeOnTimeout(false, OUTCOME_SECONDS, TimeUnit.SECONDS)
                .exceptionally(failure -> false)
                .thenApply(written -> new Held(hold, written));
    }

    private Optional<ApiError> takesNone() {
        return emergency
                .reason()
                .map(failed -> new ApiError(
                        503, "Engine " + id() + " is not looked after any more (" + failed + "), so nothing is held."))
                .or(() -> view().paused()
                        .map(paused -> new ApiError(
                                409, "Holding is " + paused + ", by POST /api/v1/engines/" + id() + "/resume.")));
    }

    /** Has a hold wait whose blocks cannot be told yet; refused for that reason where no more may wait. */
    public CompletionStage<HoldView> holdUnnamed(PrefixSource source, HoldRequest wish, ApiError why) {
        Optional<ApiError> refusal = takesNone();
        return refusal.<CompletionStage<HoldView>>map(CompletableFuture::failedFuture)
                .orElseGet(() -> lasting.keepUnnamed(source, wish, why.sentence())
                        .thenCompose(hold -> hold.<CompletionStage<HoldView>>map(CompletableFuture::completedStage)
                                .orElseGet(() -> CompletableFuture.failedStage(why))));
    }

    /** The hold of this number as it is after its release, where it waited for its blocks to be known. */
    private Optional<HoldView> unnamed(long holdId) {
        return lasting.unnamed().stream().filter(hold -> hold.id() == holdId).findFirst();
    }

    /** Gives a hold up; absent when there is none of this id. */
    public CompletionStage<Optional<HoldView>> release(long holdId) {
        Optional<HoldView> unnamed = unnamed(holdId);
        if (unnamed.isPresent()) {
            return lasting.released(holdId)
                    .thenApply(written -> unnamed.map(hold -> hold.abandoned(false, "released on request")));
        }
        // Releasing waits for no disk; what is said of it does, for a moment.
        CompletionStage<Boolean> forgotten =
                lasting.released(holdId).toCompletableFuture().completeOnTimeout(false, 1, TimeUnit.SECONDS);
        return releaseNow(holdId).thenCombine(forgotten, (released, written) -> released);
    }

    /** Ends what one requester wants of a hold; absent when it wants nothing of one of this id. */
    public CompletionStage<Optional<HoldView>> leave(long holdId, String requester) {
        Optional<HoldView> unnamed = unnamed(holdId);
        if (unnamed.isPresent()) {
            return unnamed.get().claims().stream()
                            .anyMatch(claim -> claim.requester().equals(requester))
                    ? release(holdId)
                    : CompletableFuture.completedStage(Optional.empty());
        }
        return answered(
                        () -> controller.leave(holdId, requester),
                        () -> emergency.releaseAll().thenApply(done -> hold(holdId)))
                .thenCompose(left -> kept(left).thenApply(written -> left));
    }

    /** What is let go of after a fault is wanted still. */
    private CompletionStage<Boolean> kept(Optional<HoldView> left) {
        return left.filter(hold -> emergency.reason().isEmpty())
                .map(hold -> lasting.changed(hold).toCompletableFuture().completeOnTimeout(false, 1, TimeUnit.SECONDS))
                .orElseGet(() -> CompletableFuture.completedFuture(true));
    }

    private CompletionStage<Optional<HoldView>> releaseNow(long holdId) {
        return answered(
                () -> controller.release(holdId), () -> emergency.releaseAll().thenApply(done -> hold(holdId)));
    }

    /** Returns what gives holds back on behalf of those who are finished. */
    public EngineReleases releases() {
        return releases;
    }

    <T> CompletionStage<T> outOfOffice() {
        return CompletableFuture.failedStage(new ApiError(
                503,
                "Engine " + id() + " is not looked after any more ("
                        + emergency.reason().orElse("a fault") + "), and nothing of it is held."));
    }

    /** Lets go of everything; nothing is held again, not by the planner either, before {@link #resume}. */
    public CompletionStage<Released> releaseAll() {
        CompletionStage<Boolean> forgotten = lasting.allReleased();
        return answered(
                () -> controller.releaseAll(PAUSE).thenApply(done -> {
                    pauseWritten = controller.pauseWritten().thenCombine(forgotten, Boolean::logicalAnd);
                    return done;
                }),
                () -> {
                    if (!config.dryRun()) {
                        pauseWritten = emergency.pause("paused: " + PAUSE);
                    }
                    return emergency.releaseAll();
                });
    }

    /**
     * Answered with whether the pause of the last {@link #releaseAll} outlives a crash, as soon as the ledger took it or
     * refused it; to be asked when that was answered.
     */
    public CompletionStage<Boolean> pauseWritten() {
        return pauseWritten;
    }

    /** Lets go of everything because the process ends. */
    public CompletionStage<Released> letGo() {
        return answered(() -> controller.letGo("the sidecar shuts down"), emergency::releaseAll);
    }

    /** Returns why the engine has not let go of what it was asked to, as far as that is known. */
    public String whyNotReleased() {
        return calls.unpinFailure()
                .or(report::silence)
                .or(() -> holds().stream()
                        .filter(hold -> hold.state() == HoldState.EXPIRING)
                        .map(HoldView::reason)
                        .findFirst())
                .orElse("it has not answered yet");
    }

    /** Holds nothing new and keeps what is held, before {@link #resume}; answered with whether it was not paused before. */
    public CompletionStage<Boolean> keepHolding() {
        return inOffice(() -> controller.keepHolding("requested by one call; only resume ends the pause"));
    }

    /** Decides and does not act, or acts again; answered with whether that was not so before. */
    public CompletionStage<Boolean> dryRun(boolean on) {
        return inOffice(() -> controller.dryRun(on));
    }

    /** Why no other link may take this engine over yet after it was let go of without its controller; absent when one may. */
    public Optional<String> unfinished() {
        return emergency.unfinished().or(store::unwritable);
    }

    /** Goes on as a person steered the engine through the API before it was followed anew. */
    public void steerLike(EngineView before) {
        if (before.dryRun()) {
            CompletionStage<Boolean> _ = dryRun(true);
        }
        if (before.keepsHeld()) {
            CompletionStage<Boolean> _ = keepHolding();
        }
    }

    private CompletionStage<Boolean> inOffice(Supplier<CompletionStage<Boolean>> asked) {
        return emergency.reason().isPresent() ? outOfOffice() : asked.get();
    }

    /**
     * Says which part it takes in a fleet from now on.
     *
     * @param warm how much of what is hot has to be in an empty cache before the engine is ready
     */
    public void takesPart(Optional<SharedEngine> part, double warm) {
        shared = part;
        warmEnough = warm;
    }

    /** Its part in a fleet; absent where it takes none, or not yet. */
    public Optional<CellMember> cell() {
        return shared.map(SharedEngine::member);
    }

    /** Reason why its cache is not warm enough for users yet; absent where it is, or nobody asks for that. */
    Optional<String> coldness() {
        if (warmEnough <= 0) {
            return Optional.empty();
        }
        Optional<WarmingView> warming = shared.map(SharedEngine::warming);
        if (warming.isEmpty()) {
            return Optional.of("it takes no part in its fleet yet, so its cache may be cold");
        }
        return warming.filter(its -> !its.over() && (its.plannedTokens() == 0 || its.part() < warmEnough))
                .map(its -> "its cache is being filled with what is hot in the fleet: " + its.storedTokens() + " of "
                        + its.plannedTokens() + " tokens are there (" + its.why() + ")");
    }

    /** Answers whether the engine makes a text of a token id, and so has it. */
    public CompletionStage<Boolean> hasToken(long id) {
        return new DetokenizeRoute(http)
                .text(List.of((int) id))
                .thenApply(text -> text.filter(some -> !some.isEmpty()).isPresent());
    }

    /** The model that it serves; absent while that is not known. */
    public Optional<String> model() {
        return binding.engine().flatMap(EngineIdentity::model);
    }

    /** Ends what {@link #releaseAll} or {@link #keepHolding} began; answered with whether there was anything to end. */
    public CompletionStage<Boolean> resume() {
        return controller.resumeHolding();
    }

    /** By the controller, or without it should it have failed, or fail before it answers. */
    <T> CompletionStage<T> answered(Supplier<CompletionStage<T>> controllers, Supplier<CompletionStage<T>> emergencys) {
        if (emergency.reason().isPresent()) {
            return emergencys.get();
        }
        CompletableFuture<T> answer = new CompletableFuture<>();
        Runnable instead = () -> complete(emergencys.get(), answer);
        waiting.add(instead);
        CompletionStage<T> _ = answer.whenComplete((value, failure) -> waiting.remove(instead));
        complete(controllers.get(), answer);
        if (emergency.reason().isPresent()) {
            instead.run();
        }
        return answer;
    }

    private static <T> void complete(CompletionStage<T> stage, CompletableFuture<T> answer) {
        stage.whenComplete((value, failure) -> {
            boolean _ = failure == null ? answer.complete(value) : answer.completeExceptionally(failure);
        });
    }

    /** The controller is out of office: everything is let go of without it, for good. */
    public void failed(String why) {
        emergency.begin(why);
        waiting.forEach(Runnable::run);
    }

    /** The most blocks that a hold here can have. */
    public int mostBlocks() {
        return Controller.mostBlocks(view().readings());
    }

    /** Completed when the holds of earlier processes are there to be seen, or after a second, whatever keeps them. */
    public CompletableFuture<Boolean> restored() {
        // What was handed to the controller before comes before this.
        return controller
                .example(0)
                .thenApply(none -> true)
                .toCompletableFuture()
                .completeOnTimeout(false, 1, TimeUnit.SECONDS)
                .exceptionally(failure -> false);
    }

    /** The limit of its cache, where it runs under kvcached. */
    public Optional<EngineLimit> limit() {
        return limit;
    }

    /** Returns true once everything was let go of after a fault. */
    boolean isOutOfOffice() {
        return emergency.reason().isPresent();
    }

    /** The holds that last through restarts. */
    public LastingHolds lasting() {
        return lasting;
    }

    /** What a prefix comes down to, whatever it is asked for by. */
    public PrefixResolver prefixes() {
        return prefixes;
    }

    /** Whether what is left of a hold that was released ends by itself, so that no ledger keeps it. */
    public boolean endsByItself(long holdId) {
        return backend.traits().endsInTime()
                && ledger.outstanding().stream().noneMatch(entry -> entry.holdId() == holdId);
    }

    /** How many pins the ledger lists. */
    public int outstanding() {
        return ledger.outstanding().size();
    }

    /** Whether all that is left ends by itself. */
    public boolean endsByItself() {
        return backend.traits().endsInTime() && ledger.outstanding().isEmpty();
    }

    public long unreleasableTokens() {
        return pins().unreleasableBlocks() * blockTokens();
    }

    /** Logs what the guard has begun to tell since the last look, each kind once until it is over. */
    private void logAlarms() {
        Set<AlarmKind> now = EnumSet.noneOf(AlarmKind.class);
        for (Budget.Alarm alarm : view().alarms()) {
            if (now.add(alarm.kind()) && !logged.get().contains(alarm.kind())) {
                LOG.warn("Engine {}: {}.", id(), alarm.sentence());
            }
        }
        logged.set(now);
    }

    /** Reason why no events are heard; absent where they are. */
    public Optional<String> deafness() {
        return limit.isPresent() ? Optional.of(EngineLimit.NO_EVENTS) : events.unsubscribed();
    }

    /** State of what was learned and kept, as JSON. */
    public JsonObject learned() {
        return snapshots.json();
    }

    /** Returns what keeps its view through restarts, gives it to siblings and takes it from them. */
    public EngineViews views() {
        return views;
    }

    /** Sentences for people about this engine. */
    public EngineReport report() {
        return report;
    }

    /** State of the guards of our calls to the engine. */
    public List<GuardState> guards() {
        return http.guards();
    }

    /** By what a hold was requested; absent where texts of prompts are not to be shown. */
    public Optional<PrefixSource> shownSource(long holdId) {
        return showText ? lasting.asked(holdId) : Optional.empty();
    }

    /** Returns what the configuration calls a hold; absent where it was asked for in another way. */
    public Optional<String> holdName(long id) {
        return lasting.name(id);
    }

    /** Says in the state directory where the API is, for whoever is to ask it. */
    public void servedAt(URI api) {
        store.servedAt(api);
    }

    /** What the guards of our calls to the engine do now. */
    public GuardState guard(GuardState.Calls calls) {
        return http.guards().stream()
                .filter(state -> state.calls() == calls)
                .findFirst()
                .orElseThrow();
    }

    /** Goes by other values of the keys that need no other link; answered when the controller does. */
    public CompletionStage<Boolean> change(EngineConfig next) {
        config = next;
        lasting.changed(next);
        return controller.change(next.controllerSettings());
    }

    /** Hears the engine's events no more, and drives nothing; waits for the event thread, for a bounded time. */
    public void leave() {
        boolean _ = events.stop()
                .toCompletableFuture()
                .completeOnTimeout(false, LEAVE_SECONDS, TimeUnit.SECONDS)
                .join();
        thread.leave(controller);
        emergency.end();
    }

    /** Asks the engine nothing any more. */
    public void hangUp() {
        http.close();
    }

    @Override
    public void close() {
        hangUp();
        try {
            holdFile.close();
            store.close();
            lock.close();
        } catch (IOException e) {
            LOG.warn("The ledger of engine {} did not close.", id(), e);
        }
    }
}
