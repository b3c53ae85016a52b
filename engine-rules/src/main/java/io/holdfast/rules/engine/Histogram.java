package io.holdfast.rules.engine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Times in the engine's buckets; immutable. Counts are per bucket, the last one is above all bounds. */
public record Histogram(List<Double> bounds, List<Long> counts, double sumSeconds) {
    /** SGLang's, of times to the first token. */
    public static final List<Double> BOUNDS = List.of(
            0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0);

    public static final Histogram EMPTY = empty(BOUNDS);

    public static Histogram empty(List<Double> bounds) {
        return new Histogram(List.copyOf(bounds), Collections.nCopies(bounds.size() + 1, 0L), 0);
    }

    public Histogram observe(double seconds) {
        int bucket = 0;
        while (bucket < bounds.size() && seconds > bounds.get(bucket)) {
            bucket++;
        }
        List<Long> next = new ArrayList<>(counts);
        next.set(bucket, counts.get(bucket) + 1);
        return new Histogram(bounds, Collections.unmodifiableList(next), sumSeconds + seconds);
    }

    /** Both together; their buckets must be the same. */
    public Histogram plus(Histogram other) {
        List<Long> sums = new ArrayList<>();
        for (int i = 0; i < counts.size(); i++) {
            sums.add(counts.get(i) + other.counts.get(i));
        }
        return new Histogram(bounds, Collections.unmodifiableList(sums), sumSeconds + other.sumSeconds);
    }

    public long count() {
        return counts.stream().mapToLong(Long::longValue).sum();
    }
}
