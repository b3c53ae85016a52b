package io.holdfast.storm;

import io.holdfast.core.Controller;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.EngineView;
import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.RankLoad;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.TokenSource;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import java.util.random.RandomGenerator;

/**
 * One life of a sidecar: the real controller with a network, a ledger and a disk that the storm plays.
 *
 * <p>All that the storm knows of the core's API is in here.
 */
final class StormSidecar {
    /** The ledger on disk, which outlives the lives of its sidecar. */
    static final class Store {
        private List<LedgerLine> lines = new ArrayList<>();

        /** The blocks of open entries at an engine, and whether the ledger gives a reason to keep them. */
        Map<Long, Boolean> open(VirtualEngine engine) {
            Map<Long, Boolean> blocks = new HashMap<>();
            try {
                Ledger ledger = new Ledger(new LedgerStore() {
                    @Override
                    public List<LedgerLine> read() {
                        return List.copyOf(lines);
                    }

                    @Override
                    public void append(LedgerLine line) {}

                    @Override
                    public void replaceWith(List<LedgerLine> all) {}
                });
                if (ledger.engine().filter(identity(engine)::sameAs).isPresent()) {
                    ledger.outstanding()
                            .forEach(entry -> blocks.merge(
                                    entry.lastBlock(),
                                    entry.step() == LedgerLine.Step.UNSURE || entry.step() == LedgerLine.Step.KEPT,
                                    Boolean::logicalOr));
                }
            } catch (IOException e) {
                throw new java.io.UncheckedIOException(e);
            }
            return blocks;
        }
    }

    private static EngineIdentity identity(VirtualEngine engine) {
        String name = engine.ranks().getFirst().name;
        return new EngineIdentity("http://" + name, "http://" + name, Optional.of("m"));
    }

    /**
     * What an operator wrote.
     *
     * @param promisesSizes whether the largest prompt is written down, or left to be measured
     * @param measuring how it is measured what holds do, for which holds are let go now and then
     * @param instead all that decides, in the place of the above; the backend is chosen then
     */
    record Written(
            Duration tick,
            boolean automatic,
            Duration automaticLease,
            Way way,
            int longestAnswer,
            boolean promisesSizes,
            int longest,
            Optional<EffectSettings> measuring,
            Optional<ControllerSettings> instead) {

        /** One who does not measure. */
        Written(
                Duration tick,
                boolean automatic,
                Duration automaticLease,
                Way way,
                int longestAnswer,
                boolean promisesSizes,
                int longest) {
            this(
                    tick,
                    automatic,
                    automaticLease,
                    way,
                    longestAnswer,
                    promisesSizes,
                    longest,
                    Optional.empty(),
                    Optional.empty());
        }

        /** One who wrote what gives these settings, beside an engine that can be held on in this way. */
        Written(ControllerSettings settings, Way way) {
            this(
                    settings.tick(),
                    settings.automaticHolds() != AutomaticHolds.OFF,
                    settings.automaticLease(),
                    way,
                    0,
                    false,
                    0,
                    settings.effect(),
                    Optional.of(settings));
        }

        /** The same by another backend. */
        Written by(Way other) {
            return new Written(
                    tick, automatic, automaticLease, other, longestAnswer, promisesSizes, longest, measuring, instead);
        }

        private ControllerSettings settings(String id) {
            return instead.orElseGet(() -> new ControllerSettings(
                    id,
                    new BudgetSettings(
                            SHARE,
                            promisesSizes
                                    ? Optional.of(new RequestSizes(OptionalInt.of(longest), longestAnswer))
                                    : Optional.empty(),
                            "--context-length"),
                    automatic ? AutomaticHolds.ON : AutomaticHolds.OFF,
                    automaticLease,
                    ControllerSettings.LEAST_SAVING,
                    tick,
                    ControllerSettings.OWN_REQUESTS_AN_HOUR,
                    measuring));
        }
    }

    /** By which backend it holds. */
    enum Way {
        PIN_BLOCKS,
        SESSION_HOLD,
        STREAMING_SESSION,
        PRIORITY_TOUCH,
        NIXL,
        KEEP_WARM,
        CONNECTOR,
        DRY_RUN
    }

    /** Two above what clients send. */
    static final int PRIORITY = 2;

    private static final String OF_FLEET = "fleet:";

    /** Of the cache, what the operator lets it hold. */
    static final double SHARE = 0.5;

    private final Timeline time;
    private final VirtualNetwork network;
    private final Disk disk;
    private final Store store;
    private final PlayedTouches touches;
    private final Controller controller;
    /** What the client asked for, by the number of its hold. */
    private final Map<Long, long[]> asked = new HashMap<>();

