package io.holdfast.core.prefix;

import java.util.Arrays;

/** The usual time between two uses of one prefix. */
final class Gaps {
    /*
     * A lease has to last from one use to the next. Requests come in bursts (a fan-out, an agent's steps, a batch), and
     * the gaps within a burst say nothing about that. So at most one gap is kept in a third of the shortest lease: of a
     * burst the one before it, of steady use one now and then. The upper median of the last few stands for all: one
     * idle night among them changes nothing, and where long bursts and long gaps take turns, the long gap counts.
     */
    private static final int KEPT = 8;

    private final long[] last = new long[KEPT];
    private int count;
    private long keptNanos = Long.MIN_VALUE;

    /** A use that came so long after the one before; {@code everyNanos} is the least time between two that are kept. */
    void add(long gapNanos, long nowNanos, long everyNanos) {
        if (keptNanos == Long.MIN_VALUE || nowNanos - keptNanos >= everyNanos) {
            last[count++ % KEPT] = gapNanos;
            keptNanos = nowNanos;
        }
    }

    /** Returns 0 while none is known. */
    long usual() {
        int known = Math.min(count, KEPT);
        long[] sorted = Arrays.copyOf(last, known);
        Arrays.sort(sorted);
        return known == 0 ? 0 : sorted[known / 2];
    }
}
