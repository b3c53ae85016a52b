package io.holdfast.loadtest.report;

import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * A figure as SVG: inside a page, which colours it by its own style, or as a picture that needs nothing else.
 *
 * <p>Inside a page it is drawn small, since a figure that is as wide as a telephone is shrunk there by little, and its
 * text stays legible. The shape of a mark tells its arm as well as its colour: round for the baseline, a diamond where a
 * prefix was held. Curves of a picture are told by their strokes as well, and their names stand at their ends.
 */
public final class Svg {
    private static final int MOST_STEPS = 7;
    private static final int MOST_DECIMALS = 6;
    private static final double MARK = 4.5;
    private static final double SMALL_MARK = 2;

    /** Labels nearer than this would stand in each other. */
    private static final int LABEL_HEIGHT = 18;

    private static final int LONGEST_TEXT = 80;
    private static final Frame IN_A_PAGE = new Frame(460, 260, 54, 10, 10, 40);
    private static final Frame PICTURE = new Frame(760, 440, 64, 150, 78, 64);

    /** Viewers that are no browsers paint everything black where a colour is a variable. */
    private static final String STYLE = """
        <style>
        .ground { fill: #ffffff; }
        text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #59636e; }
        text.title { font-size: 16px; font-weight: 600; fill: #1f2328; }
        text.name { font-weight: 600; }
        .grid { stroke: #d9dee3; stroke-width: 1; }
        .axis { stroke: #59636e; stroke-width: 1; }
        .curve { fill: none; stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }
        .a .curve { stroke: #59636e; stroke-dasharray: 2 6; } .a circle, .a text { fill: #59636e; }
        .b .curve { stroke: #0b5cad; } .b circle, .b text { fill: #0b5cad; }
        .c .curve { stroke: #a33b00; stroke-dasharray: 9 6; } .c circle, .c text { fill: #a33b00; }
        @media (prefers-color-scheme: dark) {
        .ground { fill: #14181d; }
        text { fill: #a6b0ba; }
        text.title { fill: #e8ecf0; }
        .grid { stroke: #363d45; }
        .axis { stroke: #a6b0ba; }
        .a .curve { stroke: #a6b0ba; } .a circle, .a text { fill: #a6b0ba; }
        .b .curve { stroke: #6db3ff; } .b circle, .b text { fill: #6db3ff; }
        .c .curve { stroke: #ffa166; } .c circle, .c text { fill: #ffa166; }
        }
        </style>
        """;

    /** Size of a figure, and the room around its axes. */
    private record Frame(int width, int height, int left, int right, int top, int bottom) {
        int base() {
            return height - bottom;
        }

        int end() {
            return width - right;
        }
    }

    private final Formatter text = new Formatter(Locale.ROOT);
    private final Frame frame;
    private final Axis xAxis;
    private final Axis yAxis;

    private Svg(Plot plot, Frame frame) {
        this.frame = frame;
        this.xAxis = plot.x();
        this.yAxis = plot.y();
    }

    /** Draws a figure that has points, for a page. */
    static String of(Plot plot) {
        Svg svg = new Svg(plot, IN_A_PAGE);
        svg.text.format(
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
                IN_A_PAGE.width(), IN_A_PAGE.height(), HtmlRenderer.escaped(plot.title()));
        svg.text.format(
                "<text transform=\"translate(12 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                (IN_A_PAGE.top() + IN_A_PAGE.base()) / 2,
                HtmlRenderer.escaped(plot.y().name()));
        svg.drawAxes(19, 5);
        if (plot.y().least() < 0 && plot.y().most() > 0) {
            svg.line("zero", IN_A_PAGE.left(), svg.y(0), IN_A_PAGE.end(), svg.y(0));
        }
        plot.series().forEach(svg::series);
        return svg.text.format("</svg>").toString();
    }

