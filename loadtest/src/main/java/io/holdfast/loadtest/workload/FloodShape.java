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
 */
public record FloodShape(
        int prefixTokens,
        int suffixTokens,
        int floodRequests,
        int floodTokens,
        int cycles,
        int probesPerCycle,
        int floodOutputTokens,
        int probeOutputTokens) {

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
        double total = cycles
                * ((double) floodRequests * floodTokens + probesPerCycle * ((double) prefixTokens + suffixTokens));
        if (total > MOST_TOKENS_OF_A_LEG) {
            throw new LoadTestException("A leg of " + (long) total + " tokens does not fit into memory; use at most "
                    + MOST_TOKENS_OF_A_LEG + ".");
        }
    }

    /** One probe in each cycle; 16 tokens from a probe and 1 from a flood request. */
    public static FloodShape of(int prefixTokens, int suffixTokens, int floodRequests, int floodTokens, int cycles) {
        return new FloodShape(prefixTokens, suffixTokens, floodRequests, floodTokens, cycles, 1, 1, 16);
    }

    public FloodShape withOutputTokens(int flood, int probe) {
        return new FloodShape(
                prefixTokens, suffixTokens, floodRequests, floodTokens, cycles, probesPerCycle, flood, probe);
    }

    /** The tokens that one flood brings into the cache, its output included. */
    public long floodDemand() {
        return (long) floodRequests * (floodTokens + floodOutputTokens);
    }

    /** The sizes in a few words. */
    String text() {
        return "an idle prefix of " + prefixTokens + " tokens, then " + cycles + " x (" + floodRequests
                + " unrelated requests of " + floodTokens + " tokens, " + probesPerCycle + " x the prefix and "
                + suffixTokens + " more)";
    }

    private static void atLeastOne(String what, int value) {
        if (value < 1) {
            throw new LoadTestException("A workload needs at least 1 for its " + what + ", not " + value + ".");
        }
    }
}
