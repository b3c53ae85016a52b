package io.holdfast.core.rank;

import java.util.Arrays;

/**
 * Estimates how likely a block of a class is to be used again, the longer it has not been; learned from gaps between
 * uses.
 */
final class ReuseCurves {
    /*
     * Curve
     * -----
     * A block that is used again after some time is an event at that age. One that was not used again so far says only
     * that it was not until now: it is censored at its age. Kaplan and Meier's estimate takes both into account: the
     * hazard of an age is events over all that got so old. Classes with little data lean on all blocks together, with
     * the weight of so many blocks as PRIOR says. A hint multiplies the hazard of an age by what blocks with that hint
     * showed against what was to be expected of them; so one that tells nothing comes out at 1, whatever its owner says
     * of it.
     *
     * Index
     * -----
     * To keep a block of age a until age t costs the block-seconds for which it stays unused, and wins a use if one
     * comes until then. The best ratio of the two over all t is Gittins' index: the rate of reuse that the block
     * promises for the time that pays best, which is what blocks of different classes can be compared by. It needs no
     * horizon to be chosen.
     *
     * Blocks that are censored now are counted anew at each fit, from where they are; those that were forgotten stay
     * counted at the age that they had.
     *
     * A fit fixes what was counted until then. The curve and the index of a class are worked out of that when somebody
     * asks for them first, since most of the classes have no block in a cache.
     */
    static final int HINTS = 3;

    private static final double PRIOR = 50;
    private static final double HINT_PRIOR = 2_000;
    private static final double MOST_HAZARD = 0.999;
    /** Number of bins ahead in which the best time to keep a block is looked for. */
    private static final int AHEAD = 14;

    private static final double[] NOTHING = new double[AgeBins.COUNT];
    /** Rates of a curve that nobody asked for since there was one. */
    private static final float[] NO_RATES = new float[AgeBins.COUNT * AgeBins.STEPS];

    private final int classes;
    private final double[] events;
    private final double[] forgotten;
    private final double[] censored;
    private final double[] hintEvents = new double[HINTS * AgeBins.COUNT];
    private final double[] hintForgotten = new double[HINTS * AgeBins.COUNT];
    private final double[] hintCensored = new double[HINTS * AgeBins.COUNT];
    /** Fitted values by class and bin, as of the last fit. */
    private final double[] fitted;
    /** Fitted values by bin, of all classes together. */
    private double[] pooled = new double[AgeBins.COUNT];
    /** Ratios by hint and bin: what its blocks showed against what was to be expected of them. */
    private final double[][] ratios = new double[HINTS][AgeBins.COUNT];
    /** True, by hint and class, if what follows is of the last fit. */
    private final boolean[] workedOut;
    /** Rates by hint and class, and by step of age. */
    private final float[][] rates;
    /**
     * Survival by hint, class and edge of a bin: the share that was not used again until then, by what was seen of the
     * class.
     */
    private final float[] survivals;

    private final double[] hazard = new double[AgeBins.COUNT];
    private final double[] survival = new double[AgeBins.COUNT + 1];

    ReuseCurves(int classes) {
        this.classes = classes;
        events = new double[classes * AgeBins.COUNT];
        forgotten = new double[classes * AgeBins.COUNT];
        censored = new double[classes * AgeBins.COUNT];
        fitted = new double[classes * AgeBins.COUNT];
        workedOut = new boolean[HINTS * classes];
        Arrays.fill(workedOut, true);
        rates = new float[HINTS * classes][];
        Arrays.fill(rates, NO_RATES);
        survivals = new float[HINTS * classes * (AgeBins.COUNT + 1)];
        Arrays.fill(survivals, 1);
    }

    void usedAgain(int blockClass, int hint, double age) {
        int bin = AgeBins.of(age);
        events[blockClass * AgeBins.COUNT + bin]++;
        hintEvents[hint * AgeBins.COUNT + bin]++;
    }

    /** A block that nobody remembers any more had not been used again until this age. */
    void forgotten(int blockClass, int hint, double age) {
        int bin = AgeBins.of(age);
        forgotten[blockClass * AgeBins.COUNT + bin]++;
        hintForgotten[hint * AgeBins.COUNT + bin]++;
    }

    /** Copies what was counted, without what is not used yet. */
    ReuseCounts counts(long[] gaps) {
        return ReuseCounts.of(events, forgotten, hintEvents, hintForgotten, gaps);
    }

    /** Counts what others counted, of whose blocks nothing else is remembered, in place of what they told before. */
    void replace(ReuseCounts before, ReuseCounts now) {
        replace(events, before.used(), now.used());
        replace(forgotten, before.unused(), now.unused());
        replace(hintEvents, before.hintedUsed(), now.hintedUsed());
        replace(hintForgotten, before.hintedUnused(), now.hintedUnused());
    }

    private static void replace(double[] in, double[] before, double[] now) {
        Arrays.setAll(in, at -> Math.max(0, in[at] - before[at]) + now[at]);
    }

    void beginFit() {
        System.arraycopy(forgotten, 0, censored, 0, censored.length);
        System.arraycopy(hintForgotten, 0, hintCensored, 0, hintCensored.length);
    }

