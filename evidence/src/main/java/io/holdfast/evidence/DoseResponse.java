package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.ToDoubleFunction;

/*
 * What levels say of each other
 * =============================
 *
 * The placebo. Where nothing is evicted a hold has nothing to win, so a gain there has another cause. A gain that is
 * shown and matters: another cause is at work, of unknown size elsewhere, and no level is REAL. Otherwise the placebo's
 * bound says how large a gain of another cause may be, and that takes REAL only from those levels whose interval does
 * not lie beyond the bound: from these a cause of that size would leave nothing. A placebo that is sure has a bound
 * near 0, one that cannot tell a far one, and asks for its own missing pairs. Both a gain and the bound are held to 1 %
 * on their side, since a false REAL may be that frequent. A loss at the placebo explains no gain.
 *
 * The trend. A full cache loses what it is asked for at once, which is a step at a pressure of 1; elsewhere the effect
 * may grow evenly with the logarithm of the pressure. One of the two has to be shown. A step is tested by Welch's t
 * with the degrees of freedom of the levels.
 */

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
    /** Two-sided, so that each end is exceeded once in a hundred times. */
    private static final double BOUND = 0.98;
    /** No level counts as known better than to a thousandth, else one calm level would draw the line alone. */
    private static final double SMALLEST_SE = 0.001;

    public DoseResponse {
        levels = List.copyOf(levels);
    }

    /**
     * One level of memory pressure and the effect measured there.
     *
     * @param df degrees of freedom of the standard error
     * @param placebo whether nothing can be evicted at it, so that an effect there has another cause
     */
    public record Level(double pressure, double effect, double se, int df, boolean placebo) {
        public Level {
            if (!(pressure > 0 && Double.isFinite(pressure))) {
                throw new IllegalArgumentException("Memory pressure is demand over capacity and above 0, not "
                        + pressure + "; read both from the server.");
            }
            Finite.value("The effect of a level", effect);
            Finite.value("The standard error of a level", se);
            if (df < 1) {
                throw new IllegalArgumentException(
                        "A level has at least one degree of freedom, not " + df + "; measure more pairs.");
            }
        }

        /** One that is a placebo by its pressure. */
        public Level(double pressure, double effect, double se, int df) {
            this(pressure, effect, se, df, pressure <= MOST_PLACEBO_PRESSURE);
        }

        /** Returns this level as a placebo; it has to be declared before it is measured. */
        public Level asPlacebo() {
            return new Level(pressure, effect, se, df, true);
        }

        /** The level of an estimate; absent when the estimate has no interval. */
        public static Optional<Level> of(double pressure, Estimate estimate) {
            return estimate.se().isEmpty()
                    ? Optional.empty()
                    : Optional.of(new Level(
                            pressure,
                            estimate.effect().orElseThrow(),
                            estimate.se().getAsDouble(),
                            estimate.df().orElseThrow()));
        }

        /** The interval of two one-sided tests at 5 %. */
        public Interval ci90() {
            return interval(0.90);
        }

        /** The largest gain that is possible here, exceeded once in a hundred times; a log ratio of at most 0. */
        public double mostGain() {
            return Math.min(0, interval(BOUND).low());
        }

        /** Reads this level as a placebo. */
        public PlaceboAnswer asked(double delta) {
            if (interval(BOUND).below(0) && effect <= -delta) {
                return PlaceboAnswer.GAIN;
            }
            return ci90().within(delta) ? PlaceboAnswer.NOTHING : PlaceboAnswer.UNKNOWN;
        }

        /**
         * The pairs of each order that would find a gain here as small as matters; more than there are. Absent where no
         * practical number would.
         */
        public OptionalInt pairsToTell(double delta) {
            return beyondThese(RequiredPairs.toDetect(pairSd(), delta));
        }

        /** The pairs of each order with which an effect as the measured one would leave a level this gain. */
        private OptionalInt pairsToTellFrom(double gain) {
            double room = Math.min(0, effect) - gain;
            return room <= 0 ? OptionalInt.empty() : beyondThese(RequiredPairs.toNarrow(pairSd(), room, BOUND));
        }

        private OptionalInt beyondThese(OptionalInt pairs) {
            return pairs.isPresent() ? OptionalInt.of(Math.max(pairs.getAsInt(), df / 2 + 2)) : pairs;
        }

        /** With n pairs of each order there are 2 n - 2 degrees of freedom. */
        private double pairSd() {
            return se * Math.sqrt(df + 2.0);
        }

        private Interval interval(double confidence) {
            return Interval.around(effect, new StudentT(df).factor(confidence) * se);
        }

        private double floored() {
            return Math.max(se, SMALLEST_SE);
        }
    }

    /** Evidence that a level with memory to spare gives of another cause than kept cache. */
    public enum PlaceboAnswer {
        /** Shown to do nothing that matters. */
        NOTHING,
        /** Too few pairs for their scatter. */
        UNKNOWN,
        /** Another cause is at work. */
        GAIN
    }

    /** Course of the effect over memory pressure. */
    public enum Trend {
        /** It comes with a full cache. */
        STEP,
        /** It grows with the logarithm of the pressure. */
        LINE,
        /** Neither is shown. */
        NONE,
        /** The sweep has no levels to show it by. */
        UNASKED
    }

    /** The effect over ln(pressure), levels weighted by their precision; absent below three different levels. */
    public Optional<LinearFit> fit() {
        return LinearFit.of(
                numbers(level -> Math.log(level.pressure())),
                numbers(Level::effect),
                numbers(level -> 1 / (level.floored() * level.floored())));
    }

    private double[] numbers(ToDoubleFunction<Level> of) {
        return levels.stream().mapToDouble(of).toArray();
    }

    /** The placebo that is known best. */
    public Optional<Level> placebo() {
        return levels.stream().filter(Level::placebo).min(Comparator.comparingDouble(Level::se));
    }

    /**
     * Why the sweep does not support that kept cache caused the effect of one level; absent when it does, or cannot
     * tell.
     *
     * @param of the interval of that level's effect
     */
    public Optional<String> objection(double delta, Interval of) {
        return refutation(delta)
                .or(() -> placebo()
                        .filter(level -> of.high() >= level.mostGain())
                        .map(level -> room(level)
                                + ", and another cause of that size would leave nothing of this one; "
                                + advice(
                                        level.pairsToTellFrom(of.high()).isPresent()
                                                ? level.pairsToTellFrom(of.high())
                                                : level.pairsToTell(delta))));
    }

    /** Reason why the sweep supports the effect at none of its levels; absent when it may. */
    public Optional<String> refutation(double delta) {
        return levels.stream()
                .filter(level -> level.placebo() && level.asked(delta) == PlaceboAnswer.GAIN)
                .findFirst()
                .map(level ->
                        "with memory to spare (pressure %s) there is a gain as well, of %s (98 %% CI %s), which kept cache cannot cause"
                                .formatted(
                                        Words.number(level.pressure()),
                                        Words.percent(level.effect()),
                                        Words.percent(level.interval(BOUND))))
                .or(() -> trend() == Trend.NONE
                        ? fit().map(line ->
                                "the effect does not grow with memory pressure (slope %s per unit of ln pressure, p %s)"
                                        .formatted(Words.number(line.slope()), Words.number(line.pFalling())))
                        : Optional.empty());
    }

    /** Doubt that the placebo leaves open where it takes nothing from a level; absent when the placebo is sure. */
    public Optional<String> caution(double delta) {
        return placebo()
                .filter(level -> level.asked(delta) == PlaceboAnswer.UNKNOWN)
                .map(level -> Character.toUpperCase(room(level).charAt(0))
                        + room(level).substring(1)
                        + ": less than what was found here, and not shown to be nothing; "
                        + advice(level.pairsToTell(delta)) + ".");
    }

    private static String room(Level placebo) {
        return "with memory to spare (pressure %s) the effect of %s may be a gain of up to %s (a bound at 1 %%)"
                .formatted(
                        Words.number(placebo.pressure()),
                        Words.percent(placebo.effect()),
                        Words.percent(placebo.mostGain()));
    }

    private static String advice(OptionalInt pairs) {
        return pairs.isPresent()
                ? "run about " + pairs.getAsInt() + " pairs of each order at that level, or more cycles a leg"
                : "no practical number of pairs would tell, so run more cycles a leg at that level";
    }

    /** Tells whether the effect comes with pressure, as what kept cache saves does. */
    public Trend trend() {
        if (!bearsALine()) {
            return Trend.UNASKED;
        }
        if (step().filter(of -> of.pFalling() < SIGNIFICANT).isPresent()) {
            return Trend.STEP;
        }
        return fit().filter(line -> line.slope() < 0 && line.pFalling() < SIGNIFICANT)
                        .isPresent()
                ? Trend.LINE
                : Trend.NONE;
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
        double variance = 0;
        double shares = 0;
        for (Level level : levels) {
            int beside = level.pressure() <= 1 ? below.size() : above.size();
            double part = square(level.floored() / beside);
            variance += part;
            shares += square(part) / level.df();
        }
        double falls = mean(above) - mean(below);
        StudentT welch = new StudentT(square(variance) / shares);
        return Optional.of(new Step(mean(below), mean(above), welch.cdf(falls / Math.sqrt(variance))));
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

    private static double square(double x) {
        return x * x;
    }

    /** Lists what the sweep lacks to answer its question, a sentence each. */
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

    /** Returns false where every level is beyond a full cache, or no level is: there a flat effect is expected. */
    private boolean bearsALine() {
        return pressures() >= FEWEST_LEVELS
                && levels.stream().anyMatch(level -> level.pressure() <= 1)
                && levels.stream().anyMatch(level -> level.pressure() > 1);
    }

    private long pressures() {
        return levels.stream().mapToDouble(Level::pressure).distinct().count();
    }
}
