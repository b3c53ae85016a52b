package io.holdfast.embed.cell;

import java.time.Duration;

/**
 * The most that warming an empty cache may take.
 *
 * @param time of its own requests together
 * @param tokens of these; never more than half of the cache
 * @param unseen part of what is to be stored, 0 to 1, before which no user's request comes, so that it need not be gentle
 */
public record WarmingBudget(Duration time, long tokens, double unseen) {
    /** Nothing is warmed. */
    public static final WarmingBudget NONE = new WarmingBudget(Duration.ZERO, 0, 0);

    public WarmingBudget {
        if (!(unseen >= 0 && unseen <= 1)) {
            throw new IllegalArgumentException("A part is 0 to 1, not " + unseen + ".");
        }
    }

    boolean any() {
        return time.isPositive() && tokens > 0;
    }
}
