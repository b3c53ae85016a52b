package io.holdfast.core;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Room;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.budget.EngineGuard;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.pin.Pins;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.plan.Copies;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.PlanInput;
import io.holdfast.core.plan.Planner;
import io.holdfast.core.plan.Ranking;
import io.holdfast.core.plan.Ranks;
import io.holdfast.core.plan.Saving;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Decides what is pinned and released next, and looks once more at a pin whose call is about to leave.
 *
 * <p>It puts together all that a plan is made of, from what events and readings told until now, and asks
 * {@link Planner}. It changes no hold and calls nobody; {@link PlanRunner} carries out what it decided.
 */
final class Tick {
    private final Backends backends;
    private final EngineObservers observers;
    private final EngineObserver events;
    private final EngineCaches tree;
    private final NewestReadings newest;
    private final Holds holds;
    private final Pins pins;
    private final OwnRequests own;
    private final Priming priming;
    private final Probing probing;
    private final EngineGuard guard;
    private final Measuring measuring;

    private ControllerSettings settings;
    private Steering steering;
    private Optional<HoldsByRank> byRank;
    private long nowNanos;
    private long ticks;
    private Budget budget = Budget.none();
    private Plan plan = new Plan(0, List.of());
    private Copies copies = Copies.NONE;

    /** Creates the decisions about the engine that all of these are parts of. */
    Tick(
            ControllerSettings settings,
            Steering steering,
            Backends backends,
            EngineObservers observers,
            NewestReadings newest,
            Holds holds,
            Pins pins,
            OwnRequests own,
            Priming priming,
            Probing probing,
            EngineGuard guard,
            Measuring measuring) {
        this.settings = settings;
        this.steering = steering;
        this.backends = backends;
        this.observers = observers;
        this.events = observers.first();
        this.tree = observers.trees();
        this.newest = newest;
        this.holds = holds;
        this.pins = pins;
        this.own = own;
        this.priming = priming;
        this.probing = probing;
        this.guard = guard;
        this.measuring = measuring;
        this.byRank = byRank(settings);
    }

    private Optional<HoldsByRank> byRank(ControllerSettings now) {
        return now.automaticHolds() == AutomaticHolds.OFF
                ? Optional.empty()
                : Optional.of(new HoldsByRank(events, holds, backends, now.automaticLease()));
    }

    void change(ControllerSettings next) {
        settings = next;
        if (byRank.isEmpty()) {
            byRank = byRank(next);
        }
    }

    void steer(Steering orders) {
        steering = orders;
    }

    void now(long nanos) {
        nowNanos = nanos;
    }

    void copies(Copies known) {
        copies = known;
    }

    void hint(Hint hint, Prefix prefix) {
        byRank.ifPresent(rank -> rank.hint(hint, prefix));
    }

    /** Returns the ranks of what is cached; absent while automatic holds were never on. */
    Optional<HoldsByRank> byRank() {
        return byRank;
    }

    Budget budget() {
        return budget;
    }

    Plan plan() {
        return plan;
    }

    /** Decides by these readings, and remembers the decision. */
    Plan decide(EngineReadings readings, long clockNanos) {
        ticks++;
        budget = budget(readings, clockNanos, pins.areHard());
        List<SharedPrefix> candidates = candidates();
        if (backends.chosen().room(room(readings, clockNanos, candidates))) {
            probing.again();
        }
        Ranking ranking = byRank.filter(rank -> holdsAutomatically())
                .map(rank -> rank.ranking(readings, budget, tree.several(), nowNanos))
                .orElse(Ranking.NONE);
        plan = Planner.plan(new PlanInput(
                new PlanInput.Moment(ticks, nowNanos, holds.nextId()),
                new PlanInput.Cache(
                        tree,
                        ranks(),
                        events.prefixes(),
                        (long) readings.capacityTokens().number().orElse(0),
                        NewestReadings.blockTokens(readings),
                        events.tokens().largest()),
                new PlanInput.Means(
                        pins.traits(),
                        probing.found(),
                        hindrance(),
                        priming.hindrance(
                                observers.certain() || observers.silent().isPresent(), readings, nowNanos)),
                new PlanInput.Limits(budget, guard.stalled(nowNanos), pins.leaving(), pins.freeing()),
                new PlanInput.Wishes(holds.living(), measuring.off(), measuring.window()),
                new PlanInput.Automatic(
                        holdsAutomatically(),
                        candidates,
                        Lease.longestAutomatic(settings.automaticLease()),
                        ranking,
                        new Saving(events.prefill(), settings.leastSaving()),
                        copies)));
        if (steering.keepsHeld()) {
            plan = plan.keeping(steering.paused().orElse(""));
        }
        byRank.ifPresent(rank -> rank.planned(plan));
        return plan;
    }

