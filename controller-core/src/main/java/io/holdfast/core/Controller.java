package io.holdfast.core;

import io.holdfast.core.index.EngineTree;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.requests.RequestRules;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.random.RandomGenerator;

/**
 * Keeps the prefixes worth keeping in one engine's cache.
 *
 * <p>One thread owns it: the one that applies events to {@link #events()} and calls {@link #poll}. Everything else may
 * be called by any thread and goes through a bounded mailbox. The first {@link #poll} sets the origin of time.
 */
public final class Controller {
    private static final long PROBE_AGAIN_NANOS = 10_000_000_000L;
    private static final long PIN_AGAIN_NANOS = 1_000_000_000L;
    private static final int MOST_BLOCKS_OF_UNKNOWN = 65_536;

    private final ControllerSettings settings;
    private final Backend backend;
    private final Executor acting;
    private final Mailbox mailbox = new Mailbox();
    private final EventSide events;
    private final EngineTree tree;
    private final Holds holds;
    private final Ledger ledger;
    private final Optional<Switchback> switchback;
    private final StallWatch stallWatch = new StallWatch();

    private long originNanos;
    private boolean started;
    private long nowNanos;
    private long tick;
    private long nextTickNanos;
    private boolean planNow;
    private boolean probing;
    private long probeAtNanos;
    private EngineReadings lastReadings = EngineReadings.unknown("the engine was not asked yet");
    private Optional<Capabilities> capabilities = Optional.empty();
    private Optional<String> suspended = Optional.empty();
    private Optional<ReleaseAll> releasing = Optional.empty();
    private Budget budget = new Budget(0, 0, 0, List.of());
    private Plan plan = new Plan(0, List.of());
    private long seenBatches;
    private volatile EngineView view;

    /** Holds that are let go together. */
    private static final class ReleaseAll {
        final Set<Long> open = new HashSet<>();
        final CompletableFuture<Released> answer;
        int released;
        int pending;

        ReleaseAll(CompletableFuture<Released> answer) {
            this.answer = answer;
        }

        Released soFar() {
            return new Released(released, pending + open.size());
        }
    }

    /** Of an engine that stores what a request generated when it ends, as SGLang does; else like the other constructor. */
    public Controller(
            ControllerSettings settings, Backend backend, LedgerStore store, Executor acting, RandomGenerator random)
            throws IOException {
        this(settings, RequestRules.sglang(), backend, store, acting, random);
    }

    /**
     * Reads the ledger; the first poll unpins what an earlier life left.
     *
     * @param requests how the engine tells of its requests
     * @param acting where the ledger is written, the backend called and answers completed; tasks may block
     * @param random tosses the coins of the TTFT measurement
     * @throws IOException when the ledger cannot be read or shortened
     */
    public Controller(
            ControllerSettings settings,
            RequestRules requests,
            Backend backend,
            LedgerStore store,
            Executor acting,
            RandomGenerator random)
            throws IOException {
        this.events = new EventSide(requests, this::engineForgot);
        this.tree = events.tree();
        this.settings = settings;
        this.backend = backend;
        this.acting = acting;
        LedgerBook book = new LedgerBook(store);
        this.holds = new Holds(book.largestId() + 1, tree, acting);
        this.ledger = new Ledger(book, backend, acting, mailbox, tree, new LedgerResults());
        this.switchback = settings.switchbackWindow().map(window -> new Switchback(window.toNanos(), random));
        this.view = picture(lastReadings);
    }

    /** Where the engine's events go; for the owning thread only. */
    public KvEventSink events() {
        return events;
    }

    /**
     * Handles mail, plans when a tick is due, and publishes the view; for the owning thread only.
     *
     * @param clockNanos any monotonic clock, the same as that of the readings
     * @return how much was done; 0 when there was nothing to do
     */
    public int poll(long clockNanos) {
        if (!started) {
            started = true;
            originNanos = clockNanos;
        }
        nowNanos = Math.max(nowNanos, clockNanos - originNanos);
        events.now(nowNanos);
        holds.now(nowNanos, blockTokens(effectiveReadings(clockNanos)));
        if (events.takePinnedRemoved()) {
            noticeRemovedPins();
        }
        int work = mailbox.drain(this::accept);
        ledger.poll(nowNanos);
        probeIfDue();
        boolean ticked = planNow || nowNanos >= nextTickNanos;
        if (ticked) {
            tick(clockNanos);
            work++;
        }
        if (work > 0 || seenBatches != events.counters().batches()) {
            seenBatches = events.counters().batches();
            view = picture(effectiveReadings(clockNanos));
        }
        return work;
    }

