package io.holdfast.loadtest.workload;

import io.holdfast.loadtest.LoadTestException;

/**
 * The sizes of a workload that leaves a prefix idle under a flood.
 *
 * @param prefixTokens tokens of the prefix; a multiple of the engine's page is best
 * @param suffixTokens tokens that each probe has of its own
 * @param floodRequests unrelated requests in each cycle
 * @param floodTokens tokens of each of them; all together must exceed the cache for the prefix to be lost
 * @param cycles how often a leg floods and probes
 * @param probesPerCycle probes after each flood; only the first of them can find the prefix gone
 * @param floodOutputTokens tokens that a flood request generates
 * @param probeOutputTokens tokens that a probe generates
 * @param learnCycles floods of a leg before its hold step, each between texts that begin with the prefix; 0 has the
 *     prefix sent alone instead
 * @param learnTexts number of these texts before each of those floods, and after the last
 */
public record FloodShape(
        int prefixTokens,
        int suffixTokens,
        int floodRequests,
        int floodTokens,
        int cycles,
        int probesPerCycle,
        int floodOutputTokens,
        int probeOutputTokens,
        int learnCycles,
        int learnTexts) {

    private static final int MOST_TOKENS_OF_A_LEG = 1 << 24;

    public FloodShape {
        atLeastOne("prefix tokens", prefixTokens);
        atLeastOne("suffix tokens", suffixTokens);
        atLeastOne("flood requests", floodRequests);
        atLeastOne("tokens of a flood request", floodTokens);
        atLeastOne("cycles", cycles);
        atLeastOne("probes per cycle", probesPerCycle);
        atLeastOne("output tokens of a flood request", floodOutputTokens);
        atLeastOne("output tokens of a probe", probeOutputTokens);
        if (learnCycles < 0) {
            throw new LoadTestException("A leg learns for " + learnCycles + " cycles; use 0 or more.");
        }
        atLeastOne("texts to learn from", learnTexts);
        double total = (double) (cycles + learnCycles) * floodRequests * floodTokens
                + (double) (cycles * probesPerCycle + (learnCycles == 0 ? 0 : (learnCycles + 1) * learnTexts))
                        * ((double) prefixTokens + suffixTokens);
        if (total > MOST_TOKENS_OF_A_LEG) {
            throw new LoadTestException("A leg of " + (long) total + " tokens does not fit into memory; use at most "
                    + MOST_TOKENS_OF_A_LEG + ".");
        }
    }

    /** Creates a shape whose legs begin with the prefix alone. */
    public FloodShape(
            int prefixTokens,
            int suffixTokens,
            int floodRequests,
            int floodTokens,
            int cycles,
            int probesPerCycle,
            int floodOutputTokens,
            int probeOutputTokens) {
        this(
                prefixTokens,
                suffixTokens,
                floodRequests,
                floodTokens,
                cycles,
                probesPerCycle,
                floodOutputTokens,
                probeOutputTokens,
                0,
                1);
    }

    /** Creates a shape with one probe in each cycle; a probe generates 16 tokens and a flood request 1. */
    public static FloodShape of(int prefixTokens, int suffixTokens, int floodRequests, int floodTokens, int cycles) {
        return new FloodShape(prefixTokens, suffixTokens, floodRequests, floodTokens, cycles, 1, 1, 16);
    }

    public FloodShape withOutputTokens(int flood, int probe) {
        return with(flood, probe, learnCycles, learnTexts);
    }

    /**
     * Returns the shape in which the prefix is never sent alone, and traffic like that of the measured part comes
     * first.
     */
    public FloodShape withLearning(int floods, int texts) {
        return with(floodOutputTokens, probeOutputTokens, floods, texts);
    }

    private FloodShape with(int flood, int probe, int floods, int texts) {
        return new FloodShape(
                prefixTokens,
                suffixTokens,
                floodRequests,
                floodTokens,
                cycles,
                probesPerCycle,
                flood,
                probe,
                floods,
                texts);
    }

    /** The tokens that one flood brings into the cache, its output included. */
    public long floodDemand() {
        return (long) floodRequests * (floodTokens + floodOutputTokens);
    }

    /** The sizes in a few words. */
    String text() {
        String learning = learnCycles == 0
                ? ""
                : ", learning from " + learnCycles + " floods between " + learnTexts + " texts that begin with it";
        return "an idle prefix of " + prefixTokens + " tokens" + learning + ", then " + cycles + " x (" + floodRequests
                + " unrelated requests of " + floodTokens + " tokens, " + probesPerCycle + " x the prefix and "
                + suffixTokens + " more)";
    }

    private static void atLeastOne(String what, int value) {
        if (value < 1) {
            throw new LoadTestException("A workload needs at least 1 for its " + what + ", not " + value + ".");
        }
    }
}
