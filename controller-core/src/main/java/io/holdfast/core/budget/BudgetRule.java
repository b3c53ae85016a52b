package io.holdfast.core.budget;

import io.holdfast.core.budget.Budget.Alarm;
import io.holdfast.core.budget.Budget.AlarmKind;
import io.holdfast.core.budget.Budget.Term;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** Computes from measurements how many tokens may be pinned; a pure function. */
public final class BudgetRule {
    /*
     * The hard guard
     * --------------
     * A hard pin takes memory from the engine for good. When the largest request no longer fits beside the pins, it
     * waits while nothing runs, and the engines that have such pins then stop for good; when it was admitted and its
     * answer does not fit, their scheduler dies. So the guard is arithmetic done before, not a reaction:
     *
     *     hard = capacity - largest request - slack - what somebody else has pinned
     *     largest request = min(context, capacity), prompt and answer together
     *     slack = 2 blocks + 1 % of the capacity
     *
     * It does not ask how much runs. When running requests need more than is free, the engine takes them back into its
     * queue, one after another, until those that are left have room; in the end one is left, and that one fits:
     *
     *  - A prompt and its answer have at most context - 2 tokens together (the engine shortens the answer), and the
     *    last token is never computed.
     *  - Admission asks for the uncached prompt and for the answer, of which it counts at most 4096 tokens, and wants
     *    less than is free or evictable. What it does not count the answer needs all the same, so the guard counts all
     *    of it.
     *  - Memory is given in whole blocks: the request takes its size rounded up, one block at most beyond it. A prefill
     *    asks for a block more than it takes, which evicts and never fails; a decode step that fills a block takes the
     *    next one, which the rounding has counted; releases that admit with a block to spare need the second.
     *  - What a request finds in the cache under our pins it does not need again, and what it finds elsewhere is locked
     *    by it alone. Either makes it smaller.
     *
     * So 1 block is what rounding needs, the second is what admission may ask, and the percent is for numbers that are
     * half a second old. Pinned to the last token that rounding leaves, the emulated branch serves every load; one
     * block more stops it.
     *
     * New pins
     * --------
     * One request cannot be taken back: a prompt that is prefilled in chunks. Its memory was promised when it began,
     * out of what could be evicted, and it dies, with the scheduler, when a pin took that in between. Alone it fits by
     * the guard; beside others it does so only if the pins leave what runs untouched. So while requests run or wait, a
     * new pin also has to leave the largest request beside them:
     *
     *     new = capacity - (used - ours) - largest request - slack
     *
     * This releases nothing, since a pin that is there was there when the promise was made.
     *
     * Written sizes
     * -------------
     * The operator may know better than the engine what clients send. It takes both numbers: whatever the prompt, an
     * answer may fill the context, and whatever the answer, a prompt may. A request that was seen and is larger wins
     * from then on.
     *
     * Pins without an unpin
     * ---------------------
     * What cannot be taken back is there until the engine evicts it. It takes no memory for good, and yet what is
     * pinned so goes last, so the share that the operator wrote for automatic holds bounds all pins of such a backend,
     * requested ones too.
     *
     * The automatic bound of hard pins
     * --------------------------------
     * It is tighter: holding must also pay, and a cache without room for what passes through serves nobody. Its room
     * leaves out what running requests hold, and what those may still add, by the length of measured answers times the
     * most requests that ran together in the last minute: a number that jumps with every request would hold and let go
     * by turns. The length is the 99th percentile where events showed enough answers; else twice the mean by the
     * engine's own counters, which know of short answers too, and of all ranks together, and outlive the sidecar.
     *
     * The automatic bound of what can be evicted
     * ------------------------------------------
     * The engine itself takes back what it needs, so no room has to be left for requests: only the operator's share
     * bounds, for the sake of what others find in the rest of the cache. Where the engine itself bounds what may be held
     * in all, no more is planned than that: it would only be refused.
     *
     * Unknown is not zero
     * -------------------
     * A reading that is absent, impossible or older than ten seconds makes its term unknown; an unknown term allows
     * nothing new, and takes nothing away.
     */
    static final long STALE_NANOS = 10_000_000_000L;
    private static final int ENOUGH_ANSWERS = 100;
    private static final int ENOUGH_COUNTED = 20;

