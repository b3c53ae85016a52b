package io.holdfast.app.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** A few labelled series over a numeric axis, in characters; 80 columns wide at most. */
public final class TextPlot {
    private static final int WIDTH = 80;
    private static final int HEIGHT = 14;
    private static final String MARKS = "*o+x#@";

    /** One series; each of its points has a label that stands beside it. */
    public record Series(String name, List<Point> points) {}

    /** A point with what it is labelled with. */
    public record Point(double x, double y, String label) {}

    private final String xName;
    private final String yName;
    private final List<Series> series;

    public TextPlot(String xName, String yName, List<Series> series) {
        this.xName = xName;
        this.yName = yName;
        this.series = List.copyOf(series);
    }

    public List<String> lines() {
        List<Point> all =
                series.stream().flatMap(each -> each.points().stream()).toList();
        double most = all.stream().mapToDouble(Point::y).max().orElse(1);
        double left = all.stream().mapToDouble(Point::x).min().orElse(0);
        double right = all.stream().mapToDouble(Point::x).max().orElse(1);
        String top = axisLabel(most);
        int margin = top.length() + 1;
        int plotted = WIDTH - margin - 2;
        int longest =
                all.stream().mapToInt(point -> point.label().length()).max().orElse(0);
        int span = Math.max(1, plotted - longest - 3);
        char[][] canvas = new char[HEIGHT][plotted];
        for (char[] row : canvas) {
            Arrays.fill(row, ' ');
        }
        List<Placed> placed = new ArrayList<>();
        for (int each = 0; each < series.size(); each++) {
            char mark = MARKS.charAt(each % MARKS.length());
            for (Point point : series.get(each).points()) {
                int column = right > left ? (int) Math.round((point.x() - left) / (right - left) * span) : 0;
                int row = HEIGHT - 1 - (int) Math.round(point.y() / most * (HEIGHT - 1));
                placed.add(new Placed(row, column, mark, point));
            }
        }
        placed.forEach(point -> canvas[point.row][point.column] = point.mark);
        placed.forEach(point -> label(canvas, point));
        List<String> lines = new ArrayList<>();
        lines.add(yName);
        for (int row = 0; row < HEIGHT; row++) {
            String tick = row == 0 ? top : row == HEIGHT - 1 ? "0" : "";
            lines.add((" ".repeat(margin - 1 - tick.length()) + tick + " │" + new String(canvas[row])).stripTrailing());
        }
        lines.add(" ".repeat(margin) + "└" + "─".repeat(plotted));
        lines.add(ticks(all, left, right, span, margin));
        IntStream.range(0, series.size())
                .filter(each -> !series.get(each).name().isEmpty())
                .forEach(each -> lines.add(" ".repeat(margin + 1) + MARKS.charAt(each % MARKS.length()) + " "
                        + series.get(each).name()));
        return lines;
    }

    /** A point at its place on the canvas. */
    private record Placed(int row, int column, char mark, Point point) {}

    /** To the right of its point, or in the next line that is free there. */
    private static void label(char[][] canvas, Placed placed) {
        String text = placed.point.label();
        for (int row : new int[] {placed.row, placed.row + 1, placed.row - 1}) {
            int from = placed.column + 2;
            if (row >= 0
                    && row < canvas.length
                    && from + text.length() <= canvas[row].length
                    && free(canvas[row], from, text)) {
                text.getChars(0, text.length(), canvas[row], from);
                return;
            }
        }
    }

    private static boolean free(char[] row, int from, String text) {
        return IntStream.range(from, from + text.length()).allMatch(at -> row[at] == ' ');
    }

    private String ticks(List<Point> all, double left, double right, int span, int margin) {
        StringBuilder row = new StringBuilder(" ".repeat(WIDTH));
        all.stream().mapToDouble(Point::x).distinct().forEach(x -> {
            String text = axisLabel(x);
            int at = margin + 1 + (right > left ? (int) Math.round((x - left) / (right - left) * span) : 0);
            row.replace(at, Math.min(WIDTH, at + text.length()), text);
        });
        String text = row.toString().stripTrailing();
        return (text.length() + 2 + xName.length() <= WIDTH ? text + "  " + xName : text);
    }

    private static String axisLabel(double value) {
        return value == Math.rint(value)
                ? Long.toString(Math.round(value))
                : String.format(java.util.Locale.ROOT, "%.1f", value);
    }
}
