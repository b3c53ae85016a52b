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

    public ControllerSettings {
        require(share > 0 && share <= 1, "The share must be above 0 and at most 1, it is " + share + ".");
        require(maxOutputTokens >= 1, "maxOutputTokens must be at least 1, it is " + maxOutputTokens + ".");
        require(
                largestPromptTokens.orElse(1) >= 1,
                "largestPromptTokens must be at least 1, it is " + largestPromptTokens.orElse(1)
                        + ": leave it out where there is no promise.");
        requirePositive("automaticLease", automaticLease);
        requirePositive("tick", tick);
        switchbackWindow.ifPresent(window -> requirePositive("switchbackWindow", window));
    }

    private static void requirePositive(String name, Duration duration) {
        require(duration.isPositive(), name + " must be longer than zero, it is " + duration + ".");
    }

    private static void require(boolean condition, String sentence) {
        if (!condition) {
            throw new IllegalArgumentException(sentence);
        }
    }

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
