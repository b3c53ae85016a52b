package io.holdfast.loadtest.report;

import java.util.ArrayList;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;

/**
 * One small figure with two axes, as SVG that stands inside a page and takes its colours from that page's style.
 *
 * <p>It is drawn small, since a figure that is as wide as a telephone is shrunk there by little, and its text stays
 * legible.
 */
final class Svg {
    static final int WIDTH = 460;
    static final int HEIGHT = 260;
    private static final int LEFT = 54;
    private static final int RIGHT = 10;
    private static final int TOP = 10;
    private static final int BOTTOM = 40;
    private static final int MOST_STEPS = 7;
    private static final int MOST_DECIMALS = 6;

    private final Formatter text = new Formatter(Locale.ROOT);
    private final double xLeast;
    private final double xMost;
    private final double yLeast;
    private final double yMost;
    private final boolean logarithmic;

    /** Linear in both directions. */
    static Svg linear(String label, double xLeast, double xMost, double yLeast, double yMost) {
        return new Svg(label, xLeast, xMost, yLeast, yMost, false);
    }

    /** Creates a chart with an x axis on which equal distances are equal factors. */
    static Svg logarithmic(String label, double xLeast, double xMost, double yLeast, double yMost) {
        return new Svg(label, xLeast, xMost, yLeast, yMost, true);
    }

    private Svg(String label, double xLeast, double xMost, double yLeast, double yMost, boolean logarithmic) {
        this.xLeast = xLeast;
        this.xMost = xMost > xLeast ? xMost : xLeast + 1;
        this.yLeast = yLeast;
        this.yMost = yMost > yLeast ? yMost : yLeast + 1;
        this.logarithmic = logarithmic;
        text.format("<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH, HEIGHT, Html.escaped(label));
    }

    /** Returns round numbers from the least to the most. */
    static List<Double> ticks(double least, double most) {
        double step = 1e-9;
        for (double decade = 1e-9; decade <= 1e12 && (most - least) / step > MOST_STEPS; decade *= 10) {
            for (double factor : new double[] {1, 2, 5}) {
                step = factor * decade;
                if ((most - least) / step <= MOST_STEPS) {
                    break;
                }
            }
        }
        List<Double> ticks = new ArrayList<>();
        for (double tick = Math.ceil(least / step) * step; tick <= most + step / 1e6; tick += step) {
            ticks.add(Math.abs(tick) < step / 1e6 ? 0 : tick);
        }
        return ticks;
    }

    /** Returns the ticks of an axis on which equal distances are equal factors. */
    static List<Double> factorTicks(double least, double most) {
        double[] factors = most / least > 300 ? new double[] {1} : new double[] {1, 2, 5};
        List<Double> ticks = new ArrayList<>();
        for (double decade = 1e-6; decade <= most; decade *= 10) {
            for (double factor : factors) {
                double tick = factor * decade;
                if (tick >= least && tick <= most) {
                    ticks.add(tick);
                }
            }
        }
        return ticks.size() < 2 ? ticks(least, most) : ticks;
    }

    Svg yAxis(String unit, String format) {
        for (double tick : ticks(yLeast, yMost)) {
            double y = y(tick);
            text.format(
                    "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                            + "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                    LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4.5);
            text.format("%s</text>\n", number(format, tick));
        }
        text.format(
                "<text transform=\"translate(12 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                TOP + (HEIGHT - TOP - BOTTOM) / 2, Html.escaped(unit));
        return this;
    }

    Svg xAxis(String unit, String format) {
        for (double tick : logarithmic ? factorTicks(xLeast, xMost) : ticks(xLeast, xMost)) {
            text.format(
                    "<line class=\"axis\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                            + "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                    x(tick), HEIGHT - BOTTOM, x(tick), HEIGHT - BOTTOM + 5, x(tick), HEIGHT - BOTTOM + 19);
            text.format("%s</text>\n", number(format, tick));
        }
        return xTitle(unit);
    }

    /**
     * A number on an axis: zero has no sign, a minus is as long as a plus, and there are as many decimals as it takes
     * to be the number of its place. On a narrow axis one place would otherwise have the number of another.
     *
     * @param format with the fewest decimals, as {@code %+.0f %%}
     */
    static String number(String format, double value) {
        int decimals = 0;
        while (decimals < MOST_DECIMALS && !isRound(value, decimals)) {
            decimals++;
        }
        String exact = format.contains("." + decimals + "f") || decimals == 0
                ? format
                : format.replaceFirst("\\.\\df", "." + decimals + "f");
        String plain = String.format(Locale.ROOT, exact, value);
        return (value == 0 ? plain.replaceFirst("^[+-]", "") : plain).replace('-', '\u2212');
    }

    private static boolean isRound(double value, int decimals) {
        double scaled = value * Math.pow(10, decimals);
        return Math.abs(scaled - Math.rint(scaled)) <= 1e-6 * Math.abs(scaled);
    }

    /** A name in place of a number on the x axis. */
    Svg xLabel(double at, String name) {
        text.format(
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x(at), HEIGHT - BOTTOM + 19, Html.escaped(name));
        return this;
    }

    Svg xTitle(String unit) {
        text.format(
                "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>"
                        + "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                LEFT,
                HEIGHT - BOTTOM,
                WIDTH - RIGHT,
                HEIGHT - BOTTOM,
                LEFT + (WIDTH - LEFT - RIGHT) / 2,
                HEIGHT - 5,
                Html.escaped(unit));
        return this;
    }

    /** A mark whose shape tells the arm as well as its colour: round for the baseline, a diamond where it was held. */
    Svg mark(String style, double x, double y, double size, String title) {
        if (style.startsWith("pinned")) {
            text.format(
                    "<path class=\"%s\" d=\"M%.1f %.1f l%.1f %.1f l%.1f %.1f l%.1f %.1fz\">",
                    style,
                    x(x),
                    y(y) - 1.3 * size,
                    1.3 * size,
                    1.3 * size,
                    -1.3 * size,
                    1.3 * size,
                    -1.3 * size,
                    -1.3 * size);
        } else {
            text.format("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", style, x(x), y(y), size);
        }
        text.format("<title>%s</title></%s>\n", Html.escaped(title), style.startsWith("pinned") ? "path" : "circle");
        return this;
    }

    Svg line(String style, double x1, double y1, double x2, double y2) {
        text.format(
                "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                style, x(x1), y(y1), x(x2), y(y2));
        return this;
    }

    /** The part of a sorted sample that is at most as large as each of its values, as a staircase. */
    Svg staircase(String style, double[] sorted) {
        text.format("<path class=\"%s\" d=\"M%.1f %.1f", style, x(sorted[0]), y(0));
        for (int i = 0; i < sorted.length; i++) {
            text.format("H%.1fV%.1f", x(sorted[i]), y(100.0 * (i + 1) / sorted.length));
        }
        text.format("H%.1f\"/>\n", x(xMost));
        return this;
    }

    String end() {
        return text.format("</svg>").toString();
    }

    private double x(double value) {
        double place = logarithmic
                ? Math.log(Math.max(value, xLeast) / xLeast) / Math.log(xMost / xLeast)
                : (value - xLeast) / (xMost - xLeast);
        return LEFT + place * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        return HEIGHT - BOTTOM - (value - yLeast) / (yMost - yLeast) * (HEIGHT - TOP - BOTTOM);
    }
}
