package io.holdfast.embed.cell;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** Counters of one member: one thread counts, any thread reads. */
final class Tally {
    /** Complete from the beginning, so that only its values change. */
    private final Map<Refusal, LongAdder> refused = new EnumMap<>(Refusal.class);

    private final AtomicLongArray others = new AtomicLongArray(4);
    private volatile double lastSeconds;
    private volatile String trouble = "";
    private volatile boolean sums;

    Tally() {
        for (Refusal why : Refusal.values()) {
            refused.put(why, new LongAdder());
        }
    }

    void sent(int bytes) {
        others.addAndGet(0, bytes);
    }

    void received(int bytes) {
        others.addAndGet(1, bytes);
    }

    void refused(Refusal why, int values) {
        Objects.requireNonNull(refused.get(why)).add(values);
    }

    void round(Optional<String> why, double seconds, boolean bySums) {
        others.incrementAndGet(2);
        others.addAndGet(3, why.isEmpty() ? 0 : 1);
        trouble = why.orElse("");
        lastSeconds = seconds;
        sums = bySums;
    }

    CellCounters read(OptionalDouble sinceGoodSeconds, boolean twin) {
        Map<Refusal, Long> reasons = new EnumMap<>(Refusal.class);
        refused.forEach((why, count) -> {
            if (count.sum() > 0) {
                reasons.put(why, count.sum());
            }
        });
        return new CellCounters(
                others.get(2),
                others.get(3),
                Map.copyOf(reasons),
                others.get(1),
                others.get(0),
                sinceGoodSeconds,
                lastSeconds,
                trouble,
                twin,
                sums);
    }
}
