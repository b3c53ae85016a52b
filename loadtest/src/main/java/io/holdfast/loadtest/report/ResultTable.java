package io.holdfast.loadtest.report;

import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/** Results of legs as a table: a row a leg, a column a metric that some leg has. */
public final class ResultTable {
    private ResultTable() {}

    /**
     * The head and the rows.
     *
     * @param wanted the metrics, in the order of their columns
     */
    public static List<List<String>> of(List<LoadResult> results, List<Metric> wanted) {
        List<Metric> columns = wanted.stream()
                .filter(metric -> results.stream()
                        .anyMatch(each -> each.measures().of(metric).isPresent()))
                .toList();
        Stream<List<String>> head = Stream.of(row("leg", columns.stream().map(Metric::title)));
        return Stream.concat(
                        head,
                        results.stream()
                                .map(each -> row(
                                        each.id(),
                                        columns.stream()
                                                .map(metric -> shown(
                                                        metric, each.measures().of(metric))))))
                .toList();
    }

    private static List<String> row(String first, Stream<String> rest) {
        return Stream.concat(Stream.of(first), rest).toList();
    }

    /** Shows a figure, or a dash where it was not measured. */
    public static String shown(Metric metric, OptionalDouble value) {
        return value.isPresent() ? metric.shown(value.getAsDouble()) : "-";
    }
}
