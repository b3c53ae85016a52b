package io.holdfast.evidence;

import java.util.Arrays;

/** Holm's correction: p values of several questions asked of one experiment, as if each had been the only one. */
public final class Holm {
    private Holm() {}

    /** The adjusted p values, in the order of the given ones. */
    public static double[] adjust(double... pValues) {
        double[] adjusted = new double[pValues.length];
        for (int i = 0; i < pValues.length; i++) {
            adjusted[i] = adjusted(pValues, pValues[i]);
        }
        return adjusted;
    }

    /** The p value {@code own}, adjusted for the others that were asked beside it. */
    static double adjusted(double own, Iterable<Double> others) {
        double[] all = {own};
        for (double other : others) {
            all = Arrays.copyOf(all, all.length + 1);
            all[all.length - 1] = other;
        }
        return adjusted(all, own);
    }

    private static double adjusted(double[] all, double own) {
        double[] sorted = all.clone();
        Arrays.sort(sorted);
        double largest = 0;
        for (int i = 0; i < sorted.length && sorted[i] <= own; i++) {
            largest = Math.max(largest, (sorted.length - i) * sorted[i]);
        }
        return Math.min(1, largest);
    }
}
