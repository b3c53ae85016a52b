package io.holdfast.core;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.budget.EngineGuard;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.example.ExampleView;
import io.holdfast.core.head.UnstableHead;
import io.holdfast.core.head.UnstableHeads;
import io.holdfast.core.hold.ClaimView;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.index.StreamPosition;
import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.core.pin.Acting;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.pin.Pins;
import io.holdfast.core.plan.Copies;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Planner;
import io.holdfast.core.prefix.HotPrefix;
import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.rank.Reuse;
import io.holdfast.core.rank.ReuseCounts;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.RequestRules;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * Keeps the prefixes worth keeping in one engine's cache.
 *
 * <p>One thread owns it: the one that applies events to {@link #events()} and calls {@link #poll}. Everything else may
 * be called by any thread and goes through a bounded mailbox. The first {@link #poll} sets the origin of time.
 */
public final class Controller {
    private static final int MOST_BLOCKS_OF_UNKNOWN = 65_536;
    private static final long IDLE_TICK_NANOS = 500_000_000;
    private static final int GAPS_A_LEASE = 3;
    /** Interval between pictures of what events alone changed. */
    private static final long PICTURE_NANOS = 100_000_000;

    private volatile ControllerSettings settings;
    private final Backends backends;
    private final NewestReadings newest;
    private final Mailbox mailbox = new Mailbox();
    private final EngineObservers observers;
    /** Observer of the first rank, from which is learned what is worth an automatic hold. */
    private final EngineObserver events;

    private final OwnRequests own;
    private final Priming priming;
    private final KeepWarm keepWarm;
    private final Probing probing;
    private final HoldOutcomes outcomes;
    private final Releases releases;
    private final Measuring measuring;
    private final Tick tick;
    private final PlanRunner runner;
    private final Explainer explainer;

    private final Executor acting;
    /**
     * Answers that are given at the end of the round, so that a reader who looks at the view because of an answer finds
     * there what it told.
     */
    private final List<Runnable> answers = new ArrayList<>();

    private final EngineCaches tree;
    private final Holds holds;
    private final Pins pins;
    private final EngineGuard guard = new EngineGuard();
    private final Learning learning;

    private long originNanos;
    private boolean started;
    private long nowNanos;
    private long nextTickNanos;
    private boolean planNow;
    private long seenRestarts;
    private Optional<String> model = Optional.empty();
    private Steering steering;
    private long seenBatches;
    private long touched;
    private long picturedNanos = -PICTURE_NANOS;
    private volatile CompletionStage<Boolean> pauseWritten = CompletableFuture.completedFuture(true);
    private volatile List<EngineBlocks> readable;
    private volatile EngineView view;

    /**
     * Creates the controller of one engine that stores what a request generated when it ends, as SGLang does; the
     * caller vouches that the ledger belongs to it.
     *
     * @throws IOException when the ledger cannot be read
     */
    public Controller(
            ControllerSettings settings, Backend backend, LedgerStore store, Executor acting, RandomGenerator random)
            throws IOException {
        this(settings, RequestRules.sglang(), Backends.only(backend), new Ledger(store), acting, random);
        pins.engineIs(EngineIdentity.VOUCHED_FOR);
    }

    /**
     * Neither releases nor pins anything before {@link #engineIs} was called; then it first unpins what an earlier life
     * left in the ledger.
     *
     * @param requests how the engine tells of its requests
     * @param acting where the ledger is written, the backend called and answers completed; tasks may block
     * @param random tosses the coins of the TTFT measurement
     */
    public Controller(
            ControllerSettings settings,
            RequestRules requests,
            Backends backends,
            Ledger ledger,
            Executor acting,
            RandomGenerator random) {
        this.settings = settings;
        this.backends = backends;
        this.acting = acting;
        this.steering = new Steering(ledger.paused(), false, false);
        Acting calls = new Acting(acting, mailbox::outcome);
        this.own = new OwnRequests(backends.sender(), calls);
        this.observers = new EngineObservers(
                requests,
                own::isOwn,
                backends.sendsTokens(),
                new MemoryBudget(settings.memoryBytes()),
                this::engineForgot);
        this.events = observers.first();
        this.readable = List.of(events.tree());
        this.tree = observers.trees();
        this.newest = new NewestReadings(observers);
        this.learning = new Learning(observers);
        this.holds = new Holds(ledger.largestId() + 1, tree, observers, answers::add);
        this.priming = new Priming(own, holds, tree, backends);
        this.outcomes = new HoldOutcomes(
                holds,
                backends,
                tree,
                own,
                results -> new Pins(ledger, backends, acting, mailbox::outcome, tree, results),
                () -> planNow = true,
                this::probeAgain);
        this.pins = outcomes.pins();
        this.keepWarm = new KeepWarm(holds, events.tree(), own, calls, settings.ownRequestsAnHour(), outcomes);
        this.probing = new Probing(
                backends, acting, mailbox::outcome, () -> outcomes.changeOver(keepWarm::rests), () -> planNow = true);
        this.measuring = new Measuring(settings.effect(), random, observers, holds, backends, steering);
        this.tick = new Tick(
                settings, steering, backends, observers, newest, holds, pins, own, priming, probing, guard, measuring);
        this.releases = new Releases(holds, outcomes, backends, observers, tick);
        this.runner = new PlanRunner(holds, pins, priming, events, tree, tick);
        this.explainer = new Explainer(events, tree, tick);
        events.prefixes().gapsEvery(settings.automaticLease().dividedBy(GAPS_A_LEASE));
        this.view = picture(newest.asTold());
    }

    /**
     * Says, before anything else, that the engine publishes no events: what it has is taken from answers to requests of
     * our own then, and what it allocates from its counters.
     */
    public void publishesNothing() {
        SilentCache cache = new SilentCache(events.tree(), () -> events.restarted(1));
        own.tell(cache::answered);
        priming.nobodyElseTells();
        observers.followBy(cache);
    }

    /** Returns the sink for the engine's events; for the owning thread only. */
    public KvEventSink events() {
        return events;
    }

    /**
     * Returns the sink for the events of one data-parallel rank's cache; for the owning thread only. Nothing is pinned
     * while one of the ranks requested here is not certain.
     */
    public KvEventSink events(int rank) {
        while (observers.count() <= rank) {
            EngineObserver next = observers.add();
            readable = observers.all().map(EngineObserver::tree).toList();
            guard.add();
            holds.living()
                    .forEach(hold ->
                            next.prefixes().want(hold.end(), hold.request().blocks()));
        }
        return observers.rank(rank);
    }

    /** Returns in what the engine's events differ from others'. */
    public CacheTraits caches() {
        return events.tree().traits();
    }

    /** Returns true if what is known of one rank's cache is exactly what it has; for the owning thread only. */
    public boolean certain(int rank) {
        return observers.rank(rank).certain();
    }

    /**
     * Copies what is known of one rank's cache after this batch, the last that was applied; empty while that is not certain;
     * for the owning thread only, between two batches.
     */
    public Optional<ViewSnapshot> snapshot(int rank, StreamPosition at) {
        return observers.rank(rank).tree().snapshot(at);
    }

    /**
     * Takes over a view of one rank's cache that is exact after the last batch that was applied; for the owning thread only,
     * between two batches.
     */
    public void become(int rank, ViewSnapshot view) {
        observers.rank(rank).become(view);
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
        observers.now(nowNanos);
        outcomes.now(nowNanos);
        own.now(nowNanos);
        tick.now(nowNanos);
        EngineReadings readings = newest.effective(clockNanos);
        holds.now(nowNanos, NewestReadings.blockTokens(readings));
        releases.now(nowNanos, NewestReadings.blockTokens(readings));
        for (int rank = 0; rank < tree.count(); rank++) {
            Set<Long> removed = observers.rank(rank).takePinnedRemoved();
            if (!removed.isEmpty()) {
                outcomes.removed(rank, removed);
            }
        }
        noticeCalls();
        int work = mailbox.drain(this::accept) + mailbox.drainTouches(this::accept);
        mailbox.drainFirstTokens(report -> measuring.firstToken(report, nowNanos));
        if (work > 0) {
            readings = newest.effective(clockNanos);
        }
        pins.blockTokens(NewestReadings.blockTokens(readings));
        pins.poll(nowNanos, observers.certainForNanos());
        if (backends.chosen().traits().fading()) {
            Optional<SilentCache> silent = observers.silent();
            keepWarm.poll(
                    backends.chosen(),
                    new KeepWarm.Now(
                            nowNanos,
                            silent.map(SilentCache::allocated).orElseGet(events::allocated),
                            readings,
                            events.prefixes().needBeside(holds.heldEnds()),
                            silent.isPresent(),
                            silent.isPresent() ? 1 : events.surelyInvisible()));
        }
        probing.poll();
        boolean ticked = planNow || nowNanos >= nextTickNanos;
        if (ticked) {
            tick(readings, clockNanos);
            work++;
        }
        long batches = observers.batches();
        if (work > 0 || !answers.isEmpty() || (seenBatches != batches && nowNanos - picturedNanos >= PICTURE_NANOS)) {
            seenBatches = batches;
            picturedNanos = nowNanos;
            view = picture(readings);
        }
        answers.forEach(this::give);
        answers.clear();
        return work;
    }

    /** Away from this thread, unless nobody else is there any more. */
    private void give(Runnable answer) {
        try {
            acting.execute(answer);
        } catch (RejectedExecutionException closed) {
            answer.run();
        }
    }

    /**
     * Changes the settings from the next round on: its budget, automatic holds, what they have to save, and its tick.
     * The other settings need a new controller.
     */
    public CompletionStage<Boolean> change(ControllerSettings next) {
        return ask(answer -> {
            settings = next;
            tick.change(next);
            planNow = true;
            holds.complete(answer, true);
        });
    }

    /**
     * Has this hear of each hold that somebody who is finished gives back, on the controller's thread: as soon as it
     * ends, however long its unpin takes. To be set before the first poll.
     */
    public void onGivenBack(Consumer<HoldView> heard) {
        releases.onEnding(heard);
    }

    /** Has {@code wakeup} called, by any thread, when something entered the mailbox. */
    public void onMail(Runnable wakeup) {
        mailbox.onMail(wakeup);
    }

    /**
     * Says that the engine's vocabulary goes up to this token id at least, since its own tokenizer gave it; any thread.
     * Larger ones than it is known to have are not sent to it.
     */
    public void hasToken(long id) {
        mailbox.outcome(() -> events.tokens().seen(id));
    }

    /** Says which engine answers here; any thread. The ledger of another one is left alone. */
    public void engineIs(EngineIdentity identity) {
        mailbox.outcome(() -> {
            if (model.isPresent() && identity.model().isPresent() && !model.equals(identity.model())) {
                events.tokens().forget();
                learning.forget().ifPresent(this::learned);
            }
            model = identity.model().or(() -> model);
            pins.engineIs(identity);
            planNow = true;
        });
    }

    /**
     * Requests a hold; answered when it is held, refused, or known to have to wait, each with its reason. A hold about
     * which nothing is known after this patience is withdrawn, since nobody would know its id.
     *
     * <p>A request with a requester joins the living hold of its prefix that has requesters, or renews what its
     * requester has in it. So it is the one call that a router makes for each request that wants its prefix cached: it
     * needs to know no id, and may ask as often as it likes.
     */
    public CompletionStage<HoldView> request(HoldRequest request, Duration patience) {
        return ask(answer -> {
            if (steering.paused().isPresent()) {
                holds.fail(
                        answer, new RejectedExecutionException(steering.paused().get()));
                return;
            }
            if (joined(request, answer)) {
                return;
            }
            int most = mostBlocks(newest.asTold());
            boolean unknown = most == MOST_BLOCKS_OF_UNKNOWN;
            Optional<RuntimeException> refusal = holds.refusal(request, settings.engineId(), most, unknown);
            if (refusal.isPresent()) {
                holds.fail(answer, refusal.get());
                return;
            }
            Hold hold = holds.register(HoldOrigin.REQUESTED, events.withKnownTokens(request), "requested");
            holds.awaitDecision(hold.id(), answer, nowNanos + patience.toNanos());
            if (backends.chosen().traits().needs(Need.TOKENS)
                    && hold.request().tokens().isEmpty()) {
                outcomes.giveUp(hold, Planner.NAMES_ONLY + ": ask for it by its tokens");
            }
            planNow = true;
        });
    }

    private boolean joined(HoldRequest request, CompletableFuture<HoldView> answer) {
        try {
            Optional<Hold> joined = holds.join(request);
            joined.ifPresent(hold -> holds.awaitDecisionToo(hold, answer));
            return joined.isPresent();
        } catch (RejectedExecutionException full) {
            holds.fail(answer, full);
            return true;
        }
    }

    /** Requests a hold with a patience of a minute. */
    public CompletionStage<HoldView> request(HoldRequest request) {
        return request(request, Duration.ofMinutes(1));
    }

    /** The most blocks that a hold may have: those that the cache has, or a number while that is unknown. */
    public static int mostBlocks(EngineReadings readings) {
        double tokens = readings.capacityTokens().number().orElse(0);
        double perBlock = readings.blockTokens().number().orElse(0);
        return tokens >= 1 && perBlock >= 1
                ? (int) Math.clamp(tokens / perBlock, 1, Holds.MOST_BLOCKS)
                : MOST_BLOCKS_OF_UNKNOWN;
    }

    /** Answers the shared prefixes that are known, those first whose losses cost the most prefill. */
    public CompletionStage<List<PrefixReport>> prefixes() {
        return tell(() -> events.prefixes().all().stream()
                .map(prefix -> explainer.report(prefix, newest.blockTokens()))
                .toList());
    }

    /**
     * Starts to look for requests that share most of their tokens but differ early. That keeps tokens of prompts in
     * memory and takes time for each, so it is off by default; to be called before the first event.
     */
    public void watchHeads() {
        observers.watch(new UnstableHeads());
    }

    /**
     * Answers the requests that differ early, those that cost most first; none unless {@link #watchHeads} was called.
     */
    public CompletionStage<List<UnstableHead>> heads() {
        return tell(() -> observers.heads().map(UnstableHeads::found).orElse(List.of()));
    }

    /**
     * Has the engine store a prefix by a request of our own, for requests that are still to come: at once where none waits
     * there, and not at all else. It holds nothing and teaches nothing; the caller bounds how many of these there are.
     *
     * @param prefix with its tokens
     * @return with the engine's answer; of kind {@link Outcome.Kind#NOT_SENT} with the reason where it was not sent now, and
     *     {@link Outcome.Kind#MISSING} where none is sent at all: in a pause, on a dry run, or without a way to send
     */
    public CompletionStage<Outcome> warm(HoldRequest prefix) {
        return ask(answer -> {
            Optional<String> never = steering.paused()
                    .or(() -> steering.dryRun() ? Optional.of(Steering.DRY) : Optional.empty())
                    .or(() -> own.sends()
                            ? Optional.empty()
                            : Optional.of("the sidecar sends no requests of its own to this engine"));
            Optional<String> now = priming.hindrance(prefix, events.tokens().largest(), newest.asTold(), nowNanos);
            if (never.isPresent()) {
                holds.complete(answer, new Outcome(Outcome.Kind.MISSING, never.get()));
            } else if (now.isPresent()) {
                holds.complete(answer, new Outcome(Outcome.Kind.NOT_SENT, now.get()));
            } else {
                own.warm(prefix, outcome -> holds.complete(answer, outcome));
            }
        });
    }

    /** Answers the hottest prefixes that requests share or somebody wants, for other engines to be told of. */
    public CompletionStage<List<HotPrefix>> hottest(int most) {
        return tell(() -> events.prefixes().hottest(most, holds.heldEnds()));
    }

    /** Says what other engines have of the prefixes here, from the next plan on; any thread. */
    public void copies(Copies known) {
        mailbox.outcome(() -> tick.copies(known));
    }

    /**
     * Answers how soon what is used again, as this process counted it, for other engines to be told of; absent where
     * nothing is held by its rank, and before the engine has said how large its cache is.
     */
    public CompletionStage<Optional<Reuse>> reuse() {
        return tell(() -> learning.ranked().flatMap(RankedPrefixes::reuse));
    }

    /**
     * Takes what engines with a cache like this one counted, once: unless it took something before, or goes on from
     * what an earlier process counted, which also replaces it. It orders what could be held; whether holding pays is
     * learned here alone. Answered with whether it was taken.
     */
    public CompletionStage<Boolean> takeReuse(ReuseCounts others) {
        return tell(() -> learning.ranked().map(ranks -> ranks.take(others)).orElse(false));
    }

    /** Answers what was measured of the traffic of the cache that is decided about. */
    public CompletionStage<Traffic> traffic() {
        return tell(events::traffic);
    }

    /** Answers what is known of a prefix, what was decided about it, and why. */
    public CompletionStage<PrefixExplanation> explain(Prefix prefix) {
        return tell(() -> explainer.explain(prefix, newest.blockTokens()));
    }

    /**
     * Begins to note the prompts of the requests that store something, for at most so long; absent where several
     * examples run already.
     */
    public CompletionStage<Optional<ExampleView>> startExample(Duration length) {
        return tell(() -> events.examples().start(length));
    }

    /** Ends an example and answers what it saw; absent where there is none of this number. */
    public CompletionStage<Optional<ExampleView>> stopExample(long id) {
        return tell(() -> events.examples().stop(id));
    }

    /** Answers what an example has seen so far; absent where there is none of this number. */
    public CompletionStage<Optional<ExampleView>> example(long id) {
        return tell(() -> events.examples().view(id));
    }

    /** Answers one of the prefixes that an example saw, to be held; absent where it saw none of this number. */
    public CompletionStage<Optional<HoldRequest>> examplePrefix(long id, int number, Lease lease) {
        return tell(() -> events.examples().prefix(id, number, lease));
    }

    /**
     * Has a requested hold run for so long from now, more or less than before and never beyond its cap: for one of its
     * requesters, or for all. Answers the hold as it is then, unchanged where it is automatic, given up or over; absent
     * where there is none of this number, or none of that requester's.
     */
    public CompletionStage<Optional<HoldView>> extend(long holdId, Optional<String> requester, Duration length) {
        return tell(() -> holds.extend(holdId, requester, length));
    }

    /**
     * Ends what one requester wants of a hold. The hold is given up with the last of them, and that is answered when it
     * is unpinned; absent where that requester wants nothing of it.
     */
    public CompletionStage<Optional<HoldView>> leave(long holdId, String requester) {
        return ask(answer -> outcomes.left(holds.leave(holdId, requester), answer));
    }

    /** Leaves the hold of exactly this prefix, for a requester that does not know its id. */
    public CompletionStage<Optional<HoldView>> leave(HoldRequest prefix, String requester) {
        return ask(answer -> outcomes.left(holds.leave(prefix, requester), answer));
    }

    /**
     * Takes the application's word for what becomes of the conversation that begins with this prefix; answers the holds
     * that it concerned, as they are then. {@link Hint#OVER} is about what this requester wants, the others are
     * about every hold that use prolongs.
     *
     * @param requester empty for somebody without a name
     */
    public CompletionStage<List<HoldView>> hint(Hint hint, Prefix prefix, String requester) {
        if (hint == Hint.OVER) {
            return over(prefix, requester).thenApply(GivenBack::concerned);
        }
        return ask(answer -> {
            tick.hint(hint, prefix);
            holds.complete(
                    answer,
                    holds.hint(hint, prefix).stream()
                            .flatMap(hold -> holds.view(hold.id()).stream())
                            .toList());
        });
    }

    /**
     * Takes {@link Hint#OVER} as {@link #hint} does, and answers what that gave back, as soon as what ended is
     * unpinned or known to be pinned still.
     */
    public CompletionStage<GivenBack> over(Prefix prefix, String requester) {
        return ask(answer -> releases.over(prefix, requester, answer));
    }

    /**
     * Ends all that one requester wants, and answers what that gave back, as soon as what ended is unpinned or known to
     * be pinned still. A hold that others want as well stays for them.
     */
    public CompletionStage<GivenBack> releaseOf(String requester) {
        return ask(answer -> releases.of(requester, answer));
    }

    /** Ends one hold, whoever wants it, and answers what that gave back; nothing where there is none of this number. */
    public CompletionStage<GivenBack> giveBack(long holdId, String reason) {
        return ask(answer -> releases.one(holdId, reason, answer));
    }

    /** Notes that the engine was made to release what somebody else had it keep; any thread. */
    public void releasedUnknown(String why) {
        mailbox.outcome(() -> releases.unknown(why));
    }

    /**
     * Gives up, whoever wants it, every hold of this prefix and of what goes on from it, automatic ones as well, and
     * answers what that gave back, as soon as what ended is unpinned or known to be pinned still. What is shorter stays,
     * since others may share it. The prefix ranks as one whose conversation is over, and is held automatically again
     * once it was used.
     *
     * @param kept numbers of holds that stay all the same
     */
    public CompletionStage<GivenBack> releaseOn(Prefix prefix, Set<Long> kept) {
        return ask(answer -> releases.on(prefix, kept, answer));
    }

    /**
     * Reports that a request uses this prefix, as its router knows; any thread, as often as there are requests. It
     * prolongs at once the leases that uses prolong. What it teaches waits for half a minute, so that a request which
     * events show as well does not count twice. From one that they do not show is learned what a visible one would have
     * taught.
     *
     * @param prefix the engine's names of its blocks; it must not change any more
     * @return false where too many are waiting: this one was not taken, and nothing is lost but what it would have told
     */
    public boolean touched(Prefix prefix) {
        return mailbox.touch(prefix);
    }

    /**
     * Gives a hold up; answered when it is unpinned, or known to be pinned still, which leaves it expiring with the
     * reason; empty when there is no hold of this id.
     */
    public CompletionStage<Optional<HoldView>> release(long holdId) {
        return release(holdId, "released on request");
    }

    /** Releases a hold for the caller's own reason. */
    public CompletionStage<Optional<HoldView>> release(long holdId, String reason) {
        return ask(answer -> outcomes.release(holdId, reason, answer));
    }

    /**
     * Answers a number for a hold that waits elsewhere, until it can be {@linkplain #restore(long, HoldRequest,
     * Supplier, String) restored}.
     */
    public CompletionStage<Long> newHoldId() {
        return tell(holds::takeId);
    }

    /**
     * Takes a hold up again under the number and with the claims that it had in an earlier life of this process; any
     * thread. It waits for its prefix as any other, a pause included, and is nothing where there is a living hold of
     * that number or no memory left.
     */
    public void restore(long holdId, HoldRequest request, List<ClaimView> claims, String reason) {
        restore(holdId, request, () -> claims, reason);
    }

    /**
     * Restores a hold with claims whose leases run meanwhile: they are read when the hold is taken up, so that the way
     * there prolongs none. Where no claim is left, nothing is taken up.
     */
    public void restore(long holdId, HoldRequest request, Supplier<List<ClaimView>> claimsThen, String reason) {
        mailbox.outcome(() -> {
            planNow |= holds.restore(holdId, request, claimsThen.get(), reason);
        });
    }

    /**
     * Answers what was learned and outlives this process; absent while what an earlier one learned waits for the
     * engine, or nobody knows yet how large a block is.
     */
    public CompletionStage<Optional<Learned>> learned() {
        return tell(() -> learning.learned(newest.plausible()));
    }

    /**
     * Counts nothing of what the engine published until then, since {@link Learned#untilMicros() an earlier process}
     * learned from it. It is for a caller who knows that before events come, and what was learned only later; any
     * thread.
     */
    public void learnedUntil(long stampMicros) {
        mailbox.outcome(() -> events.learnedUntil(stampMicros));
    }

    /**
     * Takes up what an earlier process learned, which ended so long ago, as soon as the engine has told of what size
     * its blocks and its cache are; any thread. Answered then, with why it was dropped, or a part of it, where it was.
     */
    public CompletionStage<Optional<String>> restoreLearned(Learned earlier, Duration away) {
        CompletableFuture<Optional<String>> answer = new CompletableFuture<>();
        mailbox.outcome(() -> learning.restore(earlier, away, answer, nowNanos));
        return answer;
    }

    /**
     * Gives all holds up, those that an earlier life left included, and pauses holding until {@link #resumeHolding},
     * through restarts; answered once every unpin has an outcome. What is pending then stays in the ledger.
     */
    public CompletionStage<Released> releaseAll(String reason) {
        return ask(answer -> {
            pause(Optional.of("paused: " + reason));
            outcomes.giveUpAll(reason, answer);
        });
    }

    /**
     * Pauses holding until {@link #resumeHolding} and keeps what is held: nothing new is pinned, and nothing is
     * released but what outlives its lease or is given up. What the hard guard demands is released all the same. The
     * end of this process ends the pause.
     *
     * @return whether holding was not paused before; a pause that released everything stays as it is
     */
    public CompletionStage<Boolean> keepHolding(String reason) {
        return ask(answer -> {
            boolean pauses = steering.paused().isEmpty();
            if (pauses) {
                steer(steering.keeping("paused, and keeps what is held: " + reason));
                planNow = true;
                measuring.interrupted();
            }
            holds.complete(answer, pauses);
        });
    }

    /**
     * Decides everything and asks the engine for nothing, or acts again. What is pinned is released first, and its
     * holds wait; when it acts again, they are held with the next plan. The end of this process ends it.
     *
     * @return whether that was not so before
     */
    public CompletionStage<Boolean> dryRun(boolean on) {
        return ask(answer -> {
            boolean changes = steering.dryRun() != on;
            steer(steering.dry(on));
            planNow = true;
            if (changes) {
                measuring.interrupted();
            }
            if (changes && on) {
                outcomes.takeBack(Steering.DRY);
            }
            holds.complete(answer, changes);
        });
    }

    /** Gives all holds up because this process ends; the next one holds again. */
    public CompletionStage<Released> letGo(String reason) {
        return ask(answer -> {
            steer(steering.suspending("holding is suspended: " + reason));
            outcomes.giveUpAll(reason, answer);
        });
    }

    /** Ends the pause that {@link #releaseAll} or {@link #keepHolding} began; answers whether there was one. */
    public CompletionStage<Boolean> resumeHolding() {
        return ask(answer -> {
            boolean was = steering.paused().isPresent();
            guard.resume();
            pause(Optional.empty());
            planNow = true;
            holds.complete(answer, was);
        });
    }

    private void steer(Steering orders) {
        steering = orders;
        tick.steer(orders);
        measuring.steer(orders);
    }

    private void pause(Optional<String> reason) {
        steer(steering.pausing(reason));
        pauseWritten = backends.mayNeedLedger()
                ? pins.recordLater(new LedgerLine.Pause(reason.isPresent(), reason.orElse("")))
                : CompletableFuture.completedFuture(false);
    }

    /**
     * Answered with whether the last pause, or its end, would be known after a crash, as soon as it was tried to write
     * it; no release waits for that. Any thread, after the answer to what paused or resumed.
     */
    public CompletionStage<Boolean> pauseWritten() {
        return pauseWritten;
    }

    /** Hands in fresh readings; the newest replace those not yet looked at. */
    public void readings(EngineReadings readings) {
        mailbox.readings(readings);
    }

    /**
     * Hands in one request's first token, as a router or another sender of requests saw it; any thread. In a window
     * with enough of them they are used in place of the engine's own counters. Requests of the sidecar's own must not
     * be among them.
     *
     * @return whether it was taken; it is not where thousands wait already
     */
    public boolean firstToken(FirstToken report) {
        return mailbox.firstToken(report);
    }

    /**
     * Finds how much of a path the cache of one rank has; any thread, and no reader waits for events or keeps them
     * waiting.
     *
     * @return false where no such cache is followed
     */
    public boolean match(int rank, long[] path, int from, int count, Matches into) {
        List<EngineBlocks> followed = readable;
        if (rank >= followed.size()) {
            return false;
        }
        followed.get(rank).match(path, from, count, into);
        return true;
    }

    /** The newest published picture, which may be a tenth of a second behind the events; any thread. */
    public EngineView view() {
        return view;
    }

    @FunctionalInterface
    private interface Command<T> {
        void answerTo(CompletableFuture<T> answer);
    }

    private <T> CompletionStage<T> ask(Command<T> command) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        if (!mailbox.command(() -> command.answerTo(answer))) {
            answer.completeExceptionally(new RejectedExecutionException("The controller of engine "
                    + settings.engineId() + " has " + Mailbox.CAPACITY + " requests waiting: ask again later."));
        }
        return answer;
    }

    private <T> CompletionStage<T> tell(Supplier<T> what) {
        return ask(answer -> holds.complete(answer, what.get()));
    }

    private void accept(EngineReadings readings) {
        observers.silent().ifPresent(cache -> cache.readings(readings));
        if (newest.areOfAnotherProcess(readings)) {
            pins.engineIsAnotherProcess();
        }
        newest.take(own.usersOnly(readings, originNanos));
        planNow |= idle();
        probing.answering(readings.runningRequests().number().isPresent(), nowNanos);
        observers.readings(newest.asTold(), originNanos);
        learning.readings(newest.plausible(), nowNanos).ifPresent(this::learned);
        lookAt(newest.plausible());
        measuring.reading(newest.asTold(), nowNanos);
    }

    private void accept(Prefix used) {
        touched++;
        holds.touched(used);
        // Of several caches nobody knows which one the request went to, and of a silent one no event tells the rest.
        if (!tree.several() && observers.silent().isEmpty()) {
            events.touches().touched(used);
        }
    }

    private void learned(Learning.Done done) {
        holds.complete(done.answer(), done.dropped());
    }

    private void noticeCalls() {
        if (!pins.quiet()) {
            guard.callsUnderWay(nowNanos);
        }
    }

    private void lookAt(EngineReadings readings) {
        long asked = readings.usedTokens() instanceof Reading.Known used ? used.atNanos() - originNanos : nowNanos;
        long block = NewestReadings.blockTokens(readings);
        for (int rank = 0; rank < tree.count(); rank++) {
            long ours = pins.pinnedBlocks(rank) * block;
            guard.rank(rank)
                    .look(
                            newest.ofRank(readings, rank),
                            ours,
                            observers.rank(rank).batches(),
                            asked,
                            nowNanos);
        }
        if (block > 0 && guard.rested()) {
            long[] used = new long[tree.count()];
            for (int rank = 0; rank < used.length; rank++) {
                used[rank] = (guard.rank(rank).restedWith().orElseThrow() + block - 1) / block;
            }
            pins.rested(Arrays.stream(used).max().orElseThrow(), asked);
            outcomes.rested(used, block, asked);
        }
    }

    private void probeAgain() {
        probing.again();
    }

    private void engineForgot(int rank) {
        guard.rank(rank).emptied();
        boolean restarted = observers.restarts() != seenRestarts;
        seenRestarts = observers.restarts();
        if (restarted) {
            priming.engineRestarted(nowNanos);
            probing.engineRestarted();
        }
        outcomes.engineForgot(rank, restarted);
        measuring.interrupted();
    }

    private void tick(EngineReadings readings, long clockNanos) {
        planNow = false;
        nextTickNanos = nowNanos + Math.max(settings.tick().toNanos(), idle() ? IDLE_TICK_NANOS : 0);
        boolean stalled = guard.stalled(nowNanos);
        measuring.tick(nowNanos, stalled ? Optional.of(Planner.STALLED) : Optional.empty());
        priming.notice(nowNanos);
        outcomes.tellOfQueued();
        observers.silent().ifPresent(cache -> cache.keepOnly(holds.heldEnds()));
        holds.automaticLeases(tick::automaticLease);
        holds.age(own.busyNanos());
        if (backends.chosen().traits().needs(Need.TOKENS)) {
            holds.learnTokens(events::withKnownTokens);
        }
        Plan plan = tick.decide(readings, clockNanos);
        if (steering.dryRun()) {
            runner.runDry(plan, Steering.DRY, nowNanos);
        } else if (stalled) {
            pins.atOnce(() -> runner.run(plan, nowNanos));
        } else {
            runner.run(plan, nowNanos);
        }
        outcomes.withdrawWhereNothingCame();
        noticeCalls();
    }

    /**
     * Returns true if there is nothing that a plan could be about, so that polls may be as rare as readings; for the owning
     * thread only.
     */
    public boolean idle() {
        return !tick.holdsAutomatically() && holds.living().isEmpty() && pins.quiet();
    }

    private EngineView picture(EngineReadings readings) {
        return new EngineView(
                settings.engineId(),
                events.incarnation(),
                observers.count(),
                observers.certain(),
                observers.certainty(),
                observers.all().mapToInt(cache -> cache.tree().size()).sum(),
                observers.all().mapToInt(cache -> cache.tree().ghosts()).sum(),
                observers.memory(),
                observers.counters(),
                events.invisibleShare(),
                probing.found().orElse(Capabilities.NOT_ASKED),
                pins.view(),
                steering.paused(),
                steering.keepsHeld(),
                steering.dryRun(),
                readings,
                tick.budget(),
                holds.views(),
                tick.plan(),
                measuring.effect(),
                events.prefixes().sharing(),
                events.prefixes().evictions(),
                tick.automatic(),
                tick.byRankView(),
                holds.hints(),
                releases.view(),
                new EngineView.OwnRequests(
                        own.sent(), own.answered(), own.failed(), keepWarm.late(), own.timeWithinAnHour()),
                new EngineView.Touches(
                        touched, events.touches().shown(), events.touches().unseen(), mailbox.refusedTouches()),
                guard.stalls(),
                pins.areHard() ? guard.alarms(tick.budget(), nowNanos) : List.of());
    }
}