    boolean holdsAutomatically() {
        return settings.automaticHolds().with(backends.chosen().traits());
    }

    EngineView.Automatic automatic() {
        String backend = backends.chosen().name();
        if (observers.silent().isPresent()) {
            return new EngineView.Automatic(
                    false,
                    "nothing is held automatically at an engine without KV events, whatever automaticHolds says");
        }
        boolean on = holdsAutomatically();
        String why = switch (settings.automaticHolds()) {
            case OFF -> "automatic holds are off (automaticHolds: false)";
            case ON -> "automatic holds are on (automaticHolds: true)";
            case WHERE_EVICTABLE ->
                on
                        ? "automatic holds are on (automaticHolds: auto), since the engine can evict what " + backend
                                + " holds"
                        : probing.found().filter(Capabilities::canPin).isEmpty()
                                ? "automatic holds wait for a way to hold (automaticHolds: auto)"
                                : "automatic holds are off (automaticHolds: auto), since what " + backend
                                        + " pins takes memory for good: automaticHolds: true switches them on";
        };
        String off = on
                ? measuring
                        .off()
                        .map(reason -> ", and off just now: " + reason.said())
                        .orElse("")
                : "";
        return new EngineView.Automatic(on, why + off);
    }

    EngineView.ByRank byRankView() {
        return byRank.filter(rank -> holdsAutomatically())
                .map(HoldsByRank::view)
                .orElse(EngineView.ByRank.OFF);
    }

    /**
     * Returns the lease of a prefix whose uses come as far apart as they did lately; one that nobody shares has no gaps
     * of its own.
     */
    Lease automaticLease(long lastBlock) {
        return automaticLease(events.prefixes()
                .find(lastBlock)
                .map(prefix -> Duration.ofNanos(prefix.gapNanos()))
                .orElse(Duration.ZERO));
    }

    private Lease automaticLease(Duration gap) {
        return Lease.automatic(settings.automaticLease(), gap);
    }

    /** Returns the budget of the tightest cache. What is pinned counts in each as if all of it were there. */
    private Budget budget(EngineReadings readings, long clockNanos, boolean hardPins) {
        List<Budget> budgets = new ArrayList<>();
        for (int rank = 0; rank < tree.count(); rank++) {
            EngineObserver cache = observers.rank(rank);
            budgets.add(BudgetRule.compute(
                    settings.budget(),
                    newest.ofRank(readings, rank)
                            .but()
                            .ttftCount(readings.ttftCount())
                            .itlCount(readings.itlCount())
                            .build(),
                    guard.rank(rank).observed(cache.prompts(), need(cache, readings), cache.answers(), nowNanos),
                    pins.pinnedBlocks(),
                    new BudgetRule.Pinning(
                            hardPins,
                            backends.chosen().traits().releasable(),
                            probing.found().map(Capabilities::mostTokens).orElse(OptionalLong.empty())),
                    clockNanos));
        }
        return Budget.tightest(budgets);
    }

    /** Returns what the guard leaves to pins that take memory for good, whatever is chosen now. */
    private Room room(EngineReadings readings, long clockNanos, List<SharedPrefix> candidates) {
        Budget guarded = pins.areHard() ? budget : budget(readings, clockNanos, true);
        long largest = Stream.concat(
                        holds.living().stream()
                                .filter(hold -> hold.state() != HoldState.EXPIRING)
                                .map(hold -> hold.request().blocks()),
                        candidates.stream().map(SharedPrefix::blocks))
                .mapToLong(Integer::longValue)
                .max()
                .orElse(0);
        return new Room(
                guarded.knowsHard() ? OptionalLong.of(guarded.hardTokens()) : OptionalLong.empty(),
                largest * NewestReadings.blockTokens(readings),
                guarded.hardWhy(),
                guarded.pinnedTokens());
    }

    private Ranks ranks() {
        return pins.onRanks()
                ? new Ranks(
                        observers
                                .all()
                                .map(cache -> new Ranks.Rank(cache.tree(), cache.prefixes()))
                                .toList(),
                        pins.ends())
                : Ranks.ONE;
    }

    /** Returns the tokens that nine of ten prompts of a cache need beyond what is held, or is about to be. */
    private OptionalLong need(EngineObserver cache, EngineReadings readings) {
        Set<Long> held = holds.heldEnds();
        plan.lines().stream().filter(line -> line.action() == Plan.Action.PIN).forEach(line -> held.add(line.prefix()));
        OptionalLong blocks = cache.prefixes().needBeside(held);
        return blocks.isPresent() ? OptionalLong.of(blocks.getAsLong() * NewestReadings.blockTokens(readings)) : blocks;
    }

