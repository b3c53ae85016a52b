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
        comparison
                .files()
                .forEach(file -> files.addObject()
                        .put("name", file.name())
                        .put("suite", file.results().suite())
                        .set("sources", JSON.valueToTree(file.sources())));
        root.set("differing", JSON.valueToTree(comparison.differing()));
        ArrayNode rows = root.putArray("rows");
        comparison.pairs().forEach(row -> rows.add(row(row, metrics, comparison, margin)));
        root.set("alone", JSON.valueToTree(comparison.alone()));
        root.set("warnings", JSON.valueToTree(comparison.warnings()));
        root.set("regressions", placed(comparison.regressions(metrics, margin), comparison, margin));
        root.set("statements", JSON.valueToTree(comparison.statements(metrics, margin)));
        root.set("notes", JSON.valueToTree(notes));
        root.set("failed", placed(failed, comparison, margin));
        root.set("untold", JSON.valueToTree(untold));
        ArrayNode judged = root.putArray("expectations");
        expectations.forEach(each -> judged.addObject()
                .put("name", each.expectation().name())
                .put("expected", each.expectation().text())
                .put("outcome", each.outcome().name())
                .set("why", JSON.valueToTree(each.why())));
        return root.toPrettyString();
    }

    private static ObjectNode row(Row row, List<Metric> metrics, Comparison comparison, double margin) {
        ObjectNode node = JSON.createObjectNode()
                .put("workload", row.workload())
                .put("label", row.label())
                .put("saturated", row.isSaturated());
        node.set("settings", JSON.valueToTree(row.reference().settings()));
        ObjectNode all = node.putObject("metrics");
        for (Metric metric : metrics) {
            if (row.reference().has(metric)) {
                ObjectNode of = all.putObject(metric.name())
                        .put("unit", metric.unit().text())
                        .put("better", metric.better().name());
                of.set("measuredBy", JSON.valueToTree(comparison.methods(metric)));
                of.set(
                        "values",
                        JSON.valueToTree(row.groups().stream()
                                .map(group ->
                                        group.map(known -> known.values(metric)).orElse(new double[0]))
                                .toList()));
                ArrayNode changes = of.putArray("changes");
                for (int file = 1; file < comparison.files().size(); file++) {
                    ObjectNode at = JSON.createObjectNode().put("file", file);
                    row.change(file, metric).ifPresent(change -> changes.add(put(change, margin, at)));
                }
            }
        }
        return node;
    }

    private static ObjectNode put(Change change, double margin, ObjectNode node) {
        change.logRatio().ifPresent(log -> node.put("ratio", Math.exp(log)).put("change", Math.expm1(log)));
        change.interval()
                .ifPresent(logs ->
                        node.putArray("interval95").add(Math.expm1(logs.low())).add(Math.expm1(logs.high())));
        return node.put("finding", change.finding(margin).name()).put("repetitions", change.repetitions());
    }

    private static ArrayNode placed(List<Placed> changes, Comparison comparison, double margin) {
        ArrayNode all = JSON.createArrayNode();
        changes.forEach(placed -> put(
                placed.change(),
                margin,
                all.addObject()
                        .put("row", placed.row().label())
                        .put("file", comparison.files().get(placed.file()).name())
                        .put("metric", placed.change().metric().name())));
        return all;
    }
}
