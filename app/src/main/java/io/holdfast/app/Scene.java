package io.holdfast.app;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.FloodShape;

/**
 * One scene of the demo: what is played, and what an honest load test must find.
 *
 * @param capacityTokens the emulated cache
 */
record Scene(String letter, String name, String title, int capacityTokens, FloodShape shape, Finding expected) {
    private static final int PREFIX_TOKENS = 512;
    private static final int SUFFIX_TOKENS = 64;
    private static final int FLOOD_REQUESTS = 8;
    private static final int FLOOD_TOKENS = 640;

    /** The flood between priming and probing does not fit beside the prefix. */
    static Scene pressure(int cycles) {
        return new Scene(
                "a",
                "idle-prefix-under-flood",
                "idle prefix, unrelated flood above capacity, probe",
                4_096,
                shape(cycles),
                Finding.REAL);
    }

    /** The same, with room for everything that a leg brings. */
    static Scene ample(int cycles) {
        return new Scene(
                "b",
                "ample-memory",
                "the same requests, ample memory",
                8_192 * (cycles + 1),
                shape(cycles),
                Finding.NO_EXPOSURE);
    }

    private static FloodShape shape(int cycles) {
        return FloodShape.of(PREFIX_TOKENS, SUFFIX_TOKENS, FLOOD_REQUESTS, FLOOD_TOKENS, cycles)
                .withOutputTokens(1, 1);
    }

    /** Requests of one leg: the prime, then floods and probes. */
    int requestsOfALeg() {
        return 1 + shape.cycles() * (shape.floodRequests() + shape.probesPerCycle());
    }
}
