package io.holdfast.benchmarks.index;

import java.util.Arrays;

/** Single times in nanoseconds; when there are more than it has room for, the newest replace the oldest. */
final class Times {
    private final int[] nanos;
    private long count;

    Times(int room) {
        nanos = new int[room];
    }

    void add(long nanosTaken) {
        nanos[(int) (count++ % nanos.length)] = (int) Math.min(Integer.MAX_VALUE, nanosTaken);
    }

    long count() {
        return count;
    }

    /** The time that this share of all is below; 0 when there are none. */
    int quantile(double share) {
        int kept = (int) Math.min(count, nanos.length);
        if (kept == 0) {
            return 0;
        }
        Arrays.sort(nanos, 0, kept);
        return nanos[Math.min((int) (kept * share), kept - 1)];
    }

    static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
