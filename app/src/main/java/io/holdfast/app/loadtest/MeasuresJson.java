package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.evidence.Estimate;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.analysis.RunMeasures.OfAnArm;
import io.holdfast.loadtest.analysis.Sample;
import io.holdfast.loadtest.journal.Arm;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/** What a run shows beside its verdict, as a part of its JSON document. */
final class MeasuresJson {
    private MeasuresJson() {}

    static void put(ObjectNode root, RunMeasures measures) {
        ObjectNode node = root.putObject("measures");
        ArrayNode arms = node.putArray("arms");
        for (Arm arm : List.of(Arm.BASELINE, Arm.PINNED)) {
            arm(arms.addObject().put("arm", name(arm)), measures.in(arm));
        }
        ArrayNode cells = node.putArray("byPosition");
        measures.cells().forEach(cell -> {
            ObjectNode one = cells.addObject()
                    .put("arm", name(cell.arm()))
                    .put("position", cell.position())
                    .put("legs", cell.legs());
            sample(one, "ttftMillis", cell.ttft());
            JsonText.number(one, "sdInALegMillis", cell.legSd());
        });
        ratio(node.putObject("spread"), measures.spread());
        ratio(node.putObject("tail"), measures.tail());
    }

    private static void arm(ObjectNode node, OfAnArm arm) {
        node.put("legs", arm.legs());
        sample(node, "ttftMillis", arm.ttft());
        sample(node, "firstWaveMillis", arm.first());
        sample(node, "steadyMillis", arm.steady());
        node.putNull("dependence");
        arm.dependence()
                .ifPresent(dependence -> node.putObject("dependence")
                        .put("values", dependence.values())
                        .put("lag1", dependence.lag1())
                        .put("effectiveValues", dependence.effective()));
        node.put("saturatedLegs", arm.saturatedLegs());
        ObjectNode load = node.putObject("load");
        arm.load().values().forEach((metric, value) -> load.put(metric.name(), value));
    }

    private static void sample(ObjectNode node, String key, Optional<Sample> sample) {
        node.putNull(key);
        sample.ifPresent(of -> node.putObject(key)
                .put("n", of.count())
                .put("mean", of.mean())
                .put("sd", of.sd())
                .put("min", of.min())
                .put("p50", of.p50())
                .put("p90", of.p90())
                .put("p95", of.p95())
                .put("p99", of.p99())
                .put("max", of.max()));
    }

    private static void ratio(ObjectNode node, Estimate estimate) {
        Optional<Estimate.Shown> shown = estimate.shown();
        ResultJson.effect(
                node,
                shown.map(of -> OptionalDouble.of(of.effect())).orElseGet(estimate::effect),
                shown.map(Estimate.Shown::ci95));
        ResultJson.effect(node.putObject("orderBias"), estimate.orderBias(), estimate.orderBiasCi95());
    }

    private static String name(Arm arm) {
        return arm.name().toLowerCase(Locale.ROOT);
    }
}