    /** Draws curves as a picture that stands in a file of its own, on light and on dark ground. */
    public static String picture(Plot plot) {
        Svg svg = new Svg(plot, PICTURE);
        String title = HtmlRenderer.escaped(shortened(plot.title()));
        svg.text.format(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\""
                        + " role=\"img\">\n<title>%s</title>\n%s",
                PICTURE.width(), PICTURE.height(), PICTURE.width(), PICTURE.height(), title, STYLE);
        svg.text.format("<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", PICTURE.width(), PICTURE.height());
        svg.text.format("<text class=\"title\" x=\"16\" y=\"30\">%s</text>\n", title);
        svg.text(16, 56, "start", plot.y().name());
        svg.drawAxes(22, 16);
        List<Double> names = svg.names(plot.series());
        for (int at = 0; at < names.size(); at++) {
            svg.curve(plot.series().get(at), names.get(at));
        }
        return svg.text.format("</svg>\n").toString();
    }

    private void curve(Series series, double nameAt) {
        text.format("<g class=\"%s\">\n", series.style());
        line("curve", series.points());
        series.points().forEach(point -> mark("point", point, MARK));
        text.format(
                "<text class=\"name\" x=\"%d\" y=\"%.1f\">%s</text>\n</g>\n",
                frame.end() + 14, nameAt + MARK, HtmlRenderer.escaped(shortened(series.name())));
    }

    /** Returns places of names: at the ends of their curves, but below each other, from the highest on. */
    private List<Double> names(List<Series> curves) {
        List<Double> names = new ArrayList<>(
                curves.stream().map(curve -> y(curve.points().getLast().y())).toList());
        double free = frame.top() - LABEL_HEIGHT;
        // Of equal ones the later curve is the better policy.
        for (int at : IntStream.range(0, names.size())
                .boxed()
                .sorted(Comparator.comparing((Integer at) -> names.get(at)).thenComparing(Comparator.reverseOrder()))
                .toList()) {
            names.set(at, Math.max(free, names.get(at)));
            free = names.get(at) + LABEL_HEIGHT;
        }
        double over = Math.max(0, free - LABEL_HEIGHT - frame.base());
        names.replaceAll(y -> y - over);
        return names;
    }

    private static String shortened(String text) {
        return text.length() <= LONGEST_TEXT ? text : "…" + text.substring(text.length() - LONGEST_TEXT);
    }

    private void series(Series series) {
        switch (series.shape()) {
            case MARKS -> series.points().forEach(point -> mark(series.style(), point, MARK));
            case SMALL_MARKS -> series.points().forEach(point -> mark(series.style(), point, SMALL_MARK));
            case LINE -> line(series.style(), series.points());
            case STAIRCASE -> staircase(series);
        }
    }

    private void line(String style, List<Point> points) {
        text.format("<polyline class=\"%s\" points=\"", style);
        points.forEach(point -> text.format("%.1f,%.1f ", x(point.x()), y(point.y())));
        text.format("\"/>\n");
    }

    private void staircase(Series series) {
        if (!series.points().isEmpty()) {
            text.format(
                    "<path class=\"%s\" d=\"M%.1f %.1f",
                    series.style(), x(series.points().getFirst().x()), y(0));
            series.points().forEach(point -> text.format("H%.1fV%.1f", x(point.x()), y(point.y())));
            text.format("H%d\"/>\n", frame.end());
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

    /**
     * Draws both axes.
     *
     * @param toNumbers from the x axis down to its numbers
     * @param toEdge from its name down to the edge
     */
    private void drawAxes(int toNumbers, int toEdge) {
        for (double tick : ticks(yAxis.least(), yAxis.most())) {
            line("grid", frame.left(), y(tick), frame.end(), y(tick));
            text(frame.left() - 6, y(tick) + 4.5, "end", number(yAxis.format(), tick));
        }
        int base = frame.base();
        line("axis", frame.left(), base, frame.end(), base);
        if (!xAxis.format().isEmpty()) {
            for (double tick : xAxis.logarithmic()
                    ? factorTicks(xAxis.least(), xAxis.most())
                    : ticks(xAxis.least(), xAxis.most())) {
                line("axis", x(tick), base, x(tick), base + 5);
                text(x(tick), base + toNumbers, "middle", number(xAxis.format(), tick));
            }
        }
        new TreeMap<>(xAxis.labels()).forEach((at, label) -> text(x(at), base + toNumbers, "middle", label));
        text((frame.left() + frame.end()) / 2.0, frame.height() - toEdge, "middle", xAxis.name());
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
        return frame.left() + xAxis.place(value) * (frame.end() - frame.left());
    }

    private double y(double value) {
        return frame.base() - yAxis.place(value) * (frame.base() - frame.top());
    }
}
