package io.holdfast.storm;

import java.util.Comparator;
import java.util.PriorityQueue;

/** Virtual time: what is to happen, in order; what is due at the same moment in the order in which it was asked for. */
final class Timeline {
    static final long MILLI = 1_000_000;
    static final long SECOND = 1_000_000_000;

    private record Due(long at, long number, Runnable what) {}

    private final PriorityQueue<Due> due =
            new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
    private long now = SECOND;
    private long number;

    long now() {
        return now;
    }

    void at(long nanos, Runnable what) {
        due.add(new Due(Math.max(nanos, now), number++, what));
    }

    void after(long nanos, Runnable what) {
        at(now + nanos, what);
    }

    /** Lets everything happen that is due up to then. */
    void runUntil(long end) {
        for (Due next = due.peek(); next != null && next.at() <= end; next = due.peek()) {
            due.poll();
            now = next.at();
            next.what().run();
        }
        now = Math.max(now, end);
    }
}
