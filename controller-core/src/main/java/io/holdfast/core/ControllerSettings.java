package io.holdfast.core;

import java.time.Duration;
import java.util.Optional;

/**
 * What the operator decided about one engine.
 *
 * @param share the largest part of the cache that automatic holds may take, above 0 and at most 1
 * @param written sizes of requests that the operator vouches for; absent: the hard guard keeps room for whatever the
 *     engine accepts
 * @param contextFlag the engine's own flag that makes the largest request smaller
 * @param automaticHolds whether the planner may hold on its own
 * @param automaticLease how long an automatic hold lasts without a new touch
 * @param tick how often the planner runs
 * @param switchbackWindow length of the alternating windows that measure the TTFT effect; absent: not measured
 */
public record ControllerSettings(
        String engineId,
        double share,
        Optional<RequestSizes> written,
        String contextFlag,
        boolean automaticHolds,
        Duration automaticLease,
        Duration tick,
        Optional<Duration> switchbackWindow) {

    public ControllerSettings {
        require(share > 0 && share <= 1, "The share must be above 0 and at most 1, it is " + share + ".");
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
                Optional.empty(),
                "--context-length",
                false,
                Duration.ofMinutes(5),
                Duration.ofMillis(100),
                Optional.empty());
    }
}