    /** What was seen before the last poll. */
    private EngineView before;

    private volatile boolean alive = true;

    /** @throws IOException when it does not start */
    StormSidecar(
            String id,
            Timeline time,
            VirtualNetwork network,
            Disk disk,
            Store store,
            Written written,
            SplittableRandom random)
            throws IOException {
        this.time = time;
        this.network = network;
        this.disk = disk;
        this.store = store;
        this.touches = new PlayedTouches(id + "-" + time.now(), network, () -> alive, this::watch, this::watchRenewal);
        Executor acting = task -> disk.execute(() -> {
            if (alive) {
                task.run();
            }
        });
        this.controller = new Controller(
                written.settings(id),
                network.engine().isVllm() ? RequestRules.vllm() : RequestRules.sglang(),
                switch (written.way()) {
                    case DRY_RUN -> Backends.only(new DryRunBackend());
                    case PIN_BLOCKS -> new Backends(new PlayedBackend(), List.of(), Optional.of(this::sendAtOnce));
                    case SESSION_HOLD -> holding(touches.sessions(), written);
                    case STREAMING_SESSION -> holding(touches.streaming(), written);
                    case PRIORITY_TOUCH -> holding(touches.priorities(), written);
                    case NIXL -> holding(touches.nixl(), written);
                    case KEEP_WARM -> holding(touches.warm(), written);
                    case CONNECTOR -> holding(touches.connector(), written);
                },
                new Ledger(new PlayedStore()),
                acting,
                random);
        controller.engineIs(identity(network.engine()));
        before = controller.view();
    }

    KvEventSink events(int rank) {
        return controller.events(rank);
    }

    void onMail(Runnable wakeup) {
        controller.onMail(wakeup);
    }

    void poll() {
        if (alive) {
            before = controller.view();
            controller.poll(time.now());
        }
    }

    /** Returns what the last poll decided; absent where it decided nothing. */
    Optional<String> decided() {
        Plan plan = controller.view().lastPlan();
        return plan.tick() == before.lastPlan().tick() ? Optional.empty() : Optional.of(plan.toString());
    }

    /** Hands in what the engine's routes said. */
    void readings(SglangSettings settings, int capacity, List<Load> ranks, long at) {
        controller.readings(EngineReadings.unknownBut("a storm does not tell it")
                .capacityTokens(known("capacity", capacity, at))
                .blockTokens(known("page", settings.pageTokens(), at))
                .contextTokens(known("context", settings.contextTokens(), at))
                .largestAcceptedTokens(known("longest prompt", settings.maxPromptTokens(), at))
                .runningRequests(sum("running", ranks, Load::running, at))
                .waitingRequests(sum("waiting", ranks, Load::waiting, at))
                .usedTokens(sum("used", ranks, Load::usedTokens, at))
                .ttftSumSeconds(sum("ttft", ranks, Load::ttftSeconds, at))
                .ttftCount(sum("ttft count", ranks, stats -> (double) stats.ttftCount(), at))
                .promptTokens(sum("prompt tokens", ranks, stats -> (double) stats.promptTokens(), at))
                .cachedTokens(sum("cached tokens", ranks, stats -> (double) stats.cachedTokens(), at))
                .ranks(
                        ranks.size() == 1
                                ? List.of()
                                : ranks.stream()
                                        .map(stats -> new RankLoad(
                                                known("running", stats.running(), at),
                                                known("waiting", stats.waiting(), at),
                                                known("used", stats.usedTokens(), at)))
                                        .toList())
                .build());
    }

    private static Reading sum(String name, List<Load> ranks, ToDoubleFunction<Load> number, long at) {
        return known(name, ranks.stream().mapToDouble(number).sum(), at);
    }

    /** Takes part in a cell under this name. */
    SharedEngine share(
            FleetStore fleet, Cell cell, String name, LongSupplier clock, RandomGenerator random, TokenSource tokens) {
        return new SharedEngine(
                fleet,
                cell,
                name,
                "http://" + name + ":1",
                clock,
                random,
                controller,
                (prompt, _) -> network.engine().names(prompt),
                tokens);
    }

    /**
     * What is left of a claim of the fleet.
     *
     * @param hold id of the fleet's hold
     */
    record FleetClaim(String hold, HoldState state, Duration left) {}

    /** What this engine was asked for by the fleet, whose lease lasts and which was not given up. */
    List<FleetClaim> fleetClaims() {
        return controller.view().holds().stream()
                .flatMap(hold -> hold.claims().stream()
                        .filter(claim -> claim.requester().startsWith(OF_FLEET)
                                && claim.left().isPositive()
                                && hold.state() != HoldState.EXPIRING)
                        .map(claim -> new FleetClaim(
                                claim.requester().substring(OF_FLEET.length()), hold.state(), claim.left())))
                .toList();
    }

