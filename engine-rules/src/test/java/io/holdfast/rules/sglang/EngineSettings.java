package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import java.util.List;
import java.util.function.UnaryOperator;

/** An engine with its GPU's speed, its faults and its model's seed. */
record EngineSettings(SglangSettings sglang, Speed speed, List<Fault> faults, long seed) {
    static EngineSettings defaults() {
        return new EngineSettings(SglangSettings.defaults(), new Speed(100, 5_000, 5_000, 1), List.of(), 1);
    }

    EngineSettings withSglang(UnaryOperator<SglangSettings> change) {
        return new EngineSettings(change.apply(sglang), speed, faults, seed);
    }

    EngineSettings withVariant(SglangSettings.Variant value) {
        return withSglang(now -> now.withVariant(value));
    }

    EngineSettings withCapacityTokens(int value) {
        return withSglang(now -> now.withSizes(value, now.pageTokens(), now.contextTokens()));
    }

    EngineSettings withMaxRunning(int value) {
        return withSglang(now -> now.withMaxRunning(value));
    }

    EngineSettings withFaults(List<Fault> value) {
        return new EngineSettings(sglang, speed, value, seed);
    }

    EngineSettings withSeed(long value) {
        return new EngineSettings(sglang, speed, faults, value);
    }
}
