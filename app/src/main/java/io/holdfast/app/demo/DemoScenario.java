package io.holdfast.app.demo;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.workload.FloodShape;
import java.time.Duration;

/**
 * One scenario of the demo: what is run, and what an honest load test must find.
 *
 * @param holdSlot how long the hold step of a leg takes in both arms
 * @param slotTolerance by how much it may differ from that
 */
public record DemoScenario(
        String letter,
        String name,
        String title,
        EmulatorSettings engine,
        FloodShape shape,
        Duration holdSlot,
        Duration slotTolerance,
        Finding expected) {
    private static final Duration HOLD_SLOT = Duration.ofMillis(200);

    /**
     * An emulated engine does not cool down while it waits, so a slot that a busy machine lengthens moves nothing; what must
     * not happen is that a hold comes too late.
     */
    private static final Duration SLOT_TOLERANCE = Duration.ofSeconds(1);

    private static final int PREFIX_TOKENS = 448;
    private static final int SUFFIX_TOKENS = 80;
    private static final int FLOOD_REQUESTS = 3;
    /** Less than one flood, and enough to hold the prefix beside room for the longest request and one that runs. */
    private static final int CAPACITY = 1_584;

    /** The flood between priming and probing does not fit beside the prefix. */
    public static DemoScenario pressure(int cycles) {
        return new DemoScenario(
                "a",
                "idle-prefix-under-flood",
                "idle prefix, unrelated flood above capacity, probe",
                Demo.emulated(CAPACITY),
                shape(cycles),
                HOLD_SLOT,
                SLOT_TOLERANCE,
                Finding.REAL);
    }

    /** The same, with room for everything that a leg brings. */
    public static DemoScenario ample(int cycles) {
        return new DemoScenario(
                "b",
                "ample-memory",
                "the same requests, ample memory",
                Demo.emulated(1_024 * (1 + 3 * cycles)),
                shape(cycles),
                HOLD_SLOT,
                SLOT_TOLERANCE,
                Finding.NO_EXPOSURE);
    }

    private static FloodShape shape(int cycles) {
        return FloodShape.of(PREFIX_TOKENS, SUFFIX_TOKENS, FLOOD_REQUESTS, Demo.CHUNK_TOKENS, cycles)
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
