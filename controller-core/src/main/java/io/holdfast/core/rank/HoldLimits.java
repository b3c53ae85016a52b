package io.holdfast.core.rank;

import java.time.Duration;

/**
 * Limits on which of the chosen prefixes become holds.
 *
 * @param lease how long a hold lasts without a use
 * @param most of them at once
 * @param leastChance that one is used within its lease
 */
public record HoldLimits(Duration lease, int most, double leastChance) {
    /**
     * Returns the limits where each hold is a call to an engine: a model pins for nothing, and what will hardly be used
     * again is not worth a call.
     */
    public static HoldLimits ofCalls(Duration lease) {
        return new HoldLimits(lease, 128, 0.1);
    }

    /** Returns the limits where holds cost nothing but their room. */
    public static HoldLimits free(Duration lease) {
        return new HoldLimits(lease, Integer.MAX_VALUE, 0);
    }
}
