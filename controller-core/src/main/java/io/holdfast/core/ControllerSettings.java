package io.holdfast.core;

import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.plan.AutomaticHolds;
import java.time.Duration;
import java.util.Optional;

/**
 * The operator's decisions about one engine.
 *
 * @param budget how much may be pinned
 * @param automaticHolds when the planner may hold without being asked
 * @param automaticLease least time that an automatic hold lasts without a use; a shared prefix that is used more rarely
 *     is held longer, as {@link io.holdfast.core.hold.Lease#automatic} says
 * @param leastSaving what an automatic hold has to save a request that finds it, where that was measured
 * @param tick how often the planner runs
 * @param ownRequestsAnHour how long requests of our own may take within an hour, where a backend makes many
 * @param effect how what holds do to time to first token is measured and acted upon; absent: not at all
 * @param memoryBytes most that is remembered of the engine beside what its cache has
 */
public record ControllerSettings(
        String engineId,
        BudgetSettings budget,
        AutomaticHolds automaticHolds,
        Duration automaticLease,
        Duration leastSaving,
        Duration tick,
        Duration ownRequestsAnHour,
        Optional<EffectSettings> effect,
        long memoryBytes) {
    /** Time that requests of our own may take within an hour unless somebody decides otherwise. */
    public static final Duration OWN_REQUESTS_AN_HOUR = Duration.ofMinutes(2);

    /** Less is lost in what a request takes anyhow. */
    public static final Duration LEAST_SAVING = Duration.ofMillis(5);

    /** Creates settings with the usual memory. */
    public ControllerSettings(
            String engineId,
            BudgetSettings budget,
            AutomaticHolds automaticHolds,
            Duration automaticLease,
            Duration leastSaving,
            Duration tick,
            Duration ownRequestsAnHour,
            Optional<EffectSettings> effect) {
        this(
                engineId,
                budget,
                automaticHolds,
                automaticLease,
                leastSaving,
                tick,
                ownRequestsAnHour,
                effect,
                (long) MemoryBudget.DEFAULT_MEBIBYTES << 20);
    }

    public ControllerSettings {
        requirePositive("automaticLease", automaticLease);
        requirePositive("tick", tick);
        if (leastSaving.isNegative()) {
            throw new IllegalArgumentException("leastSaving must not be negative, it is " + leastSaving + ".");
        }
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
                AutomaticHolds.WHERE_EVICTABLE,
                Duration.ofMinutes(5),
                LEAST_SAVING,
                Duration.ofMillis(100),
                OWN_REQUESTS_AN_HOUR,
                Optional.of(EffectSettings.DEFAULTS));
    }
}
