package io.holdfast.loadtest.run;

import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.sglang.SglangSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * A whole load test against an engine in process: all lives, legs, floods, holds and flushes, in virtual time.
 *
 * @param latenessMicros the mean lateness of every wake-up of engine and client
 */
record VirtualExperiment(
        SglangSettings engine,
        Speed speed,
        List<Fault> faults,
        FloodShape shape,
        LoadTestSettings settings,
        double latenessMicros) {
    static final int PREFIX = 256;

    /** A prefix that a flood pushes out, an engine of an even pace with working pins, and a quiet machine. */
    static VirtualExperiment underPressure() {
        return new VirtualExperiment(
                SglangSettings.defaults()
                        .withSizes(1_536, 16, 1_024)
                        .withChunkedPrefillTokens(1_008)
                        .withVariant(SglangSettings.Variant.PIN_GPU),
                new Speed(40, 10_000, 1_000, 1),
                List.of(),
                FloodShape.of(PREFIX, 32, 2, 896, 3).withOutputTokens(1, 1),
                LoadTestSettings.defaults().toBuilder()
                        .rounds(4)
                        .concurrency(4)
                        .burnIn(false)
                        .build(),
                200);
    }

    /** Requests of one leg: the prime, then floods and probes. */
    int requestsOfALeg() {
        return 1 + shape.cycles() * (shape.floodRequests() + shape.probesPerCycle());
    }

    VirtualExperiment withMemory(int capacityTokens) {
        return withEngine(engine.withSizes(capacityTokens, engine.pageTokens(), engine.contextTokens()));
    }

    VirtualExperiment withEngine(SglangSettings value) {
        return new VirtualExperiment(value, speed, faults, shape, settings, latenessMicros);
    }

    VirtualExperiment withSpeed(Speed value) {
        return new VirtualExperiment(engine, value, faults, shape, settings, latenessMicros);
    }

    VirtualExperiment withFaults(Fault... value) {
        return new VirtualExperiment(engine, speed, List.of(value), shape, settings, latenessMicros);
    }

    VirtualExperiment withShape(FloodShape value) {
        return new VirtualExperiment(engine, speed, faults, value, settings, latenessMicros);
    }

    VirtualExperiment withLateness(double micros) {
        return new VirtualExperiment(engine, speed, faults, shape, settings, micros);
    }

    VirtualExperiment with(UnaryOperator<LoadTestSettings.Builder> change) {
        return new VirtualExperiment(
                engine, speed, faults, shape, change.apply(settings.toBuilder()).build(), latenessMicros);
    }

    /** The seed draws prompts, the order of the pairs, and how late everybody wakes up. */
    Result run(long seed, Path journal) {
        VirtualTime time = new VirtualTime(seed, latenessMicros);
        try (VirtualEngine tested = new VirtualEngine(engine, speed, faults, time)) {
            return LoadTestRun.run(
                    new RunEnvironment(tested, tested.holder(), time),
                    IdlePrefixFlood.workload(seed, shape),
                    settings.toBuilder().seed(seed).build(),
                    journal,
                    Progress.silent());
        }
    }

    /** A/A pairs alone, so many as there are rounds, on the same engine. */
    ControlResult controls(long seed, Path journal) {
        VirtualTime time = new VirtualTime(seed, latenessMicros);
        try (VirtualEngine tested = new VirtualEngine(engine, speed, faults, time)) {
            return LoadTestRun.controls(
                    new RunEnvironment(tested, new NoHold(true), time),
                    IdlePrefixFlood.workload(seed, shape),
                    settings.toBuilder().seed(seed).build(),
                    journal,
                    Progress.silent());
        }
    }
}
