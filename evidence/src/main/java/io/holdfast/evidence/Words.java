package io.holdfast.evidence;

import java.util.Locale;

/** Numbers as they stand in the sentences of a verdict. */
final class Words {
    private Words() {}

    /** A log ratio as a signed percentage of change. */
    static String percent(double logRatio) {
        return signed(100 * Math.expm1(logRatio));
    }

    static String percent(Interval logRatios) {
        return percent(logRatios.low()) + " to " + percent(logRatios.high());
    }

    /** The margins within which an effect does not count. */
    static String margins(double delta) {
        return percent(-delta) + " to " + percent(delta);
    }

    /** A share of one as a percentage. */
    static String share(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share);
    }

    static String share(Interval shares) {
        return share(shares.middle()) + " (95 % CI " + share(shares.low()) + " to " + share(shares.high()) + ")";
    }

    static String number(double value) {
        return String.format(Locale.ROOT, "%.2g", value);
    }

    private static String signed(double percent) {
        return String.format(Locale.ROOT, "%+.1f %%", percent);
    }
}
