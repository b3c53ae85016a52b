package io.holdfast.loadtest.run;

import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * A whole load test against an engine in process: all lives, legs, floods, holds and flushes, in virtual time.
 *
 * @param engine what kind of SGLang
 * @param vllm in its place, where there is one
 * @param arms what the arms differ in
 * @param arrivals when the requests of a flood come
 * @param latenessMicros the mean lateness of every wake-up of engine and client
 */
record VirtualExperiment(
        SglangSettings engine,
        Optional<VllmSettings> vllm,
        Function<VirtualEngine, ArmSwitch> arms,
        Speed speed,
        List<Fault> faults,
        FloodShape shape,
        LoadTestPlan settings,
        Arrivals arrivals,
        double latenessMicros) {
    static final int PREFIX = 256;

    /** A prefix that a flood pushes out, an engine of an even pace with working pins, and a quiet machine. */
    static VirtualExperiment underPressure() {
        return new VirtualExperiment(
                SglangSettings.defaults()
                        .withSizes(1_536, 16, 1_024)
                        .withChunkedPrefillTokens(1_008)
                        .withVariant(SglangSettings.Variant.PIN_GPU),
                Optional.empty(),
                Arms::pinRoute,
                new Speed(40, 10_000, 1_000, 1),
                List.of(),
                FloodShape.of(PREFIX, 32, 2, 896, 3).withOutputTokens(1, 1),
                LoadTestPlan.defaults().toBuilder()
                        .rounds(4)
                        .concurrency(4)
                        .burnIn(false)
                        .build(),
                new Arrivals.Closed(),
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
        return new VirtualExperiment(value, vllm, arms, speed, faults, shape, settings, arrivals, latenessMicros);
    }

    VirtualExperiment withArms(Function<VirtualEngine, ArmSwitch> value) {
        return new VirtualExperiment(engine, vllm, value, speed, faults, shape, settings, arrivals, latenessMicros);
    }

    /** Against a vLLM of about the same size, whose cache nobody empties. */
    VirtualExperiment onVllm() {
        VllmSettings its = VllmSettings.defaults()
                .withSizes(
                        engine.capacityTokens() / engine.pageTokens() + 1, engine.pageTokens(), engine.contextTokens());
        return new VirtualExperiment(
                engine, Optional.of(its), arms, speed, faults, shape, settings, arrivals, latenessMicros);
    }

    /** An SGLang as released, which keeps what sessions refer to. */
    VirtualExperiment onStockWithSessions() {
        return withEngine(engine.withVariant(SglangSettings.Variant.STOCK).withSessions(true));
    }

    VirtualExperiment withSpeed(Speed value) {
        return new VirtualExperiment(engine, vllm, arms, value, faults, shape, settings, arrivals, latenessMicros);
    }

    VirtualExperiment withFaults(Fault... value) {
        return new VirtualExperiment(
                engine, vllm, arms, speed, List.of(value), shape, settings, arrivals, latenessMicros);
    }

    VirtualExperiment withShape(FloodShape value) {
        return new VirtualExperiment(engine, vllm, arms, speed, faults, value, settings, arrivals, latenessMicros);
    }

    /** With the requests of floods at times of their own. */
    VirtualExperiment withArrivals(Arrivals value) {
        return new VirtualExperiment(engine, vllm, arms, speed, faults, shape, settings, value, latenessMicros);
    }

    VirtualExperiment withLateness(double micros) {
        return new VirtualExperiment(engine, vllm, arms, speed, faults, shape, settings, arrivals, micros);
    }

    VirtualExperiment with(UnaryOperator<LoadTestPlan.Builder> change) {
        return new VirtualExperiment(
                engine,
                vllm,
                arms,
                speed,
                faults,
                shape,
                change.apply(settings.toBuilder()).build(),
                arrivals,
                latenessMicros);
    }

    private VirtualEngine.Rules rules() {
        return vllm.map(VirtualRules::vllm).orElseGet(() -> VirtualRules.sglang(engine));
    }

    /** The seed draws prompts, the order of the pairs, how late everybody wakes up, and the noise where there is any. */
    Result run(long seed, Path journal) {
        return run(seed, journal, Progress.silent());
    }

    Result run(long seed, Path journal, Progress progress) {
        return on(
                seed, arms, environment -> LoadTestRun.run(environment, workload(seed), its(seed), journal, progress));
    }

    /** Goes on with a run of this experiment in another process. */
    Result resume(long seed, Path journal) {
        return on(
                seed, arms, environment -> LoadTestRun.resume(environment, workload(seed), journal, Progress.silent()));
    }

    /** A/A pairs alone, so many as there are rounds, on the same engine. */
    ControlResult controls(long seed, Path journal) {
        return on(
                seed,
                engine -> Arms.none(),
                environment ->
                        LoadTestRun.controls(environment, workload(seed), its(seed), journal, Progress.silent()));
    }

    /** The same with the arms of this experiment, which then have to be baseline arms alone. */
    ControlResult controlsWithItsArms(long seed, Path journal) {
        return on(
                seed,
                arms,
                environment ->
                        LoadTestRun.controls(environment, workload(seed), its(seed), journal, Progress.silent()));
    }

    ControlResult resumeControls(long seed, Path journal) {
        return on(
                seed,
                engine -> Arms.none(),
                environment -> LoadTestRun.resumeControls(environment, workload(seed), journal, Progress.silent()));
    }

    private Workload workload(long seed) {
        return IdlePrefixFlood.workload(
                seed, shape, arrivals, 1 + settings.design().round().getFirst().legs());
    }

    private LoadTestPlan its(long seed) {
        return settings.toBuilder().seed(seed).build();
    }

    private <T> T on(long seed, Function<VirtualEngine, ArmSwitch> switches, Function<RunEnvironment, T> task) {
        VirtualTime time = new VirtualTime(seed, latenessMicros);
        try (VirtualEngine tested = new VirtualEngine(rules(), speed, faults, time);
                ArmSwitch with = switches.apply(tested)) {
            return task.apply(new RunEnvironment(tested, with, time));
        }
    }
}
