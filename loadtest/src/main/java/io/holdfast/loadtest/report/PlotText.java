package io.holdfast.loadtest.report;

import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** A figure in characters, as wide as a terminal at most: a few series whose points have their labels beside them. */
final class PlotText {
    private static final int HEIGHT = 14;
    private static final String MARKS = "*o+x#@";

    private final Plot plot;
    private final List<Point> all;
    private final int margin;
    private final int plotted;
    private final int span;

    private PlotText(Plot plot) {
        this.plot = plot;
        this.all =
                plot.series().stream().flatMap(each -> each.points().stream()).toList();
        this.margin = Math.max(
                        number(plot.y().most()).length(),
                        number(plot.y().least()).length())
                + 1;
        this.plotted = TerminalRenderer.COLUMNS - margin - 2;
        int longest =
                all.stream().mapToInt(point -> point.label().length()).max().orElse(0);
        this.span = Math.max(1, plotted - longest - 3);
    }

    /** Draws a figure that has points. */
    static List<String> lines(Plot plot) {
        return new PlotText(plot).drawn();
    }

    private List<String> drawn() {
        char[][] canvas = new char[HEIGHT][plotted];
        for (char[] row : canvas) {
            Arrays.fill(row, ' ');
        }
        for (int each = 0; each < plot.series().size(); each++) {
            for (Point point : plot.series().get(each).points()) {
                canvas[row(point)][column(point.x())] = mark(each);
            }
        }
        all.forEach(point -> label(canvas, point));
        List<String> lines = new ArrayList<>();
        lines.add(plot.y().name());
        for (int row = 0; row < HEIGHT; row++) {
            String tick = row == 0
                    ? number(plot.y().most())
                    : row == HEIGHT - 1 ? number(plot.y().least()) : "";
            lines.add((" ".repeat(margin - 1 - tick.length()) + tick + " │" + new String(canvas[row])).stripTrailing());
        }
        lines.add(" ".repeat(margin) + "└" + "─".repeat(plotted));
        lines.add(ticks());
        IntStream.range(0, plot.series().size())
                .filter(each -> !plot.series().get(each).name().isEmpty())
                .forEach(each -> lines.add(" ".repeat(margin + 1) + mark(each) + " "
                        + plot.series().get(each).name()));
        return lines;
    }

    private static char mark(int series) {
        return MARKS.charAt(series % MARKS.length());
    }

    private int column(double x) {
        return (int) Math.round(Math.clamp(plot.x().place(x), 0, 1) * span);
    }

    private int row(Point point) {
        return HEIGHT - 1 - (int) Math.round(Math.clamp(plot.y().place(point.y()), 0, 1) * (HEIGHT - 1));
    }

    /** Writes a label to the right of its point, or in the next line that is free there. */
    private void label(char[][] canvas, Point point) {
        String text = point.label();
        int at = row(point);
        int from = column(point.x()) + 2;
        for (int row : new int[] {at, at + 1, at - 1}) {
            if (row >= 0
                    && row < canvas.length
                    && from + text.length() <= canvas[row].length
                    && new String(canvas[row], from, text.length()).isBlank()) {
                text.getChars(0, text.length(), canvas[row], from);
                return;
            }
        }
    }

    private String ticks() {
        StringBuilder row = new StringBuilder(" ".repeat(TerminalRenderer.COLUMNS));
        all.stream().mapToDouble(Point::x).distinct().forEach(x -> {
            String text = number(x);
            int at = margin + 1 + column(x);
            row.replace(at, Math.min(TerminalRenderer.COLUMNS, at + text.length()), text);
        });
        String text = row.toString().stripTrailing();
        String name = plot.x().name();
        return text.length() + 2 + name.length() <= TerminalRenderer.COLUMNS ? text + "  " + name : text;
    }

    private static String number(double value) {
        return value == Math.rint(value) ? Long.toString(Math.round(value)) : String.format(Locale.ROOT, "%.1f", value);
    }
}
