package io.holdfast.evidence;

import java.util.ArrayList;
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
    /** Degrees of freedom with which Student's distribution is the normal one. */
    private static final double MANY = 1e7;

    public DoseResponse {
        levels = List.copyOf(levels);
    }

    /**
     * One level of memory pressure and the effect measured there.
     *
     * @param placebo whether nothing can be evicted at it, so that an effect there has another cause
     */
    public record Level(double pressure, double effect, double se, Interval ci90, boolean placebo) {
        public Level {
            if (!(pressure > 0 && Double.isFinite(pressure))) {
                throw new IllegalArgumentException("Memory pressure is demand over capacity and above 0, not "
                        + pressure + "; read both from the server.");
            }
            Finite.value("The effect of a level", effect);
            Finite.value("The standard error of a level", se);
        }

        /** One that is a placebo by its pressure. */
        public Level(double pressure, double effect, double se, Interval ci90) {
            this(pressure, effect, se, ci90, pressure <= MOST_PLACEBO_PRESSURE);
        }

        /** The same, declared to be one before it was measured. */
        public Level asPlacebo() {
            return new Level(pressure, effect, se, ci90, true);
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

    /** Why the sweep does not support that kept cache caused the effect; absent when it does, or cannot tell. */
    public Optional<String> objection(double delta) {
        Optional<Level> placebo = levels.stream()
                .filter(Level::placebo)
                .filter(level -> !level.ci90().within(delta))
                .findFirst();
        if (placebo.isPresent()) {
            return Optional.of(
                    "with memory to spare (pressure %s) the effect is %s (90 %% CI %s, for two one-sided tests at 5 %%), not inside %s"
                            .formatted(
                                    Words.number(placebo.get().pressure()),
                                    Words.percent(placebo.get().effect()),
                                    Words.percent(placebo.get().ci90()),
                                    Words.margins(delta)));
        }
        // A cache that is full loses what it is asked for at once, which is a step and no line.
        boolean steps = step().filter(of -> of.pFalling() < SIGNIFICANT).isPresent();
        return fit().filter(line -> bearsALine() && !steps)
                .filter(line -> line.slope() >= 0 || line.pFalling() >= SIGNIFICANT)
                .map(line -> "the effect does not grow with memory pressure (slope %s per unit of ln pressure, p %s)"
                        .formatted(Words.number(line.slope()), Words.number(line.pFalling())));
    }

    /** The effect up to a full cache against that beyond it; absent where all levels lie on one side. */
    public Optional<Step> step() {
        List<Level> below =
                levels.stream().filter(level -> level.pressure() <= 1).toList();
        List<Level> above =
                levels.stream().filter(level -> level.pressure() > 1).toList();
        if (below.isEmpty() || above.isEmpty()) {
            return Optional.empty();
        }
        double se = Math.hypot(se(below), se(above));
        double falls = mean(above) - mean(below);
        return Optional.of(new Step(mean(below), mean(above), new StudentT(MANY).cdf(falls / se)));
    }

    /**
     * Two mean effects.
     *
     * @param pFalling the probability of a step this far down if there were none
     */
    public record Step(double below, double above, double pFalling) {}

    private static double mean(List<Level> of) {
        return of.stream().mapToDouble(Level::effect).average().orElseThrow();
    }

    private static double se(List<Level> of) {
        double squares = 0;
        for (Level level : of) {
            double se = Math.max(level.se(), SMALLEST_SE);
            squares += se * se;
        }
        return Math.sqrt(squares) / of.size();
    }

    /** What the sweep lacks to be asked that, a sentence each. */
    public List<String> lacks() {
        List<String> lacks = new ArrayList<>();
        if (levels.stream().noneMatch(Level::placebo)) {
            lacks.add("The sweep has no level with memory to spare (pressure of at most " + MOST_PLACEBO_PRESSURE
                    + "), so nothing shows that the effect is gone where nothing is evicted; add one.");
        }
        if (!bearsALine()) {
            lacks.add("The sweep has " + pressures()
                    + " different levels of memory pressure; whether the effect grows with it" + " takes at least "
                    + FEWEST_LEVELS + " different ones, up to a full cache and beyond.");
        }
        return lacks;
    }

    /** Where every level is beyond a full cache, or none is, a flat effect is what is expected. */
    private boolean bearsALine() {
        return pressures() >= FEWEST_LEVELS
                && levels.stream().anyMatch(level -> level.pressure() <= 1)
                && levels.stream().anyMatch(level -> level.pressure() > 1);
    }

    private long pressures() {
        return levels.stream().mapToDouble(Level::pressure).distinct().count();
    }
}
