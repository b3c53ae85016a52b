package io.holdfast.core.reuse;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/** The last thousand durations of a kind. */
final class RecentDurations {
    private static final int MOST = 1024;

    private final long[] nanos = new long[MOST];
    private long count;

    void add(long durationNanos) {
        nanos[(int) (count++ % MOST)] = durationNanos;
    }

    Durations seen() {
        int last = (int) Math.min(count, MOST);
        if (last == 0) {
            return Durations.NONE;
        }
        long[] sorted = Arrays.copyOf(nanos, last);
        Arrays.sort(sorted);
        return new Durations(
                count, at(sorted, (last - 1) / 10), at(sorted, (last - 1) / 2), at(sorted, (last - 1) * 9 / 10));
    }

    private static Optional<Duration> at(long[] sorted, int rank) {
        return Optional.of(Duration.ofNanos(sorted[rank]));
    }
}
