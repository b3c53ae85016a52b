package io.holdfast.app.workbench;

import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TextColumns;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.report.ResultTable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The results of a suite for a terminal: a row a leg, a column a metric that some leg has. */
public final class SuiteTable {
    private static final List<Metric> COLUMNS = List.of(
            Metric.OUTPUT_THROUGHPUT,
            Metric.REQUEST_THROUGHPUT,
            Metric.percentile(Quantity.TTFT, 50),
            Metric.percentile(Quantity.TTFT, 99),
            Metric.percentile(Quantity.ITL, 50),
            Metric.percentile(Quantity.ITL, 99),
            Metric.percentile(Quantity.E2E, 50),
            Metric.CACHED_SHARE,
            Metric.GOOD_SHARE,
            Metric.ERRORS);

    private static final int WIDTH = TerminalText.COLUMNS;
    private static final int GAP = 2;

    private SuiteTable() {}

    static void print(ResultFile results, PrintWriter out) {
        print(ResultTable.of(results.results(), COLUMNS), out);
    }

    /** Columns as wide as they have to be, the first to the left and the others to the right; 80 columns at most. */
    static void print(List<List<String>> rows, PrintWriter out) {
        lines(rows).forEach(out::println);
    }

    /** The lines of a table; where its columns do not fit beside each other, of several below each other. */
    public static List<String> lines(List<List<String>> rows) {
        List<String> lines = new ArrayList<>();
        for (TextColumns part : TextColumns.parts(rows, GAP, TerminalText.COLUMNS - GAP)) {
            if (!lines.isEmpty()) {
                lines.add("");
            }
            for (List<String> row : part.rows()) {
                lines.addAll(part.laidOut(row, false).stream()
                        .map(cells -> (" ".repeat(GAP) + String.join(" ".repeat(GAP), cells)).stripTrailing())
                        .toList());
            }
        }
        return lines;
    }

    private static List<Integer> widths(List<List<String>> rows) {
        // A column of which nothing is known is no format with a width of 0.
        return IntStream.range(0, rows.getFirst().size())
                .mapToObj(column -> rows.stream()
                        .mapToInt(row -> Math.max(1, row.get(column).length()))
                        .max()
                        .orElse(1))
                .toList();
    }

    /**
     * A table as several of which each fits a line, and begins with the first column.
     *
     * @param around blanks and lines at both ends of a line
     * @param between two columns
     */
    static List<List<List<String>>> parts(List<List<String>> rows, int around, int between) {
        List<Integer> widths = widths(rows);
        List<List<List<String>>> parts = new ArrayList<>();
        int from = 1;
        do {
            int used = around + widths.getFirst();
            int to = from;
            while (to < widths.size() && (to == from || used + between + widths.get(to) <= WIDTH)) {
                used += between + widths.get(to);
                to++;
            }
            int begin = from;
            int end = to;
            parts.add(rows.stream()
                    .map(row -> Stream.concat(Stream.of(row.getFirst()), row.subList(begin, end).stream())
                            .toList())
                    .toList());
            from = to;
        } while (from < widths.size());
        return parts;
    }
}
