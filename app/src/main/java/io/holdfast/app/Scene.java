package io.holdfast.app;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.FloodShape;
import java.time.Duration;

/**
 * One scene of the demo: what is played, and what an honest load test must find.
 *
 * @param holdSlot how long the hold step of a leg takes in both arms
 */
record Scene(
        String letter,
        String name,
        String title,
        EmulatorSettings engine,
        FloodShape shape,
        Duration holdSlot,
        Finding expected) {
    private static final Duration HOLD_SLOT = Duration.ofMillis(300);
    private static final int PREFIX_TOKENS = 512;
    private static final int SUFFIX_TOKENS = 64;
    private static final int FLOOD_REQUESTS = 5;
    private static final int FLOOD_TOKENS = 1_008;

    /** The flood between priming and probing does not fit beside the prefix. */
    static Scene pressure(int cycles) {
        return new Scene(
                "a",
                "idle-prefix-under-flood",
                "idle prefix, unrelated flood above capacity, probe",
                Demo.emulated(4_096),
                shape(cycles),
                HOLD_SLOT,
                Finding.REAL);
    }

    /** The same, with room for everything that a leg brings. */
    static Scene ample(int cycles) {
        return new Scene(
                "b",
                "ample-memory",
                "the same requests, ample memory",
                Demo.emulated(8_192 * (cycles + 1)),
                shape(cycles),
                HOLD_SLOT,
                Finding.NO_EXPOSURE);
    }

    private static FloodShape shape(int cycles) {
        return FloodShape.of(PREFIX_TOKENS, SUFFIX_TOKENS, FLOOD_REQUESTS, FLOOD_TOKENS, cycles)
                .withOutputTokens(1, 1);
    }

    int capacityTokens() {
        return engine.sglang().capacityTokens();
    }

    /** Requests of one leg: the prime, then floods and probes. */
    int requestsOfALeg() {
        return 1 + shape.cycles() * (shape.floodRequests() + shape.probesPerCycle());
    }
}