    private List<SharedPrefix> candidates() {
        if (!holdsAutomatically()) {
            return List.of();
        }
        Map<Long, SharedPrefix> candidates = new LinkedHashMap<>();
        events.prefixes()
                .worthHolding(prefix -> automaticLease(Duration.ofNanos(prefix.gapNanos()))
                        .length()
                        .toNanos())
                .forEach(prefix -> candidates.put(prefix.lastBlock(), prefix));
        holds.living().stream()
                .filter(Hold::automatic)
                .flatMap(hold -> events.prefixes().find(hold.end()).stream())
                // The others are held by their rank.
                .filter(SharedPrefix::worthHolding)
                .forEach(prefix -> candidates.putIfAbsent(prefix.lastBlock(), prefix));
        candidates.keySet().removeIf(holds::isLetGo);
        return List.copyOf(candidates.values());
    }

    private Optional<String> hindrance() {
        if (steering.paused().isPresent()) {
            return steering.paused();
        }
        if (observers.silent().filter(cache -> !cache.counted()).isPresent()) {
            return Optional.of(
                    "the engine has not reported how many requests and prompt tokens it served, by which alone"
                            + " its cache is followed without KV events: it does so after its first request, where"
                            + " its metrics are switched on");
        }
        if (pins.areHard() && guard.hindrance(nowNanos).isPresent()) {
            return guard.hindrance(nowNanos);
        }
        return pins.hindrance()
                .or(this::notEveryRank)
                .or(() -> probing.found().isPresent()
                        ? backends.chosen().hindrance()
                        : Optional.of("the backend " + backends.chosen().name() + " was not probed yet"));
    }

    /** A pin reaches every cache, so one that is not known may have the block anywhere. */
    private Optional<String> notEveryRank() {
        if (!backends.chosen().traits().needs(Need.INSERTION_END)) {
            return Optional.empty();
        }
        int reached = probing.found().map(Capabilities::caches).orElse(1);
        if (reached > tree.count()) {
            return Optional.of("a pin reaches the caches of all " + reached + " data-parallel ranks, and only "
                    + tree.count()
                    + " of them are followed: restart the sidecar when the engine's events of all of them"
                    + " can be reached");
        }
        OptionalInt late = tree.late();
        if (late.isPresent()) {
            return Optional.of(
                    tree.several()
                            ? "a pin reaches every data-parallel rank, and events of rank " + late.getAsInt()
                                    + " came late a moment ago, so what it has is not certain"
                            : "events came late a moment ago, so where the engine's requests end is not certain");
        }
        return tree.several() && !observers.certain()
                ? Optional.of("a pin reaches every data-parallel rank, and what one of them has is not certain: "
                        + observers.certainty())
                : Optional.empty();
    }

    /** Returns the reason why a block that was planned to be pinned is not, now that its call is about to leave. */
    Optional<String> lastLook(Backend backend, long block) {
        if (!backend.equals(backends.chosen().itself())) {
            return Optional.of("another way to hold was chosen meanwhile");
        }
        if (steering.dryRun()) {
            return Optional.of(Steering.DRY);
        }
        BackendTraits traits = backend.traits();
        Optional<String> hindrance = hindrance();
        if (hindrance.isPresent()) {
            return hindrance;
        }
        if (traits.needs(Need.TOKENS) && !tree.resident(block)) {
            // Sent all the same it would be computed anew, which is priming, and that is rationed.
            return Optional.of("it was evicted before its turn came");
        }
        if (traits.fading() && own.timeWithinAnHour().compareTo(settings.ownRequestsAnHour()) >= 0) {
            return Optional.of("the sidecar's own requests took "
                    + settings.ownRequestsAnHour().toSeconds() + " s within an hour, which is the most");
        }
        if (traits.needs(Need.INSERTION_END) && !tree.endedInsertion(block)) {
            return Optional.of("its last block left the cache, or ends no insertion any more");
        }
        if (traits.needs(Need.UNAMBIGUOUS_HASH) && tree.ambiguous(block)) {
            return Optional.of("the hash of its last block may name two blocks of the engine by now");
        }
        return traits.takesMemory() ? noRoomLeft() : Optional.empty();
    }

    private Optional<String> noRoomLeft() {
        if (guard.stalled(nowNanos)) {
            return Optional.of(Planner.STALLED);
        }
        Optional<String> unknown = budget.hardUnknown();
        if (unknown.isPresent()) {
            return unknown.map(why -> "nothing new is pinned: " + why);
        }
        boolean tooMuch = pins.pinnedBlocks() * newest.blockTokens() > budget.hardTokens();
        return tooMuch ? Optional.of("the bound has come down: " + budget.hardWhy()) : Optional.empty();
    }
}
