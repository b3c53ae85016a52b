package io.holdfast.workbench.preset;

import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.MarkdownRenderer;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The tables of {@link Serving} in Markdown, ready to be pasted: one of all workloads for each model, one of each
 * workload.
 */
final class ServingReport {
    private static final List<Column> COLUMNS = List.of(
            new Column(Metric.OUTPUT_THROUGHPUT, "Throughput (tok/s)", 1, 1),
            new Column(Metric.percentile(Quantity.TTFT, 50), "TTFT P50 (ms)", 0, 1),
            new Column(Metric.percentile(Quantity.TTFT, 95), "TTFT P95 (ms)", 0, 1),
            new Column(Metric.percentile(Quantity.TTFT, 99), "TTFT P99 (ms)", 0, 1),
            new Column(Metric.percentile(Quantity.ITL, 50), "ITL P50 (ms)", 0, 1),
            new Column(Metric.percentile(Quantity.ITL, 95), "ITL P95 (ms)", 0, 1),
            new Column(Metric.percentile(Quantity.ITL, 99), "ITL P99 (ms)", 0, 1),
            new Column(Metric.percentile(Quantity.E2E, 50), "Latency P50 (s)", 3, 1e3),
            new Column(Metric.ERRORS, "Errors", 0, 1));

    /**
     * A column of one table, a row of the other.
     *
     * @param divisor of what the metric is in
     */
    private record Column(Metric metric, String title, int decimals, double divisor) {
        String cell(LoadResult result) {
            return result.measures().of(metric).stream()
                    .mapToObj(value -> String.format(Locale.ROOT, "%." + decimals + "f", value / divisor))
                    .findFirst()
                    .orElse("-");
        }
    }

    private ServingReport() {}

    static String of(List<ResultFile> models, Map<String, List<String>> remarks, Optional<String> phase) {
        Document.Builder out = Document.titled("Serving")
                .heading(1, "Serving" + phase.map(name -> ": " + name).orElse(""))
                .say("Measured at the client: HTTP, batching and scheduling are in all numbers. Tokens are the server's"
                        + " count. Requests that failed are in no latency.");
        for (ResultFile model : models) {
            out.heading(2, model.model() + ", all workloads")
                    .table(
                            model.model(),
                            with("Workload", COLUMNS.stream().map(Column::title)),
                            model.results().stream()
                                    .map(result -> with(result.workload(), cells(result).stream()))
                                    .toList());
        }
        models.stream()
                .flatMap(model -> model.results().stream().map(LoadResult::workload))
                .distinct()
                .forEach(workload -> workload(out, models, workload, remarks.getOrDefault(workload, List.of())));
        return MarkdownRenderer.text(out.build());
    }

    private static void workload(Document.Builder out, List<ResultFile> models, String workload, List<String> remarks) {
        out.heading(2, workload)
                .say(ids(models, workload))
                .table(
                        workload,
                        with("Metric", models.stream().map(ResultFile::model)),
                        COLUMNS.stream()
                                .map(column -> with(
                                        column.title(),
                                        models.stream()
                                                .map(model -> of(model, workload)
                                                        .map(column::cell)
                                                        .orElse("-"))))
                                .toList());
        remarks.forEach(remark -> out.say(models.getLast().model() + ": " + remark));
    }

    private static List<String> with(String first, Stream<String> others) {
        return Stream.concat(Stream.of(first), others).toList();
    }

    /** The workload's id, or that the models were not asked for the same. */
    private static String ids(List<ResultFile> models, String workload) {
        List<String> ids = models.stream()
                .flatMap(model -> of(model, workload).stream())
                .map(result -> result.workloadId().orElse("unknown"))
                .distinct()
                .toList();
        return ids.size() == 1
                ? "Workload id " + ids.getFirst() + "."
                : "The columns are of different workloads (" + String.join(", ", ids) + ") and are not to be compared.";
    }

    private static Optional<LoadResult> of(ResultFile model, String workload) {
        return model.results().stream()
                .filter(result -> result.workload().equals(workload))
                .findFirst();
    }

    static List<String> cells(LoadResult result) {
        return COLUMNS.stream().map(column -> column.cell(result)).toList();
    }
}
