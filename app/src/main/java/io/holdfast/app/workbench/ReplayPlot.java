package io.holdfast.app.workbench;

import java.util.ArrayList;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Hit ratio over capacity as a picture: one SVG that needs nothing else, on light and on dark ground. */
final class ReplayPlot {
    private static final int WIDTH = 760;
    private static final int HEIGHT = 440;
    private static final int LEFT = 64;
    private static final int RIGHT = 150;
    private static final int TOP = 78;
    private static final int BOTTOM = 64;
    /** Labels nearer than this would stand in each other. */
    private static final int LABEL_HEIGHT = 18;

    private static final int MOST_STEPS = 6;
    private static final int LONGEST_TEXT = 80;

    /** Also told by their strokes, for who cannot tell them by colour. */
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

    /** What one policy found, by capacity. */
    private record Curve(String style, String name, NavigableMap<Integer, Double> ratios) {}

    private final String title;
    private final String unit;
    private final List<Curve> curves = new ArrayList<>();

    /**
     * Begins without curves.
     *
     * @param unit what capacities are counted in
     */
    ReplayPlot(String title, String unit) {
        this.title = title;
        this.unit = unit;
    }

    ReplayPlot lru(NavigableMap<Integer, Double> ratios) {
        return with("a", "LRU", ratios);
    }

    ReplayPlot policy(String name, NavigableMap<Integer, Double> ratios) {
        return with("b", name, ratios);
    }

    ReplayPlot optimum(NavigableMap<Integer, Double> ratios) {
        return with("c", "optimum", ratios);
    }

    private ReplayPlot with(String style, String name, NavigableMap<Integer, Double> ratios) {
        curves.add(new Curve(style, name, new TreeMap<>(ratios)));
        return this;
    }

    String svg() {
        int least = curves.stream()
                .mapToInt(curve -> curve.ratios().firstKey())
                .min()
                .orElse(1);
        int most = curves.stream()
                .mapToInt(curve -> curve.ratios().lastKey())
                .max()
                .orElse(1);
        double highest = curves.stream()
                .flatMap(curve -> curve.ratios().values().stream())
                .mapToDouble(ratio -> 100 * ratio)
                .max()
                .orElse(0);
        double step = step(highest);
        double top = Math.max(1, Math.ceil(highest / step)) * step;
        Formatter svg = new Formatter(Locale.ROOT);
        svg.format(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\""
                        + " role=\"img\">\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT);
        svg.format("<title>%s</title>\n", escaped(title));
        svg.format("%s", STYLE);
        svg.format("<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
        svg.format("<text class=\"title\" x=\"16\" y=\"30\">%s</text>\n", escaped(title));
        svg.format("<text x=\"16\" y=\"56\">blocks found, %% of all</text>\n");
        for (int at = 0; at * step <= top + step / 2; at++) {
            double y = y(at * step, top);
            svg.format(
                    "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n",
                    at == 0 ? "axis" : "grid", LEFT, y, WIDTH - RIGHT, y);
            svg.format(
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                    LEFT - 10,
                    y + 4.5,
                    step < 1 ? String.format(Locale.ROOT, "%.1f", at * step) : String.valueOf(Math.round(at * step)));
        }
        for (int tick : ticks(least, most)) {
            double x = x(tick, least, most);
            svg.format(
                    "<line class=\"axis\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
                    x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 6);
            svg.format("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%,d</text>\n", x, HEIGHT - BOTTOM + 22, tick);
        }
        svg.format(
                "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">capacity, %s</text>\n",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, escaped(unit));
        curves(svg, least, most, top);
        return svg.format("</svg>\n").toString();
    }

    private void curves(Formatter svg, int least, int most, double top) {
        List<Double> labels = labels(top);
        for (int at = 0; at < curves.size(); at++) {
            Curve curve = curves.get(at);
            svg.format("<g class=\"%s\">\n<polyline class=\"curve\" points=\"", curve.style());
            curve.ratios()
                    .forEach((capacity, ratio) ->
                            svg.format("%.1f,%.1f ", x(capacity, least, most), y(100 * ratio, top)));
            svg.format("\"/>\n");
            curve.ratios()
                    .forEach((capacity, ratio) -> svg.format(
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s, %,d blocks: %.1f %%</title></circle>\n",
                            x(capacity, least, most),
                            y(100 * ratio, top),
                            escaped(curve.name()),
                            capacity,
                            100 * ratio));
            svg.format(
                    "<text class=\"name\" x=\"%d\" y=\"%.1f\">%s %.1f %%</text>\n</g>\n",
                    WIDTH - RIGHT + 14,
                    labels.get(at) + 4.5,
                    escaped(curve.name()),
                    100 * curve.ratios().lastEntry().getValue());
        }
    }

    /** Where the names stand: at the ends of their curves, but below each other, from the highest on. */
    private List<Double> labels(double top) {
        List<Double> wanted = curves.stream()
                .map(curve -> y(100 * curve.ratios().lastEntry().getValue(), top))
                .toList();
        List<Integer> fromTop = new ArrayList<>();
        for (int at = 0; at < curves.size(); at++) {
            fromTop.add(at);
        }
        // Of equal ones the later curve is the better policy.
        fromTop.sort((one, other) -> wanted.get(one).equals(wanted.get(other))
                ? Integer.compare(other, one)
                : Double.compare(wanted.get(one), wanted.get(other)));
        List<Double> labels = new ArrayList<>(wanted);
        double free = TOP - LABEL_HEIGHT;
        for (int at : fromTop) {
            labels.set(at, Math.max(free, wanted.get(at)));
            free = labels.get(at) + LABEL_HEIGHT;
        }
        double over = Math.max(0, free - LABEL_HEIGHT - (HEIGHT - BOTTOM));
        labels.replaceAll(y -> y - over);
        return labels;
    }

    /** Capacities are apart by factors, as caches are. */
    private static double x(int capacity, int least, int most) {
        double place = least == most ? 0.5 : Math.log((double) capacity / least) / Math.log((double) most / least);
        return LEFT + 20 + place * (WIDTH - RIGHT - LEFT - 34);
    }

    private static double y(double percent, double top) {
        return HEIGHT - BOTTOM - percent / top * (HEIGHT - BOTTOM - TOP);
    }

    private static double step(double highest) {
        for (double decade = 0.1; ; decade *= 10) {
            for (double step : new double[] {decade, 2 * decade, 5 * decade}) {
                if (highest <= MOST_STEPS * step) {
                    return step;
                }
            }
        }
    }

    /** Round numbers; the ends themselves where there are not two of those. */
    private static List<Integer> ticks(int least, int most) {
        boolean wide = (double) most / least > 100;
        List<Integer> ticks = new ArrayList<>();
        for (long decade = 1; decade <= most; decade *= 10) {
            for (long tick : wide ? new long[] {decade} : new long[] {decade, 2 * decade, 5 * decade}) {
                if (tick >= least && tick <= most) {
                    ticks.add((int) tick);
                }
            }
        }
        if (ticks.size() >= 2) {
            return ticks;
        }
        return least == most ? List.of(least) : List.of(least, most);
    }

    private static String escaped(String text) {
        String shown = text.length() <= LONGEST_TEXT ? text : "…" + text.substring(text.length() - LONGEST_TEXT);
        return shown.replaceAll("\\p{Cntrl}", "?")
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;");
    }
}
