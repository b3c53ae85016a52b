package io.holdfast.app.workbench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Change;
import io.holdfast.workbench.compare.Comparison;
import io.holdfast.workbench.compare.Comparison.Placed;
import io.holdfast.workbench.compare.Comparison.Row;
import io.holdfast.workbench.compare.Expectation;
import java.util.List;

/** A comparison for programs; what is not known is not there. */
final class ComparisonJson {
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    private ComparisonJson() {}

    static String of(
            Comparison comparison,
            List<Metric> metrics,
            double margin,
            List<String> notes,
            List<Placed> failed,
            List<String> untold,
            List<Expectation.Judged> expectations) {
        ObjectNode root = JSON.createObjectNode().put("format", FORMAT);
        ArrayNode files = root.putArray("files");
        comparison.files().forEach(file -> {
            ObjectNode node = files.addObject()
                    .put("name", file.name())
                    .put("suite", file.results().suite());
            ArrayNode sources = node.putArray("sources");
            file.results().results().stream()
                    .map(io.holdfast.loadtest.measure.LoadResult::source)
                    .distinct()
                    .forEach(sources::add);
        });
        texts(root, "differing", List.copyOf(comparison.differing()));
        ArrayNode rows = root.putArray("rows");
        comparison.pairs().forEach(row -> put(row, metrics, comparison, margin, rows.addObject()));
        ObjectNode alone = root.putObject("alone");
        comparison.alone().forEach((file, labels) -> texts(alone, file, labels));
        texts(root, "warnings", comparison.warnings());
        ArrayNode regressions = root.putArray("regressions");
        comparison
                .regressions(metrics, margin)
                .forEach(placed -> put(placed, comparison, margin, regressions.addObject()));
        texts(root, "statements", comparison.statements(metrics, margin));
        texts(root, "notes", notes);
        ArrayNode over = root.putArray("failed");
        failed.forEach(placed -> put(placed, comparison, margin, over.addObject()));
        texts(root, "untold", untold);
        ArrayNode judged = root.putArray("expectations");
        expectations.forEach(each -> {
            ObjectNode node = judged.addObject()
                    .put("name", each.expectation().name())
                    .put("expected", each.expectation().text())
                    .put("outcome", each.outcome().name());
            texts(node, "why", each.why());
        });
        return root.toPrettyString();
    }

    private static void put(Row row, List<Metric> metrics, Comparison comparison, double margin, ObjectNode node) {
        node.put("workload", row.workload()).put("label", row.label()).put("saturated", row.isSaturated());
        ObjectNode settings = node.putObject("settings");
        row.reference().settings().forEach(settings::put);
        ObjectNode all = node.putObject("metrics");
        for (Metric metric : metrics) {
            if (row.reference().has(metric)) {
                ObjectNode of = all.putObject(metric.name())
                        .put("unit", metric.unit().text())
                        .put("better", metric.better().name());
                texts(of, "measuredBy", comparison.methods(metric));
                ArrayNode values = of.putArray("values");
                row.groups().forEach(group -> {
                    ArrayNode runs = values.addArray();
                    group.ifPresent(known -> {
                        for (double value : known.values(metric)) {
                            runs.add(value);
                        }
                    });
                });
                ArrayNode changes = of.putArray("changes");
                for (int file = 1; file < comparison.files().size(); file++) {
                    int at = file;
                    row.change(file, metric)
                            .ifPresent(change ->
                                    put(change, margin, changes.addObject().put("file", at)));
                }
            }
        }
    }

    private static void put(Change change, double margin, ObjectNode node) {
        change.logRatio().ifPresent(log -> node.put("ratio", Math.exp(log)).put("change", Math.expm1(log)));
        change.interval()
                .ifPresent(logs ->
                        node.putArray("interval95").add(Math.expm1(logs.low())).add(Math.expm1(logs.high())));
        node.put("finding", change.finding(margin).name()).put("repetitions", change.repetitions());
    }

    private static void put(Placed placed, Comparison comparison, double margin, ObjectNode node) {
        node.put("row", placed.row().label())
                .put("file", comparison.files().get(placed.file()).name())
                .put("metric", placed.change().metric().name());
        put(placed.change(), margin, node);
    }

    private static void texts(ObjectNode node, String name, List<String> texts) {
        ArrayNode array = node.putArray(name);
        texts.forEach(array::add);
    }
}
