package io.holdfast.embed.cell;

import java.util.EnumMap;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicLongArray;

/** Counters of one member: one thread counts, any thread reads. */
final class Tally {
    private static final Refusal[] REASONS = Refusal.values();

    private final AtomicLongArray refused = new AtomicLongArray(REASONS.length);
    private final AtomicLongArray others = new AtomicLongArray(4);
    private volatile double lastSeconds;
    private volatile boolean sums;

    void sent(int bytes) {
        others.addAndGet(0, bytes);
    }

    void received(int bytes) {
        others.addAndGet(1, bytes);
    }

    void refused(Refusal why, int values) {
        refused.addAndGet(why.ordinal(), values);
    }

    void round(boolean good, double seconds, boolean bySums) {
        others.incrementAndGet(2);
        others.addAndGet(3, good ? 0 : 1);
        lastSeconds = seconds;
        sums = bySums;
    }

    CellCounters read(OptionalDouble sinceGoodSeconds) {
        Map<Refusal, Long> reasons = new EnumMap<>(Refusal.class);
        for (Refusal why : REASONS) {
            if (refused.get(why.ordinal()) > 0) {
                reasons.put(why, refused.get(why.ordinal()));
            }
        }
        return new CellCounters(
                others.get(2),
                others.get(3),
                Map.copyOf(reasons),
                others.get(1),
                others.get(0),
                sinceGoodSeconds,
                lastSeconds,
                sums);
    }
}
