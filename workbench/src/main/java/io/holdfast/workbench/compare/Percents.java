package io.holdfast.workbench.compare;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;

/** Changes as text, by one rule for all: half up, and never a sign before zero. */
public final class Percents {
    private static final double FINE = 0.1;

    /** Change from which nobody reads a percentage. */
    private static final double MANIFOLD = 10;

    private Percents() {}

    /** A share such as 0.0312 as {@code +3.12 %}; from ten percent on with one decimal. */
    public static String signed(double share) {
        return text(share, Math.abs(share) < FINE ? 2 : 1, true);
    }

    /** Returns the percentage as a whole number, as {@code +25 %}. */
    public static String whole(double share) {
        return text(share, 0, true);
    }

    /** Returns a range of whole percentages, as {@code +12 to +15 %}. */
    public static String range(double least, double most) {
        return whole(least).equals(whole(most)) ? whole(least) : whole(least).replace(" %", "") + " to " + whole(most);
    }

    /** One decimal and no sign before what is above zero. */
    public static String plain(double share) {
        return text(share, 1, false);
    }

    /** One decimal, signed. */
    public static String plainSigned(double share) {
        return text(share, 1, true);
    }

    /** A percentage that is rounded already, with its sign. */
    public static String printed(BigDecimal percent) {
        return (percent.signum() > 0 ? "+" : "") + percent.toPlainString() + " %";
    }

    private static String text(double share, int decimals, boolean sign) {
        if (share >= MANIFOLD) {
            return String.format(Locale.ROOT, "%,.0f times", 1 + share);
        }
        BigDecimal percent = BigDecimal.valueOf(100 * share).setScale(decimals, RoundingMode.HALF_UP);
        return sign ? printed(percent) : percent.toPlainString() + " %";
    }
}