    /** Whether anything is left to other engines' copies now. */
    boolean leavesToOthers() {
        return controller.view().lastPlan().lines().stream().anyMatch(line -> line.code() == Reason.HELD_ELSEWHERE);
    }

    void noReadings() {
        controller.readings(EngineReadings.unknown("the engine did not answer"));
    }

    private static Reading known(String name, double value, long at) {
        return Reading.known(value, name, at);
    }

    void hold(long[] path, Duration lease) {
        quietly(controller.request(new HoldRequest(path, lease)));
    }

    /** The same by its tokens, so that it may be sent alone. */
    void hold(long[] path, int[] tokens, Duration lease) {
        ask(new HoldRequest(path, tokens, lease));
    }

    /** The same for a client that lets it go now and then, so that it is measured what it does. */
    void holdToBeMeasured(long[] path, int[] tokens, Duration lease) {
        ask(new HoldRequest(path, tokens, lease).toBeMeasured());
    }

    private void ask(HoldRequest request) {
        long[] path = new long[request.blocks()];
        for (int i = 0; i < path.length; i++) {
            path[i] = request.block(i);
        }
        controller.request(request).whenComplete((hold, failure) -> {
            if (failure == null) {
                asked.put(hold.id(), path);
            }
        });
    }

    /** Says of a conversation whether it goes on. */
    void hint(long[] path, boolean goesOn) {
        quietly(controller.hint(goesOn ? Hint.GOES_ON : Hint.OVER, new HoldRequest(path, Duration.ofMinutes(1)), ""));
    }