    /** Number of prompts beyond what is held that have to find room beside automatic holds. */
    public static final int RESERVED_PROMPTS = 8;

    private final BudgetSettings settings;
    private final EngineReadings readings;
    private final Observed observed;
    private final long nowNanos;
    private final List<Alarm> alarms = new ArrayList<>();

    private BudgetRule(BudgetSettings settings, EngineReadings readings, Observed observed, long nowNanos) {
        this.settings = settings;
        this.readings = readings;
        this.observed = observed;
        this.nowNanos = nowNanos;
    }

    /** Tells a caller of {@link #known} which reading is missing. */
    private static final class MissingReading extends Exception {
        private static final long serialVersionUID = 1;

        final String why;

        MissingReading(String why) {
            super(why, null, false, false);
            this.why = why;
        }
    }

    /**
     * Computes the bounds.
     *
     * @param readings without what cannot be true
     * @param pinnedBlocks blocks that the engine holds, or may hold, for us
     * @param hardPins whether pins take memory for good, so that the guard applies
     * @param nowNanos on the clock of the readings
     */
    public static Budget compute(
            BudgetSettings settings,
            EngineReadings readings,
            Observed observed,
            long pinnedBlocks,
            boolean hardPins,
            long nowNanos) {
        Pinning pinning = new Pinning(hardPins, true, OptionalLong.empty());
        return compute(settings, readings, observed, pinnedBlocks, pinning, nowNanos);
    }

    /**
     * Qualities of the backend that pins.
     *
     * @param hard whether its pins take memory for good
     * @param releasable whether pins can be taken back; where not, requested holds stay within the operator's share as
     *     well
     * @param mostTokens how much the engine lets it hold in all, where it says so
     */
    public record Pinning(boolean hard, boolean releasable, OptionalLong mostTokens) {}

    /** Computes the budget. */
    public static Budget compute(
            BudgetSettings settings,
            EngineReadings readings,
            Observed observed,
            long pinnedBlocks,
            Pinning pinning,
            long nowNanos) {
        return new BudgetRule(settings, readings, observed, nowNanos).compute(pinnedBlocks, pinning);
    }

    /**
     * Returns what is left free beside pins and the largest request: rounding to blocks, and numbers that are a little
     * old.
     */
    public static long slack(long capacity, long blockTokens) {
        return 2 * blockTokens + (capacity + 99) / 100;
    }

    private Budget compute(long pinnedBlocks, Pinning pinning) {
        long pinned = pinnedBlocks * (long) readings.blockTokens().number().orElse(0);
        List<Term> terms = new ArrayList<>();
        Arithmetic soft = () -> soft(pinning.mostTokens);
        terms.add(term(Budget.HARD_GUARD, pinning.hard ? this::hardGuard : soft));
        terms.add(term(Budget.NEW_PINS, pinning.hard ? () -> newPins(pinned) : soft));
        long hard = allowed(terms.get(0));
        terms.add(term(Budget.SHARE, this::share));
        long beside = Math.min(hard, allowed(terms.get(1)));
        long fresh = pinning.releasable ? beside : Math.min(beside, allowed(terms.get(2)));
        if (pinning.hard) {
            terms.add(term("0.8 of the room", () -> eightTenths(pinned)));
            terms.add(term(Budget.ROOM, () -> new Bound(room(pinned), "capacity less what running requests take")));
            terms.add(term(Budget.RESERVE, () -> reserve(pinned)));
            terms.add(term("room less growth", () -> growth(pinned)));
        }
        long automatic = terms.stream().mapToLong(BudgetRule::allowed).min().orElse(0);
        return new Budget(hard, fresh, automatic, pinned, observed.foreignTokens(), terms, alarms);
    }

