package io.holdfast.workbench.table;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Points with their names over a numeric axis, in plain text of at most 80 columns.
 *
 * @param axis what lies along the bottom
 * @param value what goes up
 */
record TextPlot(String axis, String value, List<Point> points) {
    private static final int WIDTH = 78;
    private static final int HEIGHT = 12;
    private static final int MARGIN = 9;

    TextPlot {
        points = List.copyOf(points);
    }

    record Point(double x, double y, String name) {}

    List<String> lines() {
        double most = points.stream().mapToDouble(Point::y).max().orElse(1);
        double first = points.stream().mapToDouble(Point::x).min().orElse(0);
        double last = points.stream().mapToDouble(Point::x).max().orElse(1);
        int longest =
                points.stream().mapToInt(point -> point.name().length()).max().orElse(0);
        // Names stand to the right of their points.
        int wide = Math.max(10, WIDTH - MARGIN - Math.min(longest, WIDTH / 2) - 3);
        char[][] grid = new char[HEIGHT][WIDTH - MARGIN];
        for (char[] row : grid) {
            Arrays.fill(row, ' ');
        }
        StringBuilder ticks = new StringBuilder(" ".repeat(WIDTH - MARGIN));
        for (Point point : points) {
            int column = last > first ? (int) Math.round((point.x() - first) / (last - first) * (wide - 1)) : 0;
            int row = HEIGHT - 1 - (int) Math.round(Math.max(0, point.y()) / most * (HEIGHT - 1));
            write(grid[row], column, "* " + point.name());
            String tick = number(point.x());
            ticks.replace(column, column + tick.length(), tick);
        }
        List<String> lines = new ArrayList<>();
        lines.add(value);
        for (int row = 0; row < HEIGHT; row++) {
            boolean end = row == 0 || row == HEIGHT - 1;
            String label = end ? number(row == 0 ? most : 0) : "";
            lines.add((" ".repeat(Math.max(0, MARGIN - 2 - label.length())) + label + " |" + new String(grid[row]))
                    .stripTrailing());
        }
        lines.add(" ".repeat(MARGIN - 1) + "+" + "-".repeat(wide));
        lines.add((" ".repeat(MARGIN) + ticks).stripTrailing());
        lines.add(" ".repeat(MARGIN) + axis);
        return lines;
    }

    private static void write(char[] row, int column, String text) {
        for (int i = 0; i < text.length() && column + i < row.length; i++) {
            row[column + i] = text.charAt(i);
        }
    }

    private static String number(double value) {
        return value == Math.rint(value)
                ? String.format(Locale.ROOT, "%.0f", value)
                : String.format(Locale.ROOT, "%.1f", value);
    }
}
