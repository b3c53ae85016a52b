package io.holdfast.app.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A table with lines around its cells: a head, rows, and texts set to the left. */
public final class BoxTable {
    private BoxTable() {}

    private static final int BETWEEN = 3;
    private static final int BORDERS = 4;

    /** Its lines; all rows are as long as the first, which is the head. A table that is too wide is several of them. */
    public static List<String> lines(List<List<String>> rows) {
        List<String> lines = new ArrayList<>();
        for (TextColumns part : TextColumns.parts(rows, BETWEEN, TerminalText.COLUMNS - BORDERS)) {
            lines.add(rule(part.widths(), "┌", "┬", "┐"));
            for (int row = 0; row < part.rows().size(); row++) {
                part.laidOut(part.rows().get(row), true)
                        .forEach(cells -> lines.add(String.join(" │ ", cells).transform(text -> "│ " + text + " │")));
                if (row == 0) {
                    lines.add(rule(part.widths(), "├", "┼", "┤"));
                }
            }
            lines.add(rule(part.widths(), "└", "┴", "┘"));
        }
        return lines;
    }

    private static String rule(List<Integer> widths, String left, String middle, String right) {
        return widths.stream().map(width -> "─".repeat(width + 2)).collect(Collectors.joining(middle, left, right));
    }
}
