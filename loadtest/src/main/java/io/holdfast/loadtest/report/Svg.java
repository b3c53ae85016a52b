package io.holdfast.loadtest.report;

import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import java.util.ArrayList;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A figure as SVG that stands inside a page and takes its colours from that page's style.
 *
 * <p>It is drawn small, since a figure that is as wide as a telephone is shrunk there by little, and its text stays
 * legible. The shape of a mark tells its arm as well as its colour: round for the baseline, a diamond where a prefix
 * was held.
 */
final class Svg {
    private static final int WIDTH = 460;
    private static final int HEIGHT = 260;
    private static final int LEFT = 54;
    private static final int RIGHT = 10;
    private static final int TOP = 10;
    private static final int BOTTOM = 40;
    private static final int MOST_STEPS = 7;
    private static final int MOST_DECIMALS = 6;
    private static final double MARK = 4.5;
    private static final double SMALL_MARK = 2;

    private final Formatter text = new Formatter(Locale.ROOT);
    private final Axis xAxis;
    private final Axis yAxis;

    private Svg(Plot plot) {
        this.xAxis = plot.x();
        this.yAxis = plot.y();
    }

    /** Draws a figure that has points. */
    static String of(Plot plot) {
        Svg svg = new Svg(plot);
        svg.text.format(
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
                WIDTH, HEIGHT, HtmlRenderer.escaped(plot.title()));
        svg.drawY();
        svg.drawX();
        if (plot.y().least() < 0 && plot.y().most() > 0) {
            svg.line("zero", LEFT, svg.y(0), WIDTH - RIGHT, svg.y(0));
        }
        plot.series().forEach(svg::series);
        return svg.text.format("</svg>").toString();
    }

    private void series(Series series) {
        switch (series.shape()) {
            case MARKS -> series.points().forEach(point -> mark(series.style(), point, MARK));
            case SMALL_MARKS -> series.points().forEach(point -> mark(series.style(), point, SMALL_MARK));
            case LINE -> {
                text.format("<polyline class=\"%s\" points=\"", series.style());
                series.points().forEach(point -> text.format("%.1f,%.1f ", x(point.x()), y(point.y())));
                text.format("\"/>\n");
            }
            case STAIRCASE -> {
                if (!series.points().isEmpty()) {
                    text.format(
                            "<path class=\"%s\" d=\"M%.1f %.1f",
                            series.style(), x(series.points().getFirst().x()), y(0));
                    series.points().forEach(point -> text.format("H%.1fV%.1f", x(point.x()), y(point.y())));
                    text.format("H%d\"/>\n", WIDTH - RIGHT);
                }
            }
        }
    }

    private void mark(String style, Point point, double size) {
        double x = x(point.x());
        double y = y(point.y());
        if (style.startsWith("pinned")) {
            double half = 1.3 * size;
            text.format(
                    "<path class=\"%s\" d=\"M%.1f %.1f l%.1f %.1f l%.1f %.1f l%.1f %.1fz\">",
                    style, x, y - half, half, half, -half, half, -half, -half);
        } else {
            text.format("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", style, x, y, size);
        }
        text.format(
                "<title>%s</title></%s>\n",
                HtmlRenderer.escaped(point.label()), style.startsWith("pinned") ? "path" : "circle");
    }

    private void drawY() {
        for (double tick : ticks(yAxis.least(), yAxis.most())) {
            line("grid", LEFT, y(tick), WIDTH - RIGHT, y(tick));
            text(LEFT - 6, y(tick) + 4.5, "end", number(yAxis.format(), tick));
        }
        text.format(
                "<text transform=\"translate(12 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                TOP + (HEIGHT - TOP - BOTTOM) / 2, HtmlRenderer.escaped(yAxis.name()));
    }

    private void drawX() {
        double base = HEIGHT - BOTTOM;
        line("axis", LEFT, base, WIDTH - RIGHT, base);
        if (!xAxis.format().isEmpty()) {
            for (double tick : xAxis.logarithmic()
                    ? factorTicks(xAxis.least(), xAxis.most())
                    : ticks(xAxis.least(), xAxis.most())) {
                line("axis", x(tick), base, x(tick), base + 5);
                text(x(tick), base + 19, "middle", number(xAxis.format(), tick));
            }
        }
        xAxis.labels().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(label -> text(x(label.getKey()), base + 19, "middle", label.getValue()));
        text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 5, "middle", xAxis.name());
    }

    private void line(String style, double x1, double y1, double x2, double y2) {
        text.format("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", style, x1, y1, x2, y2);
    }

    private void text(double x, double y, String anchor, String words) {
        text.format(
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                x, y, anchor, HtmlRenderer.escaped(words));
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

    /**
     * Shows a number on an axis: zero has no sign, a minus is as long as a plus, and there are as many decimals as it
     * takes to be the number of its place. On a narrow axis one place would otherwise have the number of another.
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

    private double x(double value) {
        return LEFT + xAxis.place(value) * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        return HEIGHT - BOTTOM - yAxis.place(value) * (HEIGHT - TOP - BOTTOM);
    }
}
