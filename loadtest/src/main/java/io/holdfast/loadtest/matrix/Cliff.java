package io.holdfast.loadtest.matrix;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Where throughput falls off over a sweep, and which point before that is worth taking.
 *
 * @param before the place of the last point before the fall; absent where there is none
 * @param recommended the place of the point to take
 */
record Cliff(List<Point> points, OptionalInt before, int recommended) {
    private static final double FALL = 2;
    private static final double WORTH = 0.05;

    /**
     * A point of a sweep.
     *
     * @param throughput tokens in a second
     */
    record Point(String name, double throughput) {}

    Cliff {
        points = List.copyOf(points);
    }

    /** Of points in the order of the sweep; absent for fewer than two. */
    static Optional<Cliff> of(List<Point> points) {
        if (points.size() < 2) {
            return Optional.empty();
        }
        OptionalInt before = OptionalInt.empty();
        for (int i = 0; i + 1 < points.size() && before.isEmpty(); i++) {
            if (points.get(i).throughput() > FALL * points.get(i + 1).throughput()) {
                before = OptionalInt.of(i);
            }
        }
        int last = before.orElse(points.size() - 1);
        int best = 0;
        for (int i = 1; i <= last; i++) {
            // What gains next to nothing costs latency, and is nearer to the edge.
            if (points.get(i).throughput() > (1 + WORTH) * points.get(best).throughput()) {
                best = i;
            }
        }
        return Optional.of(new Cliff(points, before, best));
    }

    /** In a sentence. */
    String text() {
        Point taken = points.get(recommended);
        String why = before.isPresent()
                ? String.format(
                        Locale.ROOT,
                        "From %s to %s throughput falls from %.1f to %.1f tok/s, more than by half. ",
                        points.get(before.getAsInt()).name(),
                        points.get(before.getAsInt() + 1).name(),
                        points.get(before.getAsInt()).throughput(),
                        points.get(before.getAsInt() + 1).throughput())
                : "Throughput falls by half nowhere. ";
        int last = before.orElse(points.size() - 1);
        String rest = recommended < last
                ? String.format(
                        Locale.ROOT,
                        " What lies between it and %s gains less than %.0f %%.",
                        points.get(last).name(),
                        100 * WORTH)
                : "";
        return why + String.format(Locale.ROOT, "Take %s (%.1f tok/s).", taken.name(), taken.throughput()) + rest;
    }
}