    /** The paths that the client asked for and that are said to be held. */
    List<long[]> held() {
        return controller.view().holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD && asked.containsKey(hold.id()))
                .map(hold -> Arrays.copyOf(asked.get(hold.id()), hold.heldBlocks()))
                .toList();
    }

    /** Whatever a sidecar of a stock engine knows of releases, or counts, its own entries. */
    private Backends holding(Backend backend, Written written) {
        return written.instead().isPresent()
                ? new Backends(
                        new AutoBackend(List.of(backend), time::now), List.of(backend), Optional.of(touches::send))
                : new Backends(backend, List.of(touches.sessions(), touches.priorities()), Optional.of(touches::send));
    }

    /** A touch leaves. */
    private void watch(PinCommand command) {
        watch(
                command,
                before.holds().stream()
                        .filter(hold -> hold.id() == command.holdId())
                        .allMatch(hold -> hold.state() != HoldState.RELEASED && hold.state() != HoldState.EXPIRING));
    }

    /** A renewal leaves, for whichever of the holds that share the pin. */
    private void watchRenewal(PinCommand command) {
        watch(
                command,
                before.holds().stream()
                        .anyMatch(hold -> hold.state() == HoldState.HELD
                                && hold.heldBlocks() == command.blocks()
                                && ends(hold, command)));
    }

    /** Returns whether what is held ends where the command does; of what no client asked for that is not known. */
    private boolean ends(HoldView hold, PinCommand command) {
        long[] path = asked.get(hold.id());
        return path == null || path[command.blocks() - 1] == command.lastBlock();
    }

    private void watch(PinCommand command, boolean wanted) {
        // What the last poll decided it may have decided before it heard.
        EngineView view = before;
        Optional<String> unwanted =
                view.paused().flatMap(_ -> controller.view().paused()).map(why -> "though it was told to stop: " + why);
        network.touches(
                command.lastBlock(),
                unwanted.or(() -> wanted ? Optional.empty() : Optional.of("whose hold was given up")),
                controller.view().certain());
    }

    /** As the branch that pins has them sent: without a network that could lose them. */
    private CompletionStage<Outcome> sendAtOnce(int[] tokens) {
        return send(tokens, RequestOptions.of(1));
    }

    private CompletionStage<Outcome> send(int[] tokens, RequestOptions options) {
        CompletableFuture<Outcome> answer = new CompletableFuture<>();
        if (!network.engine().isUp()) {
            return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.NOT_SENT, "nothing listens"));
        }
        network.engine().submit(new Generation(tokens, options, false, time.now(), new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                if (last) {
                    answer.complete(new Outcome(Outcome.Kind.ACCEPTED, "answered", OptionalLong.of(cachedTokens)));
                }
            }

            @Override
            public void failed(String message) {
                answer.complete(new Outcome(Outcome.Kind.DEFERRED, message));
            }
        }));
        return answer;
    }

    /** Gives up one of the holds. */
    void releaseOne(SplittableRandom random) {
        List<HoldView> living = living();
        if (!living.isEmpty()) {
            quietly(controller.release(living.get(random.nextInt(living.size())).id()));
        }
    }

    void releaseAll() {
        quietly(controller.releaseAll("the storm wants it"));
    }

    void resume() {
        quietly(controller.resumeHolding());
    }

    /** Lets go of everything for the end of the process. */
    CompletionStage<?> letGo() {
        return controller.letGo("the sidecar ends");
    }

    /** The process is gone; what it has sent is on its way. */
    void kill() {
        alive = false;
    }

    EngineView view() {
        return controller.view();
    }

    /** Returns whether a session is a lease of this life; of one before it nothing is known, and it ends by itself. */
    boolean leased(String session) {
        return touches.leased(session);
    }

    /** What the engine has, or may have, for us. */
    long countedTokens() {
        return controller.view().budget().pinnedTokens();
    }

    /** Reports so many first tokens, as a router would. */
    void report(double seconds, int count) {
        for (int i = 0; i < count; i++) {
            boolean _ = controller.firstToken(new FirstToken(seconds, 400, OptionalInt.of(200), Optional.empty()));
        }
    }

    /** Whether holds were off for a while, to measure what they do. */
    boolean switched() {
        return controller.view().ttft().offTime().isPositive();
    }

    /** Whether it knows yet how long blocks are, so that it can count tokens. */
    boolean knowsBlocks() {
        return controller.view().readings().blockTokens().number().isPresent();
    }

    int wantedTokens(int page) {
        return living().stream().mapToInt(HoldView::wantedBlocks).sum() * page;
    }

    int holds() {
        return living().size();
    }

    private List<HoldView> living() {
        return controller.view().holds().stream()
                .filter(hold -> hold.state() != HoldState.RELEASED)
                .toList();
    }

    /** Why something is still there, in a line. */
    String describe() {
        return controller.view().capabilities() + " " + controller.view().pins() + " "
                + controller.view().holds();
    }

    private static void quietly(CompletionStage<?> answer) {
        answer.whenComplete((_, _) -> {});
    }

    private final class PlayedBackend implements Backend {
        private static final BackendTraits TRAITS =
                BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);

        @Override
        public String name() {
            return "pin_blocks";
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            CompletableFuture<Capabilities> answer = new CompletableFuture<>();
            boolean able = network.answersQuestions();
            time.after(5 * Timeline.MILLI, () -> {
                if (alive) {
                    answer.complete(new Capabilities(
                            able,
                            able ? "it can" : "no answer",
                            network.engine().ranks().size()));
                }
            });
            return answer;
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            return call(true, List.of(command.lastBlock()), command.caches());
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            int ranks = network.engine().ranks().size();
            return call(false, handles.stream().map(Long::valueOf).toList(), ranks == 1 ? handles.size() : 0);
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public BackendTraits traits() {
            return TRAITS;
        }

        private CompletionStage<Outcome> call(boolean pin, List<Long> blocks, int expected) {
            CompletableFuture<Outcome> answer = new CompletableFuture<>();
            if (alive) {
                network.call(pin, blocks, reply -> {
                    if (alive) {
                        answer.complete(outcome(reply, expected));
                    }
                });
            }
            return answer;
        }

        /** @param expected the count that means that all is well; 0 where any does */
        private static Outcome outcome(VirtualNetwork.Reply reply, int expected) {
            return switch (reply.fate()) {
                case ANSWERED ->
                    new Outcome(
                            reply.count() == 0
                                    ? Outcome.Kind.MISSING
                                    : expected == 0 || reply.count() == expected
                                            ? Outcome.Kind.ACCEPTED
                                            : Outcome.Kind.CLIPPED,
                            "it answered",
                            reply.count());
                case UNCLEAR -> new Outcome(Outcome.Kind.DEFERRED, "no answer");
                case NOT_SENT -> new Outcome(Outcome.Kind.NOT_SENT, "never sent");
                case FORBIDDEN -> new Outcome(Outcome.Kind.REJECTED, "forbidden");
            };
        }
    }

    private final class PlayedStore implements LedgerStore {
        @Override
        public List<LedgerLine> read() {
            return List.copyOf(store.lines);
        }

        @Override
        public void append(LedgerLine entry) throws IOException {
            disk.write();
            if (alive) {
                store.lines.add(entry);
            }
        }

        @Override
        public void replaceWith(List<LedgerLine> entries) throws IOException {
            disk.write();
            if (alive) {
                store.lines = new ArrayList<>(entries);
            }
        }
    }
}
