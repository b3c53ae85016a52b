package io.holdfast.core;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What the operator decided about one engine.
 *
 * @param share the largest part of the cache that automatic holds may take, above 0 and at most 1
 * @param maxOutputTokens the longest answer that clients may ask for; the hard guard keeps room for it
 * @param largestPromptTokens a promise about the longest prompt, where measured prompts are not to be waited for
 * @param automaticHolds whether the planner may hold on its own
 * @param automaticLease how long an automatic hold lasts without a new touch
 * @param tick how often the planner runs
 * @param switchbackWindow length of the alternating windows that measure the TTFT effect; absent: not measured
 */
public record ControllerSettings(
        String engineId,
        double share,
        int maxOutputTokens,
        OptionalInt largestPromptTokens,
        boolean automaticHolds,
        Duration automaticLease,
        Duration tick,
        Optional<Duration> switchbackWindow) {

    public static ControllerSettings defaults(String engineId) {
        return new ControllerSettings(
                engineId,
                0.5,
                4096,
                OptionalInt.empty(),
                false,
                Duration.ofMinutes(5),
                Duration.ofMillis(100),
                Optional.empty());
    }
}
