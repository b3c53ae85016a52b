package io.holdfast.app;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.report.ResultTable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The results of a suite for a terminal: a row a leg, a column a metric that some leg has. */
final class SuiteTable {
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

    private SuiteTable() {}

    static void print(ResultFile results, PrintWriter out) {
        print(ResultTable.of(results.results(), COLUMNS), out);
    }

    /** Columns as wide as they have to be, the first to the left and the others to the right. */
    static void print(List<List<String>> rows, PrintWriter out) {
        List<Integer> widths = new ArrayList<>();
        for (int column = 0; column < rows.getFirst().size(); column++) {
            int at = column;
            // A column of which nothing is known is no format with a width of 0.
            widths.add(rows.stream()
                    .mapToInt(row -> Math.max(1, row.get(at).length()))
                    .max()
                    .orElse(1));
        }
        for (List<String> row : rows) {
            out.println(java.util.stream.IntStream.range(0, row.size())
                    .mapToObj(column -> String.format(
                            Locale.ROOT, "%" + (column == 0 ? "-" : "") + widths.get(column) + "s", row.get(column)))
                    .collect(Collectors.joining("  ", "  ", "")));
        }
    }
}