    void notUsedYet(int blockClass, int hint, double age) {
        int bin = AgeBins.of(age);
        censored[blockClass * AgeBins.COUNT + bin]++;
        hintCensored[hint * AgeBins.COUNT + bin]++;
    }

    void endFit() {
        pooled = pooledHazard();
        for (int hint = 0; hint < HINTS; hint++) {
            hintRatio(hint, pooled, ratios[hint]);
        }
        System.arraycopy(events, 0, fitted, 0, fitted.length);
        Arrays.fill(workedOut, false);
    }

    @SuppressWarnings("ReferenceEquality") // one array stands for all rates that were never worked out
    private void workOut(int blockClass, int hint) {
        int curve = hint * classes + blockClass;
        if (workedOut[curve]) {
            return;
        }
        workedOut[curve] = true;
        hazard(blockClass, NOTHING);
        survive(ratios[hint]);
        for (int edge = 0; edge <= AgeBins.COUNT; edge++) {
            survivals[curve * (AgeBins.COUNT + 1) + edge] = (float) survival[edge];
        }
        hazard(blockClass, pooled);
        survive(ratios[hint]);
        if (rates[curve] == NO_RATES) {
            rates[curve] = new float[NO_RATES.length];
        }
        fillRates(rates[curve]);
    }

    private void survive(double[] ratio) {
        survival[0] = 1;
        for (int bin = 0; bin < AgeBins.COUNT; bin++) {
            survival[bin + 1] = survival[bin] * (1 - Math.min(hazard[bin] * ratio[bin], MOST_HAZARD));
        }
    }

    /** The best rate of reuse that a block of this age promises, in uses a second that it is kept. */
    float rate(int blockClass, int hint, double age) {
        workOut(blockClass, hint);
        return rates[hint * classes + blockClass][AgeBins.step(age)];
    }

    /**
     * Returns the chance that a block of this age is used again within so many seconds. Unlike an order, which needs
     * some number for each, this leans on nothing but the class itself: what was not seen of it counts as no use.
     */
    double chance(int blockClass, int hint, double age, double seconds) {
        workOut(blockClass, hint);
        int from = (hint * classes + blockClass) * (AgeBins.COUNT + 1);
        double now = survival(from, age);
        return now > 0 ? 1 - survival(from, age + seconds) / now : 0;
    }

    private double survival(int from, double age) {
        int bin = AgeBins.of(age);
        double within = Math.min(1, (age - AgeBins.edge(bin)) / (AgeBins.edge(bin + 1) - AgeBins.edge(bin)));
        double before = survivals[from + bin];
        return before > 0 ? before * Math.pow(survivals[from + bin + 1] / before, within) : 0;
    }

    private double[] pooledHazard() {
        double[] happened = new double[AgeBins.COUNT];
        double[] atRisk = new double[AgeBins.COUNT + 1];
        for (int bin = AgeBins.COUNT - 1; bin >= 0; bin--) {
            atRisk[bin] = atRisk[bin + 1];
            for (int blockClass = 0; blockClass < classes; blockClass++) {
                int at = blockClass * AgeBins.COUNT + bin;
                happened[bin] += events[at];
                atRisk[bin] += events[at] + censored[at];
            }
        }
        double[] hazard = new double[AgeBins.COUNT];
        Arrays.setAll(hazard, bin -> atRisk[bin] > 0 ? happened[bin] / atRisk[bin] : 0);
        return hazard;
    }

    private void hazard(int blockClass, double[] prior) {
        double atRisk = 0;
        for (int bin = AgeBins.COUNT - 1; bin >= 0; bin--) {
            int at = blockClass * AgeBins.COUNT + bin;
            atRisk += fitted[at] + censored[at];
            hazard[bin] = (fitted[at] + PRIOR * prior[bin]) / (atRisk + PRIOR);
        }
    }

    private void hintRatio(int hint, double[] pooled, double[] ratio) {
        double atRisk = 0;
        for (int bin = AgeBins.COUNT - 1; bin >= 0; bin--) {
            int at = hint * AgeBins.COUNT + bin;
            atRisk += hintEvents[at] + hintCensored[at];
            double expected = (atRisk + HINT_PRIOR) * pooled[bin];
            ratio[bin] = expected > 0 ? (hintEvents[at] + HINT_PRIOR * pooled[bin]) / expected : 1;
        }
    }

    private void fillRates(float[] filled) {
        for (int step = 0; step < AgeBins.COUNT * AgeBins.STEPS; step++) {
            int bin = step / AgeBins.STEPS;
            double within = (step % AgeBins.STEPS) / (double) AgeBins.STEPS;
            double age = AgeBins.edge(bin) + within * (AgeBins.edge(bin + 1) - AgeBins.edge(bin));
            double now = survival[bin] * Math.pow(survival[bin + 1] / survival[bin], within);
            double best = 0;
            double unused = 0;
            double before = age;
            double beforeSurvival = now;
            int last = Math.min(AgeBins.COUNT, bin + AHEAD);
            for (int edge = bin + 1; edge <= last; edge++) {
                unused += (AgeBins.edge(edge) - before) * (beforeSurvival + survival[edge]) / 2;
                before = AgeBins.edge(edge);
                beforeSurvival = survival[edge];
                best = Math.max(best, (now - survival[edge]) / unused);
            }
            filled[step] = (float) best;
        }
    }
}
