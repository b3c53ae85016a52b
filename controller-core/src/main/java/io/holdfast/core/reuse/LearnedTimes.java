package io.holdfast.core.reuse;

import java.util.Arrays;

/**
 * The part of {@link ReuseTimes} that outlives a process.
 *
 * @param residences how many ages of evicted blocks were measured
 * @param residence the last of them, in nanoseconds
 * @param reuses how many gaps between two uses were measured
 * @param reuse the last of them, in nanoseconds
 */
@SuppressWarnings("ArrayRecordComponent")
public record LearnedTimes(long residences, long[] residence, long reuses, long[] reuse) {
    public LearnedTimes {
        require(residences, residence);
        require(reuses, reuse);
    }

    private static void require(long count, long[] last) {
        if (last.length != Math.min(count, RecentDurations.MOST)
                || Arrays.stream(last).min().orElse(0) < 0) {
            throw new IllegalArgumentException("Of " + count + " durations the last " + RecentDurations.MOST
                    + " are kept, none of them negative, and not " + last.length + ".");
        }
    }
}
