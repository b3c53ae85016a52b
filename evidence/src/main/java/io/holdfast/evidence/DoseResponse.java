package io.holdfast.evidence;

import java.util.List;
import java.util.Optional;

/**
 * The effect over levels of memory pressure: what pinning saves must grow with pressure and vanish without it.
 *
 * <p>Pressure is demand over capacity in tokens, with a shared prefix counted once.
 */
public record DoseResponse(List<Level> levels) {
    /** Fewer levels than this bear no line. */
    public static final int FEWEST_LEVELS = 4;

    /** Up to this pressure nothing is evicted, so a level there is a placebo. */
    public static final double MOST_PLACEBO_PRESSURE = 0.5;

    private static final double SIGNIFICANT = 0.05;
    /** No level counts as known better than to a thousandth, else one calm level would draw the line alone. */
    private static final double SMALLEST_SE = 0.001;

    public DoseResponse {
        levels = List.copyOf(levels);
    }

    /** One level of memory pressure and the effect measured there. */
    public record Level(double pressure, double effect, double se, Interval ci90) {
        public Level {
            if (!(pressure > 0 && Double.isFinite(pressure))) {
                throw new IllegalArgumentException("Memory pressure is demand over capacity and above 0, not "
                        + pressure + "; read both from the server.");
            }
            Finite.value("The effect of a level", effect);
            Finite.value("The standard error of a level", se);
        }

        /** The level of an estimate; absent when the estimate has no interval. */
        public static Optional<Level> of(double pressure, Estimate estimate) {
            return estimate.ci90()
                    .map(ci90 -> new Level(
                            pressure,
                            estimate.effect().orElseThrow(),
                            estimate.se().orElseThrow(),
                            ci90));
        }

        boolean isPlacebo() {
            return pressure <= MOST_PLACEBO_PRESSURE;
        }
    }

    /** The effect over ln(pressure), levels weighted by their precision; absent below three different levels. */
    public Optional<LinearFit> fit() {
        double[] x = new double[levels.size()];
        double[] y = new double[levels.size()];
        double[] weights = new double[levels.size()];
        for (int i = 0; i < x.length; i++) {
            Level level = levels.get(i);
            double se = Math.max(level.se(), SMALLEST_SE);
            x[i] = Math.log(level.pressure());
            y[i] = level.effect();
            weights[i] = 1 / (se * se);
        }
        return LinearFit.of(x, y, weights);
    }

    /** Why the sweep does not support that kept cache caused the effect; absent when it does. */
    public Optional<String> objection(double delta) {
        Optional<LinearFit> fit = fit();
        if (levels.size() < FEWEST_LEVELS || fit.isEmpty()) {
            return Optional.of("the sweep has " + levels.size() + " levels of memory pressure where " + FEWEST_LEVELS
                    + " different ones are needed");
        }
        Optional<Level> placebo = levels.stream()
                .filter(Level::isPlacebo)
                .filter(level -> !level.ci90().within(delta))
                .findFirst();
        if (placebo.isPresent()) {
            return Optional.of("with memory to spare (pressure %s) the effect is %s (90 %% CI %s), not inside %s"
                    .formatted(
                            Words.number(placebo.get().pressure()),
                            Words.percent(placebo.get().effect()),
                            Words.percent(placebo.get().ci90()),
                            Words.margins(delta)));
        }
        if (levels.stream().noneMatch(Level::isPlacebo)) {
            return Optional.of(
                    "the sweep has no level with memory to spare (pressure of at most " + MOST_PLACEBO_PRESSURE + ")");
        }
        double slope = fit.get().slope();
        double p = fit.get().pFalling();
        if (slope >= 0 || p >= SIGNIFICANT) {
            return Optional.of("the effect does not grow with memory pressure (slope %s per unit of ln pressure, p %s)"
                    .formatted(Words.number(slope), Words.number(p)));
        }
        return Optional.empty();
    }
}
