package io.holdfast.workbench.preset;

import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

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
        StringBuilder text = new StringBuilder("# Serving")
                .append(phase.map(name -> ": " + name).orElse(""))
                .append("\n\nMeasured at the client: HTTP, batching and scheduling are in all numbers. Tokens are the"
                        + " server's count. Requests that failed are in no latency.\n");
        for (ResultFile model : models) {
            text.append("\n## ")
                    .append(model.model())
                    .append(", all workloads\n\n")
                    .append(row("Workload", titles()))
                    .append(rule(COLUMNS.size()));
            model.results().forEach(result -> text.append(row(result.workload(), cells(result))));
        }
        Set<String> workloads = new LinkedHashSet<>();
        models.forEach(model -> model.results().forEach(result -> workloads.add(result.workload())));
        for (String workload : workloads) {
            text.append("\n## ").append(workload).append("\n\n").append(ids(models, workload));
            text.append(row("Metric", models.stream().map(ResultFile::model).toList()))
                    .append(rule(models.size()));
            for (Column column : COLUMNS) {
                List<String> cells = new ArrayList<>();
                for (ResultFile model : models) {
                    cells.add(of(model, workload).map(column::cell).orElse("-"));
                }
                text.append(row(column.title(), cells));
            }
            for (String remark : remarks.getOrDefault(workload, List.of())) {
                text.append("\n")
                        .append(models.getLast().model())
                        .append(": ")
                        .append(remark)
                        .append("\n");
            }
        }
        return text.toString();
    }

    /** The workload's id, or that the models were not asked for the same. */
    private static String ids(List<ResultFile> models, String workload) {
        List<String> ids = models.stream()
                .flatMap(model -> of(model, workload).stream())
                .map(result -> result.workloadId().orElse("unknown"))
                .distinct()
                .toList();
        return ids.size() == 1
                ? "Workload id " + ids.getFirst() + ".\n\n"
                : "The columns are of different workloads (" + String.join(", ", ids)
                        + ") and are not to be compared.\n\n";
    }

    private static Optional<LoadResult> of(ResultFile model, String workload) {
        return model.results().stream()
                .filter(result -> result.workload().equals(workload))
                .findFirst();
    }

    private static List<String> titles() {
        return COLUMNS.stream().map(Column::title).toList();
    }

    static List<String> cells(LoadResult result) {
        return COLUMNS.stream().map(column -> column.cell(result)).toList();
    }

    private static String row(String first, List<String> others) {
        return "| " + first + " | " + String.join(" | ", others) + " |\n";
    }

    private static String rule(int columns) {
        return "|---|" + String.join("", Collections.nCopies(columns, "---:|")) + "\n";
    }
}