    private static long allowed(Term term) {
        return term.tokens().orElse(0);
    }

    /** A bound's tokens and its arithmetic. */
    private record Bound(long tokens, String why) {}

    @FunctionalInterface
    private interface Arithmetic {
        Bound apply() throws MissingReading;
    }

    private static Term term(String name, Arithmetic arithmetic) {
        try {
            Bound bound = arithmetic.apply();
            return new Term(name, OptionalLong.of(Math.max(0, bound.tokens)), bound.why);
        } catch (MissingReading missing) {
            return new Term(name, OptionalLong.empty(), missing.why);
        }
    }

    private Bound hardGuard() throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        long slack = slack(capacity, known("blockTokens", readings.blockTokens()));
        LargestRequest largest = largestRequest();
        long foreign = observed.foreignTokens();
        long bound = capacity - largest.tokens() - slack - foreign;
        largest.broken().ifPresent(sentence -> alarms.add(new Alarm(AlarmKind.WRITTEN_SIZE_BROKEN, sentence)));
        if (foreign > 0 && observed.foreignAtRest()) {
            alarms.add(new Alarm(
                    AlarmKind.FOREIGN_PINS,
                    foreign + " tokens are pinned that are not ours, since the engine says that they cannot be evicted"
                            + " although nothing runs: release them where they were made, or clear the cache"));
        }
        String why = "capacity " + capacity + " - largest request " + largest.tokens() + " (" + largest.why()
                + ") - slack " + slack
                + (foreign == 0
                        ? ""
                        : (observed.foreignAtRest()
                                        ? " - pinned by others "
                                        : " - not evictable and not ours, at its smallest of the last hour, ")
                                + foreign)
                + " = " + bound;
        if (capacity - largest.tokens() - slack <= 0) {
            String noRoom = noRoom(capacity, largest);
            alarms.add(new Alarm(AlarmKind.NO_ROOM, noRoom));
            return new Bound(bound, noRoom);
        }
        return new Bound(bound, why);
    }

    private String noRoom(long capacity, LargestRequest largest) {
        String what = settings.written().isEmpty() ? "context " : "largest request ";
        return String.format(java.util.Locale.ROOT, "no room: %s%,d of %,d", what, largest.tokens(), capacity)
                + " tokens of cache, so a pin could keep the largest request out for good; start the engine with a"
                + " smaller "
                + settings.contextFlag()
                + ", or write the largestPromptTokens and maxOutputTokens of your clients, which risks that a larger"
                + " request stops the engine";
    }

    private Bound newPins(long pinned) throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        long slack = slack(capacity, known("blockTokens", readings.blockTokens()));
        long used = known("usedTokens", readings.usedTokens());
        long busy = known("runningRequests", readings.runningRequests())
                + known("waitingRequests", readings.waitingRequests());
        long beside = beside(used, pinned);
        LargestRequest largest = largestRequest();
        long bound = capacity - beside - largest.tokens() - slack;
        return new Bound(
                bound,
                "capacity " + capacity + " - in use beside our pins " + beside + " - largest request "
                        + largest.tokens() + " - slack " + slack + " = " + bound
                        + (busy == 0
                                ? ": what is in use while nothing runs may be pinned by somebody else"
                                : ": new pins take no memory that was promised to what runs"));
    }

    private Bound soft(OptionalLong most) throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        if (most.isPresent() && most.getAsLong() < capacity) {
            return new Bound(
                    most.getAsLong(),
                    "pins of this backend can be evicted, and the engine lets it hold " + most.getAsLong() + " of "
                            + capacity + " tokens");
        }
        return new Bound(capacity, "pins of this backend can be evicted: only the capacity of " + capacity + " bounds");
    }

    private LargestRequest largestRequest() throws MissingReading {
        long limit = Math.min(
                known("contextTokens", readings.contextTokens()), known("capacityTokens", readings.capacityTokens()));
        return LargestRequest.of(settings.written(), observed.prompts(), limit);
    }

    private Bound share() throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        long bound = (long) (settings.share() * capacity);
        return new Bound(bound, "share " + settings.share() + " of the capacity " + capacity + " = " + bound);
    }

    private long room(long pinned) throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        long used = known("usedTokens", readings.usedTokens());
        return capacity - beside(used, pinned);
    }

    /**
     * Both numbers are of the moment when the engine was asked: a pin that was made or taken back since is in neither.
     */
    private long beside(long used, long pinned) {
        return observed.beside().orElse(Math.max(0, used - pinned));
    }

    private Bound eightTenths(long pinned) throws MissingReading {
        long room = room(pinned);
        long bound = room * 8 / 10;
        return new Bound(bound, "0.8 of the room " + room + " beside running requests = " + bound);
    }

    private Bound reserve(long pinned) throws MissingReading {
        long room = room(pinned);
        if (observed.need().isEmpty()) {
            throw new MissingReading("no prompt was seen yet, so what nine of ten of them need is unknown");
        }
        long need = observed.need().getAsLong();
        long bound = room - RESERVED_PROMPTS * need;
        return new Bound(
                bound,
                "room " + room + " - " + RESERVED_PROMPTS + " x " + need
                        + ", which nine of ten prompts need beyond what is held = " + bound);
    }

    private Bound growth(long pinned) throws MissingReading {
        long room = room(pinned);
        Bound answer = answer();
        long bound = room - observed.runningPeak() * answer.tokens;
        return new Bound(
                bound,
                "room " + room + " - " + observed.runningPeak() + " requests, the most that ran in a minute, x "
                        + answer.tokens + " (" + answer.why + ") = " + bound);
    }

    /** Returns how much a running request may still generate. */
    private Bound answer() throws MissingReading {
        if (observed.answers().count() >= ENOUGH_ANSWERS) {
            return new Bound(
                    observed.answers().p99(), "the p99 of " + observed.answers().count() + " answers");
        }
        OptionalDouble mean = countedMean();
        if (mean.isPresent()) {
            long twice = (long) Math.ceil(2 * mean.getAsDouble());
            return new Bound(
                    settings.written()
                            .map(sizes -> Math.min(twice, sizes.maxOutputTokens()))
                            .orElse(twice),
                    "twice the mean answer by the engine's counters");
        }
        if (settings.written().isPresent()) {
            return new Bound(settings.written().get().maxOutputTokens(), "maxOutputTokens");
        }
        if (observed.runningPeak() == 0) {
            return new Bound(0, "none ran");
        }
        return new Bound(
                known("contextTokens", readings.contextTokens()),
                "the context, since fewer than " + ENOUGH_ANSWERS
                        + " answers were seen in an hour, and the engine counted" + " fewer than " + ENOUGH_COUNTED
                        + "; write largestPromptTokens and maxOutputTokens to bound it");
    }

    /** Each answer has one token more than it has gaps between tokens. */
    private OptionalDouble countedMean() {
        double answers = readings.ttftCount().number().orElse(0);
        OptionalDouble gaps = readings.itlCount().number();
        return answers >= ENOUGH_COUNTED && gaps.isPresent()
                ? OptionalDouble.of(1 + gaps.getAsDouble() / answers)
                : OptionalDouble.empty();
    }

    private long known(String name, Reading reading) throws MissingReading {
        return switch (reading) {
            case Reading.Unknown unknown ->
                throw new MissingReading("the reading " + name + " is unknown: " + unknown.why());
            case Reading.Known known
            when !fresh(known, nowNanos) ->
                throw new MissingReading("the reading " + name + " is " + (nowNanos - known.atNanos()) / 1_000_000_000
                        + " s old: " + known.source());
            case Reading.Known known -> (long) known.value();
        };
    }

    private static boolean fresh(Reading reading, long nowNanos) {
        return reading instanceof Reading.Known known && nowNanos - known.atNanos() <= STALE_NANOS;
    }
}
