package io.holdfast.core;

import io.holdfast.core.Budget.Term;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** How many tokens may be pinned, from what was measured; a pure function. */
final class BudgetRule {
    /*
     * Why the guard is what it is
     * ---------------------------
     * A hard pin takes memory from the engine for good. When the largest request no longer fits beside the pins, it waits
     * while nothing runs, and on the engines that have such pins the server then stops for good: neither an unpin nor a
     * flush brings it back. So the guard is arithmetic done before, not a reaction:
     *
     *     hard = capacity - largest prompt - min(max output, 4096)       the largest request is admitted when nothing runs
     *                     - 2 blocks - 1 % of capacity                   rounding to blocks; admission compares with <
     *                     - max(running x max output,                    what runs may still add by decoding
     *                           max output - 4096)                       what the last one standing may add after that
     *
     * Admission counts at most 4096 output tokens of a request, whatever it asked for; decoding knows no such cap and
     * goes on to the whole output. What this promises is one request: the largest one is admitted to an empty engine, and
     * alone it gets to its end beside the pins. It does not promise that requests never run out of memory together: the
     * prompts of those that run are not subtracted, since how long they are is not known, only how many they are.
     * When together they need more than is free, the engine takes requests back into its queue, one after another, and
     * the last one standing is the one request that is promised. The growth term makes that rare, not impossible.
     *
     * Largest prompt: what the last hour showed, or twice its p99 if that is more, once a hundred samples say so; until
     * then the longest prompt that the engine accepts. Measured sizes are sizes only while every chain of the hour led
     * to its root: one that began under a block that was never announced may have been a prompt of any length, so while
     * there is one in the hour, what the engine accepts is assumed again. A promise by the operator takes the place of that floor; a prompt
     * that was seen and is larger wins over the promise. Whatever is assumed, it is at most what the engine accepts.
     *
     * The automatic bound is tighter: holding must also pay, and a cache that has no room left for what passes through
     * serves nobody. Its room leaves out what running requests hold, which the engine reports together with our pins.
     *
     * Unknown is not zero
     * -------------------
     * A reading that is absent or older than ten seconds makes its term unknown; an unknown term allows nothing new, and
     * takes nothing away.
     */
    static final long STALE_NANOS = 10_000_000_000L;
    static final int ENOUGH_PROMPTS = 100;
    private static final long ADMISSION_OUTPUT = 4096;

    private final ControllerSettings settings;
    private final EngineReadings readings;
    private final PromptSizes.Facts prompts;
    private final long nowNanos;

