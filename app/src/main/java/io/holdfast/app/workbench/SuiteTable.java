package io.holdfast.app.workbench;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.report.ResultTable;
import io.holdfast.loadtest.report.TerminalRenderer;
import java.io.PrintWriter;
import java.util.List;

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

    private SuiteTable() {}

    static void print(ResultFile results, PrintWriter out) {
        print(ResultTable.of(results.results(), COLUMNS), out);
    }

    /** Prints a table whose first row is its head. */
    static void print(List<List<String>> rows, PrintWriter out) {
        TerminalRenderer.table(rows).forEach(out::println);
    }
}
