package io.holdfast.loadtest.run;

import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmSettings;
import java.util.List;

/** An engine's rules in process and in virtual time, for tests of other packages. */
public record VirtualServer(EngineUnderTest engine, RunClock clock) {
    /** An SGLang of that size and speed; the same seed gives the same lateness and noise. */
    public static VirtualServer sglang(SglangSettings settings, Speed speed, long seed, Fault... faults) {
        VirtualTime time = new VirtualTime(seed, 0);
        VirtualEngine engine = new VirtualEngine(VirtualRules.sglang(settings), speed, List.of(faults), time);
        engine.keepAnswers();
        return new VirtualServer(engine, time);
    }

    /** Another one in the same time, with an empty cache. */
    public VirtualServer another(SglangSettings settings, Speed speed, Fault... faults) {
        VirtualTime time = (VirtualTime) clock;
        return new VirtualServer(new VirtualEngine(VirtualRules.sglang(settings), speed, List.of(faults), time), time);
    }

    /** One of the servers of an optimisation log, at the pace that its settings have. */
    public static VirtualServer phases(VllmSettings settings, Fault... faults) {
        VirtualTime time = new VirtualTime(1, 0);
        VirtualEngine engine =
                new VirtualEngine(VirtualRules.vllm(settings), new Speed(0, 0, 0, 1), List.of(faults), time);
        engine.keepAnswers();
        return new VirtualServer(engine, time);
    }

    /** One with a middling cache and an even pace. */
    public static VirtualServer usual() {
        return sglang(SglangSettings.defaults().withSizes(8_192, 16, 4_096), new Speed(40, 10_000, 1_000, 1), 1);
    }
}
