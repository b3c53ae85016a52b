package io.holdfast.loadtest.sweep;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * A step between two neighbouring levels at which the server does less than half of what it did.
 *
 * @param best the level before it that does most
 * @param recommended the level before it that does nearly as much and lies furthest from it
 */
public record Cliff(Point before, Point after, Point best, Point recommended) {
    private static final double COLLAPSE = 2;
    private static final double NEARLY = 0.95;

    /** Performance of a level, such as tokens a second. */
    public record Point(String level, double value) {}

    /** The first cliff of some levels in their order; absent where there is none. */
    public static Optional<Cliff> of(List<Point> points) {
        for (int i = 1; i < points.size(); i++) {
            Point before = points.get(i - 1);
            Point after = points.get(i);
            if (before.value() > COLLAPSE * after.value()) {
                List<Point> sound = points.subList(0, i);
                Point best = sound.stream()
                        .reduce((one, other) -> other.value() > one.value() ? other : one)
                        .orElseThrow();
                return Optional.of(new Cliff(before, after, best, nearlyBest(sound)));
            }
        }
        return Optional.empty();
    }

    /** Returns the first of some levels in their order that does nearly as much as the one that does most. */
    public static Point nearlyBest(List<Point> points) {
        double best = points.stream().mapToDouble(Point::value).max().orElseThrow();
        return points.stream()
                .filter(point -> point.value() >= NEARLY * best)
                .findFirst()
                .orElseThrow();
    }

    /** Describes the cliff in a sentence, in a unit such as {@code tok/s}. */
    public String text(String unit) {
        return String.format(
                Locale.ROOT,
                "From %s to %s the server falls off a cliff, from %.1f to %.1f %s%s; stay at %s (%.1f" + " %s)%s.",
                before.level(),
                after.level(),
                before.value(),
                after.value(),
                unit,
                after.value() > 0
                        ? String.format(Locale.ROOT, ", a factor of %.1f", before.value() / after.value())
                        : "",
                recommended.level(),
                recommended.value(),
                unit,
                recommended.equals(best)
                        ? ", the best before it"
                        : String.format(
                                Locale.ROOT,
                                ", which is within 5 %% of the best, %s (%.1f), and further from the cliff",
                                best.level(),
                                best.value()));
    }
}
