package io.holdfast.core;

import io.holdfast.core.budget.BudgetSettings;
import java.time.Duration;
import java.util.Optional;

/**
 * What the operator decided about one engine.
 *
 * @param budget how much may be pinned
 * @param automaticHolds whether the planner may hold on its own
 * @param automaticLease how long an automatic hold lasts without a new touch
 * @param tick how often the planner runs
 * @param switchbackWindow length of the alternating windows that measure the TTFT effect; absent: not measured
 */
public record ControllerSettings(
        String engineId,
        BudgetSettings budget,
        boolean automaticHolds,
        Duration automaticLease,
        Duration tick,
        Optional<Duration> switchbackWindow) {

    public ControllerSettings {
        requirePositive("automaticLease", automaticLease);
        requirePositive("tick", tick);
        switchbackWindow.ifPresent(window -> requirePositive("switchbackWindow", window));
    }

    private static void requirePositive(String name, Duration duration) {
        if (!duration.isPositive()) {
            throw new IllegalArgumentException(name + " must be longer than zero, it is " + duration + ".");
        }
    }

    public static ControllerSettings defaults(String engineId) {
        return new ControllerSettings(
                engineId,
                BudgetSettings.defaults(),
                false,
                Duration.ofMinutes(5),
                Duration.ofMillis(100),
                Optional.empty());
    }
}
