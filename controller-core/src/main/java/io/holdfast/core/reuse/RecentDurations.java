package io.holdfast.core.reuse;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalDouble;

/** The last thousand durations of a kind. */
final class RecentDurations {
    static final int MOST = 1024;

    private final long[] nanos = new long[MOST];
    private long count;

    /** Restores the durations of an earlier process, of which {@link #last} are the last. */
    static RecentDurations of(long count, long[] last) {
        RecentDurations durations = new RecentDurations();
        durations.count = count - last.length;
        for (long each : last) {
            durations.add(each);
        }
        return durations;
    }

    void add(long durationNanos) {
        nanos[(int) (count++ % MOST)] = durationNanos;
    }

    /** These and then those that were measured later. */
    RecentDurations then(RecentDurations later) {
        RecentDurations both = of(count + later.count - Math.min(later.count, MOST), last());
        for (long each : later.last()) {
            both.add(each);
        }
        return both;
    }

    long count() {
        return count;
    }

    /** Returns as many as are remembered, the oldest first. */
    long[] last() {
        long[] last = new long[(int) Math.min(count, MOST)];
        Arrays.setAll(last, i -> nanos[(int) ((count - last.length + i) % MOST)]);
        return last;
    }

    /** Returns the part of the durations that is longer; absent where there are none. */
    OptionalDouble longerThan(long durationNanos) {
        return Arrays.stream(last())
                .mapToDouble(each -> each > durationNanos ? 1 : 0)
                .average();
    }

    Durations seen() {
        long[] sorted = last();
        if (sorted.length == 0) {
            return Durations.NONE;
        }
        Arrays.sort(sorted);
        int most = sorted.length - 1;
        return new Durations(count, at(sorted, most / 10), at(sorted, most / 2), at(sorted, most * 9 / 10));
    }

    private static Optional<Duration> at(long[] sorted, int rank) {
        return Optional.of(Duration.ofNanos(sorted[rank]));
    }
}