    /** Has {@code wakeup} called, by any thread, when something entered the mailbox. */
    public void onMail(Runnable wakeup) {
        mailbox.onMail(wakeup);
    }

    /** Asks for a hold; answered when it is held, refused, or known to have to wait, each with its reason. */
    public CompletionStage<HoldView> request(HoldRequest request) {
        return ask(answer -> {
            Optional<RuntimeException> refusal = tooMuch(request);
            if (refusal.isPresent()) {
                holds.fail(answer, refusal.get());
                return;
            }
            Hold hold = holds.register(HoldOrigin.REQUESTED, request, "asked for");
            holds.awaitDecision(hold.id(), answer);
            planNow = true;
        });
    }

    /** The most blocks that a hold may have: those that the cache has, or a number while that is unknown. */
    public static int mostBlocks(EngineReadings readings) {
        double tokens = readings.capacityTokens().number().orElse(0);
        double perBlock = readings.blockTokens().number().orElse(0);
        return tokens >= 1 && perBlock >= 1
                ? (int) Math.clamp(tokens / perBlock, 1, Holds.MOST_BLOCKS)
                : MOST_BLOCKS_OF_UNKNOWN;
    }

    /** Memory is bounded here, before anything is kept; what fits the cache beside its requests is the planner's. */
    private Optional<RuntimeException> tooMuch(HoldRequest request) {
        int most = mostBlocks(lastReadings);
        if (request.blocks() > most) {
            return Optional.of(new IllegalArgumentException("A prefix of " + request.blocks()
                    + " blocks can never fit engine " + settings.engineId() + ", whose cache has "
                    + (most == MOST_BLOCKS_OF_UNKNOWN ? "an unknown number, so at most " + most + " are taken" : most)
                    + ": hold a shorter one."));
        }
        if (holds.fullFor(request.blocks())) {
            return Optional.of(new RejectedExecutionException("Engine " + settings.engineId() + " has "
                    + holds.living().size() + " holds of " + holds.blocks() + " blocks in all, and "
                    + Holds.MOST_LIVING + " of " + Holds.MOST_BLOCKS + " are the most: release one first."));
        }
        return Optional.empty();
    }

    /**
     * Gives a hold up; answered when it is unpinned, or when the engine refuses that, which leaves it expiring; empty when
     * there is no such hold.
     */
    public CompletionStage<Optional<HoldView>> release(long holdId) {
        return ask(answer -> {
            holds.awaitEnd(holdId, answer);
            ledger.retryNow(holdId);
            holds.living(holdId).ifPresent(hold -> giveUp(hold, "released on request"));
        });
    }

    /**
     * Gives all holds up, those that an earlier life left included, and suspends holding until {@link #resumeHolding};
     * answered once every unpin has an outcome. What is pending then stays in the ledger.
     */
    public CompletionStage<Released> releaseAll(String reason) {
        return ask(answer -> {
            suspended = Optional.of("holding is suspended: " + reason);
            releasing.ifPresent(earlier -> holds.complete(earlier.answer, earlier.soFar()));
            ReleaseAll all = new ReleaseAll(answer);
            releasing = Optional.of(all);
            holds.living().forEach(hold -> all.open.add(hold.id()));
            all.open.addAll(ledger.leavers());
            ledger.retryNow();
            holds.living().forEach(hold -> giveUp(hold, reason));
            answerReleaseAll();
        });
    }

    /** Ends the suspension that {@link #releaseAll} began. */
    public CompletionStage<Boolean> resumeHolding() {
        return ask(answer -> {
            boolean was = suspended.isPresent();
            suspended = Optional.empty();
            planNow = true;
            holds.complete(answer, was);
        });
    }

    /** Hands in fresh readings; the newest replace those not yet looked at. */
    public void readings(EngineReadings readings) {
        mailbox.readings(readings);
    }

    /** The newest published picture; any thread. */
    public EngineView view() {
        return view;
    }

    @FunctionalInterface
    private interface Wish<T> {
        void answerTo(CompletableFuture<T> answer);
    }

