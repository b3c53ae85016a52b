package io.holdfast.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Result;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.OptionalDouble;

/** The result of a load test, for people and as JSON; what is unknown is said to be unknown, or null. */
final class ResultReport {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private ResultReport() {}

    static void print(Result result, boolean json, PrintWriter out) {
        if (json) {
            ObjectNode root = JSON.createObjectNode();
            root.put("workloadId", result.workloadId()).put("seed", result.seed());
            ArrayNode arms = root.putArray("arms");
            arm(arms.addObject(), "baseline", result.baseline());
            arm(arms.addObject(), "pinned", result.pinned());
            root.set("verdict", verdict(result.verdict()));
            ArrayNode warnings = root.putArray("warnings");
            result.warnings().forEach(warnings::add);
            out.println(text(root));
            return;
        }
        TerminalText text = TerminalText.plain(out);
        text.blank();
        numbers(text, result);
        result.verdict().warnings().forEach(warning -> text.paragraph("  note: ", warning));
        result.warnings().forEach(warning -> text.paragraph("  note: ", warning));
    }

    /** Both arms, the three figures that are easily confused, and the verdict with its reason. */
    static void numbers(TerminalText text, Result result) {
        text.line("                  cached tokens        TTFT   (medians of the probes)");
        arm(text, "baseline", result.baseline());
        arm(text, "pinned", result.pinned());
        text.blank();
        Estimate estimate = result.estimate();
        text.line(String.format(
                Locale.ROOT,
                "  naive claim    %s   baseline first, then pinned: often published",
                percent(estimate.naivePercent())));
        text.line(String.format(
                Locale.ROOT,
                "  order bias     %s   A/A: second leg against first, nothing changed",
                percent(estimate.orderBiasPercent())));
        text.line(String.format(
                Locale.ROOT,
                "  effect         %s   %s",
                percent(estimate.effectPercent()),
                estimate.ci95().map(ResultReport::interval).orElse("no interval")));
        text.blank();
        text.line("  VERDICT: " + result.verdict().headline());
        text.paragraph("  ", result.verdict().reason());
    }

    static ObjectNode verdict(Verdict verdict) {
        Estimate estimate = verdict.estimate();
        ObjectNode node = JSON.createObjectNode();
        node.put("name", verdict.finding().name());
        node.put("headline", verdict.headline());
        node.put("withOrderBias", verdict.withOrderBias());
        number(node, "effectPercent", estimate.effectPercent());
        estimate.ci95()
                .ifPresentOrElse(
                        ci -> node.putArray("ci95")
                                .add(100 * Math.expm1(ci.low()))
                                .add(100 * Math.expm1(ci.high())),
                        () -> node.putNull("ci95"));
        number(node, "naivePercent", estimate.naivePercent());
        number(node, "orderBiasPercent", estimate.orderBiasPercent());
        node.put("reason", verdict.reason());
        ArrayNode warnings = node.putArray("warnings");
        verdict.warnings().forEach(warnings::add);
        return node;
    }

    static void arm(ObjectNode node, String name, ArmSummary arm) {
        node.put("arm", name);
        number(node, "cachedTokens", arm.cachedTokens());
        number(node, "ttftMillis", arm.ttftMillis());
    }

    static String text(ObjectNode root) {
        try {
            return JSON.writeValueAsString(root);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    private static void arm(TerminalText text, String name, ArmSummary arm) {
        text.line(String.format(
                Locale.ROOT,
                "  %-10s      %13s  %10s",
                name,
                shown("%.0f", arm.cachedTokens()),
                shown("%.1f ms", arm.ttftMillis())));
    }

    private static String interval(Interval log) {
        return String.format(
                Locale.ROOT,
                "95 %% interval %+.1f to %+.1f %%",
                100 * Math.expm1(log.low()),
                100 * Math.expm1(log.high()));
    }

    private static String percent(OptionalDouble value) {
        return value.isPresent() ? String.format(Locale.ROOT, "%+7.1f %%", value.getAsDouble()) : "  unknown";
    }

    private static String shown(String format, OptionalDouble value) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : "unknown";
    }

    static void number(ObjectNode node, String key, OptionalDouble value) {
        value.ifPresentOrElse(known -> node.put(key, known), () -> node.putNull(key));
    }
}