    private BudgetRule(ControllerSettings settings, EngineReadings readings, PromptSizes.Facts prompts, long nowNanos) {
        this.settings = settings;
        this.readings = readings;
        this.prompts = prompts;
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
     * @param pinnedBlocks blocks that the engine holds, or may hold, for us
     * @param hardPins whether pins take memory for good, so that the guard applies
     * @param nowNanos on the clock of the readings
     */
    static Budget compute(
            ControllerSettings settings,
            EngineReadings readings,
            PromptSizes.Facts prompts,
            long pinnedBlocks,
            boolean hardPins,
            long nowNanos) {
        return new BudgetRule(settings, readings, prompts, nowNanos).compute(pinnedBlocks, hardPins);
    }

    /** What the largest request needs beside its prompt to be admitted: its output as admission counts it, and slack. */
    static long besidePrompt(ControllerSettings settings, long capacity, long blockTokens) {
        return Math.min(settings.maxOutputTokens(), ADMISSION_OUTPUT) + 2 * blockTokens + (capacity + 99) / 100;
    }

    /** Output that admission did not count and that one request alone may still add. */
    static long beyondAdmission(ControllerSettings settings) {
        return Math.max(0, settings.maxOutputTokens() - ADMISSION_OUTPUT);
    }

    private Budget compute(long pinnedBlocks, boolean hardPins) {
        long pinned = pinnedBlocks * (long) readings.blockTokens().number().orElse(0);
        List<Term> terms = new ArrayList<>();
        terms.add(hardPins ? term(Budget.HARD_GUARD, this::hardGuard) : term(Budget.HARD_GUARD, this::soft));
        long hard = allowed(terms.get(0));
        terms.add(term("operator's share", this::share));
        terms.add(term("0.8 of the room", () -> eightTenths(pinned)));
        terms.add(term("room less 8 p90 prompts", () -> reserve(pinned)));
        long automatic = terms.stream().mapToLong(BudgetRule::allowed).min().orElse(0);
        return new Budget(hard, automatic, pinned, terms);
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
        long block = known("blockTokens", readings.blockTokens());
        long running = known("runningRequests", readings.runningRequests());
        Bound prompt = largestPrompt();
        long beside = besidePrompt(settings, capacity, block);
        long growth = running * settings.maxOutputTokens();
        long last = beyondAdmission(settings);
        long bound = capacity - prompt.tokens - beside - Math.max(growth, last);
        return new Bound(
                bound,
                "capacity " + capacity + " - largest prompt " + prompt.tokens + " (" + prompt.why
                        + ") - output and slack " + beside
                        + (growth >= last
                                ? " - decode growth of " + running + " running " + growth
                                : " - the last request's output beyond what admission counts " + last)
                        + " = " + bound);
    }

    private Bound soft() throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        return new Bound(capacity, "pins of this backend can be evicted: only the capacity of " + capacity + " bounds");
    }

    private Bound largestPrompt() throws MissingReading {
        long tokens;
        String why;
        if (settings.largestPromptTokens().isPresent()) {
            long promise = settings.largestPromptTokens().getAsInt();
            boolean broken = prompts.largest() > promise;
            tokens = broken ? prompts.largest() : promise;
            why = broken ? "seen, above the promised " + promise : "promised";
        } else if (prompts.count() >= ENOUGH_PROMPTS && prompts.unmeasured() == 0) {
            tokens = Math.max(prompts.largest(), 2 * prompts.p99());
            why = "of " + prompts.count() + " seen in an hour the largest had " + prompts.largest() + ", the p99 "
                    + prompts.p99();
        } else {
            tokens = Math.max(prompts.largest(), known("largestAcceptedTokens", readings.largestAcceptedTokens()));
            why = prompts.unmeasured() > 0
                    ? "what the engine accepts, since " + prompts.unmeasured()
                            + " of the chains stored in an hour began under a block that was never announced, so prompt"
                            + " sizes are not known"
                    : "what the engine accepts, since only " + prompts.count() + " of " + ENOUGH_PROMPTS
                            + " prompts were seen in an hour";
        }
        OptionalDouble accepted = readings.largestAcceptedTokens().number();
        return accepted.isPresent() && accepted.getAsDouble() < tokens
                ? new Bound((long) accepted.getAsDouble(), "what the engine accepts")
                : new Bound(tokens, why);
    }

    private Bound share() throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        long bound = (long) (settings.share() * capacity);
        return new Bound(bound, "share " + settings.share() + " of the capacity " + capacity + " = " + bound);
    }

    private long room(long pinned) throws MissingReading {
        long capacity = known("capacityTokens", readings.capacityTokens());
        long used = known("usedTokens", readings.usedTokens());
        return capacity - Math.max(0, used - pinned);
    }

    private Bound eightTenths(long pinned) throws MissingReading {
        long room = room(pinned);
        long bound = room * 8 / 10;
        return new Bound(bound, "0.8 of the room " + room + " beside running requests = " + bound);
    }

    private Bound reserve(long pinned) throws MissingReading {
        long room = room(pinned);
        if (prompts.count() == 0) {
            throw new MissingReading("no prompt was seen in the last hour, so its p90 is unknown");
        }
        long bound = room - 8 * prompts.p90();
        return new Bound(bound, "room " + room + " - 8 prompts of the p90 " + prompts.p90() + " = " + bound);
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