    private <T> CompletionStage<T> ask(Wish<T> wish) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        if (!mailbox.wish(() -> wish.answerTo(answer))) {
            answer.completeExceptionally(new RejectedExecutionException("The controller of engine "
                    + settings.engineId() + " has " + Mailbox.CAPACITY + " requests waiting: ask again later."));
        }
        return answer;
    }

    private void accept(EngineReadings readings) {
        lastReadings = readings;
        events.readings(readings, originNanos);
        stallWatch.look(readings, events.counters().batches(), nowNanos);
        switchback.ifPresent(loop -> loop.reading(readings, nowNanos));
    }

    private void giveUp(Hold hold, String reason) {
        if (hold.state() != HoldState.EXPIRING) {
            holds.update(hold.expiring(false, reason));
        }
        ledger.leave(hold.id());
        planNow = true;
    }

    private void noticeRemovedPins() {
        for (Hold hold : hardPins() ? holds.living() : List.<Hold>of()) {
            if (hold.state() == HoldState.HELD && tree.match(hold.request()) < hold.heldBlocks()) {
                holds.update(hold.expiring(true, "the engine removed it although it was pinned"));
                planNow = true;
            }
        }
    }

    private void engineForgot() {
        ledger.engineForgot();
        for (Hold hold : holds.living()) {
            if (hold.state() == HoldState.EXPIRING) {
                holds.update(hold.ended(hold.reason()));
            } else if (hold.state() == HoldState.HELD || hold.automatic()) {
                holds.update(hold.expiring(true, "").ended("the engine emptied its cache, and with it the pins"));
            }
        }
        switchback.ifPresent(Switchback::interrupted);
        probeAtNanos = nowNanos;
        planNow = true;
    }

    private void probeIfDue() {
        boolean able = capabilities.map(Capabilities::canPin).orElse(false);
        if (probing || (able && probeAtNanos < 0) || nowNanos < probeAtNanos) {
            return;
        }
        probing = true;
        CompletionStage<Capabilities> answer =
                CompletableFuture.completedFuture(backend).thenComposeAsync(Backend::probe, acting);
        answer.whenComplete((found, failure) -> mailbox.outcome(() -> probed(
                failure == null
                        ? found
                        : new Capabilities(false, false, true, "the backend could not be asked: " + failure))));
    }

    private void probed(Capabilities found) {
        probing = false;
        probeAtNanos = found.canPin() ? -1 : nowNanos + PROBE_AGAIN_NANOS;
        planNow |= !capabilities.equals(Optional.of(found));
        capabilities = Optional.of(found);
    }

    private void tick(long clockNanos) {
        planNow = false;
        nextTickNanos = nowNanos + settings.tick().toNanos();
        tick++;
        boolean holding = holds.living().stream().anyMatch(hold -> hold.automatic() && hold.state() == HoldState.HELD);
        switchback.ifPresent(loop -> loop.tick(nowNanos, holding));
        holds.age();
        EngineReadings readings = effectiveReadings(clockNanos);
        budget =
                BudgetRule.compute(settings, readings, events.prompts(), ledger.pinnedBlocks(), hardPins(), clockNanos);
        plan = Planner.plan(new PlanInput(
                tick,
                nowNanos,
                settings,
                tree,
                budget,
                stallWatch.stalled(nowNanos),
                (long) readings.capacityTokens().number().orElse(0),
                blockTokens(readings),
                hindrance(),
                capabilities,
                switchback.flatMap(Switchback::off),
                ledger.leaving(),
                ledger.freeing(),
                holds.living(),
                settings.automaticHolds()
                        ? events.candidates(settings.automaticLease().toNanos())
                        : List.of(),
                holds.nextId()));
        plan.lines().forEach(this::carryOut);
    }

    private Optional<String> hindrance() {
        if (suspended.isPresent()) {
            return suspended;
        }
        if (events.gap().isPresent()) {
            return events.gap().map(why -> "nothing new is pinned: " + why);
        }
        int leftovers = ledger.leftovers();
        if (leftovers > 0) {
            return Optional.of("pins of an earlier life are released first, " + leftovers + " to go");
        }
        return capabilities.isPresent()
                ? Optional.empty()
                : Optional.of("the backend " + backend.name() + " was not probed yet");
    }

    private void carryOut(Plan.Line line) {
        switch (line.action()) {
            case PIN -> {
                if (holds.living(line.holdId()).isEmpty() && holds.full()) {
                    return;
                }
                Hold hold = holds.living(line.holdId()).orElseGet(() -> automatic(line));
                if (hold.state() == HoldState.REQUESTED) {
                    holds.update(hold.because(line.reason()));
                    ledger.want(hold, line.lastBlock(), line.blocks(), mustBeWritten());
                }
            }
            case UNPIN ->
                holds.living(line.holdId()).ifPresent(hold -> {
                    if (hold.state() == HoldState.HELD) {
                        holds.update(hold.waiting(nowNanos, line.reason()));
                    }
                    ledger.leave(line.holdId());
                });
            case WAIT ->
                holds.living(line.holdId()).ifPresent(hold -> {
                    Hold waiting = hold.because(line.reason());
                    holds.update(waiting);
                    holds.decided(waiting);
                });
            case REFUSE ->
                holds.living(line.holdId()).ifPresent(hold -> {
                    holds.update(hold.expiring(false, line.reason()));
                    ledger.leave(line.holdId());
                });
            case KEEP -> {}
        }
    }

    private Hold automatic(Plan.Line line) {
        events.takeCandidate(line.lastBlock());
        HoldRequest path = new HoldRequest(tree.path(line.lastBlock()), settings.automaticLease());
        return holds.register(HoldOrigin.AUTOMATIC, path, line.reason());
    }

    private boolean hardPins() {
        return capabilities.map(Capabilities::hard).orElse(true);
    }

    private boolean mustBeWritten() {
        return !capabilities.map(Capabilities::forgetsByItself).orElse(false);
    }

    /** What became of pins and unpins. */
    private final class LedgerResults implements Ledger.Results {
        @Override
        public void pinned(long holdId, long block, int blocks, String reason) {
            holds.living(holdId)
                    .filter(hold -> hold.state() == HoldState.REQUESTED)
                    .ifPresent(hold -> {
                        int wanted = hold.request().blocks();
                        String why = hold.automatic()
                                ? hold.reason()
                                : "asked for; " + Planner.pinReason(blocks, wanted) + ". " + reason;
                        Hold held = hold.held(block, blocks, why);
                        boolean stillThere = !hardPins() || tree.match(hold.request()) >= blocks;
                        Hold next = stillThere
                                ? held
                                : held.expiring(true, "the engine removed a part of it while its pin was under way");
                        holds.update(next);
                        holds.decided(next);
                        planNow = true;
                    });
        }

        @Override
        public void notPinned(long holdId, Outcome outcome) {
            holds.living(holdId)
                    .filter(hold -> hold.state() == HoldState.REQUESTED)
                    .ifPresent(hold -> {
                        Hold next = switch (outcome.kind()) {
                            case REJECTED -> hold.ended("refused: " + outcome.reason());
                            case MISSING -> hold.waiting(nowNanos + PIN_AGAIN_NANOS, outcome.reason());
                            case DEFERRED, ACCEPTED, CLIPPED ->
                                hold.waiting(
                                        nowNanos + PIN_AGAIN_NANOS,
                                        "no clear answer to the pin, so it is taken back before it is tried again: "
                                                + outcome.reason());
                        };
                        holds.update(next);
                        holds.decided(next);
                    });
        }

        @Override
        public void left(long holdId) {
            holds.living(holdId)
                    .filter(hold -> hold.state() == HoldState.EXPIRING)
                    .ifPresent(hold -> holds.update(hold.ended(hold.reason())));
            releasing.filter(all -> all.open.remove(holdId)).ifPresent(all -> all.released++);
            answerReleaseAll();
            planNow = true;
        }

        @Override
        public void stuck(long holdId, String trouble) {
            holds.living(holdId)
                    .filter(hold -> hold.state() == HoldState.EXPIRING)
                    .ifPresent(hold -> holds.endRefused(hold.because(trouble)));
            pending(holdId);
        }

        @Override
        public void leavingDeferred(long holdId, String reason) {
            pending(holdId);
        }

        private void pending(long holdId) {
            releasing.filter(all -> all.open.remove(holdId)).ifPresent(all -> all.pending++);
            answerReleaseAll();
        }
    }

    private void answerReleaseAll() {
        releasing.filter(all -> all.open.isEmpty()).ifPresent(all -> {
            releasing = Optional.empty();
            holds.complete(all.answer, all.soFar());
        });
    }

    /** The readings, with the block size that the events told where the engine's own is unknown. */
    private EngineReadings effectiveReadings(long clockNanos) {
        EngineReadings r = lastReadings;
        if (events.blockTokens() == 0 || r.blockTokens().number().isPresent()) {
            return r;
        }
        return r.withBlockTokens(Reading.known(events.blockTokens(), "KV events", clockNanos));
    }

    private static long blockTokens(EngineReadings readings) {
        return (long) readings.blockTokens().number().orElse(0);
    }

    private EngineView picture(EngineReadings readings) {
        return new EngineView(
                settings.engineId(),
                events.incarnation(),
                events.certain(),
                events.certainty(),
                tree.size(),
                tree.ghosts(),
                events.counters(),
                events.invisibleShare(),
                capabilities.orElse(new Capabilities(false, false, false, "the backend was not probed yet")),
                readings,
                budget,
                holds.views(),
                plan,
                switchback
                        .map(Switchback::effect)
                        .orElse(TtftEffect.unproven("not measured: no window length is configured")));
    }
}
