package io.holdfast.app;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A table with lines around its cells: a head, rows, and texts set to the left. */
final class BoxTable {
    private BoxTable() {}

    /** Its lines; all rows are as long as the first, which is the head. */
    static List<String> lines(List<List<String>> rows) {
        List<Integer> widths = IntStream.range(0, rows.getFirst().size())
                .mapToObj(column -> rows.stream()
                        .mapToInt(row -> row.get(column).length())
                        .max()
                        .orElse(0))
                .toList();
        List<String> lines = new java.util.ArrayList<>();
        lines.add(rule(widths, "┌", "┬", "┐"));
        for (int row = 0; row < rows.size(); row++) {
            lines.add(cells(rows.get(row), widths));
            if (row == 0) {
                lines.add(rule(widths, "├", "┼", "┤"));
            }
        }
        lines.add(rule(widths, "└", "┴", "┘"));
        return lines;
    }

    private static String rule(List<Integer> widths, String left, String middle, String right) {
        return widths.stream().map(width -> "─".repeat(width + 2)).collect(Collectors.joining(middle, left, right));
    }

    private static String cells(List<String> row, List<Integer> widths) {
        return IntStream.range(0, row.size())
                .mapToObj(column -> row.get(column)
                        + " ".repeat(widths.get(column) - row.get(column).length()))
                .collect(Collectors.joining(" │ ", "│ ", " │"));
    }
}
