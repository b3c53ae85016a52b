package io.holdfast.embed.cell;

import java.time.Duration;

/**
 * The most that warming an empty cache may take.
 *
 * @param time of its own requests together
 * @param tokens of these; never more than half of the cache
 */
public record WarmingBudget(Duration time, long tokens) {
    /** Nothing is warmed. */
    public static final WarmingBudget NONE = new WarmingBudget(Duration.ZERO, 0);

    boolean any() {
        return time.isPositive() && tokens > 0;
    }
}
