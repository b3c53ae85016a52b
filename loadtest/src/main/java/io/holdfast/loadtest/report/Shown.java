package io.holdfast.loadtest.report;

import io.holdfast.evidence.Interval;
import java.util.Locale;
import java.util.OptionalDouble;

/** Numbers as people read them; what is unknown is said to be unknown. */
public final class Shown {
    private Shown() {}

    /** Shows a number that may be unknown. */
    public static String number(String format, OptionalDouble value) {
        return number(format, value, "unknown");
    }

    /** Shows a number, or other words where it is unknown. */
    public static String number(String format, OptionalDouble value, String unknown) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : unknown;
    }

    /** Shows a whole number in groups of three digits. */
    public static String count(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    /** Shows a log ratio as a percentage of change. */
    public static String change(double log) {
        return percent(growth(log));
    }

    /** Shows a log ratio that may be unknown as a percentage of change. */
    public static String change(OptionalDouble log) {
        return log.isPresent() ? change(log.getAsDouble()) : "unknown";
    }

    /** Shows a percentage with its sign; one that is nothing has none. */
    public static String percent(double percent) {
        String shown = String.format(Locale.ROOT, "%+.1f %%", percent);
        return shown.substring(1).equals("0.0 %") ? "0.0 %" : shown;
    }

    /** Shows an interval of log ratios as percentages of change. */
    public static String interval(Interval log) {
        return String.format(Locale.ROOT, "%+.1f to %+.1f %%", growth(log.low()), growth(log.high()));
    }

    /** Shows a share. */
    public static String share(double share) {
        return String.format(Locale.ROOT, "%.0f %%", 100 * share);
    }

    /** Returns the percentage of change that a log ratio is. */
    public static double growth(double log) {
        return 100 * Math.expm1(log);
    }

    /** Writes negative numbers with a minus that is as long as a plus, for where there is such a letter. */
    static String typographic(String text) {
        return text.replaceAll("(?<![\\w.-])-(?=\\d)", "\u2212");
    }
}
