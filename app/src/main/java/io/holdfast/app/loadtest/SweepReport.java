package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.LinearFit;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.report.SweepDocument;
import io.holdfast.loadtest.sweep.Pressure;
import io.holdfast.loadtest.sweep.Sweep;
import java.io.PrintWriter;
import java.util.Map;
import java.util.OptionalDouble;

/** What the levels of a sweep showed, each by itself and all together, for people and as JSON. */
final class SweepReport {
    private static final int FORMAT = 1;

    private SweepReport() {}

    static int code(Sweep sweep) {
        if (has(sweep, Finding.INVALID)) {
            return ExitCode.CHECK_FAILED;
        }
        return has(sweep, Finding.INCONCLUSIVE) || !sweep.isWhole() ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    private static boolean has(Sweep sweep, Finding finding) {
        return sweep.levels().stream()
                .anyMatch(level -> level.result().verdict().finding() == finding);
    }

    static void print(Sweep sweep, boolean json, PrintWriter out) {
        if (json) {
            out.println(JsonText.of(document(sweep)));
            out.flush();
            return;
        }
        TerminalText text = TerminalText.plain(out);
        text.blank();
        text.show(SweepDocument.brief(sweep));
        out.flush();
    }

    static ObjectNode document(Sweep sweep) {
        ObjectNode root = JsonText.object().put("format", FORMAT);
        root.put("startedAt", sweep.plan().startedAt());
        ArrayNode levels = root.putArray("levels");
        for (Sweep.Level level : sweep.levels()) {
            level(levels.addObject(), level);
        }
        sweep.doseResponse()
                .flatMap(DoseResponse::fit)
                .ifPresent(line -> line(root.putObject("effectOverLnPressure"), line));
        sweep.doseResponse().ifPresent(doses -> root.put("trend", doses.trend().name()));
        sweep.baseline().ifPresent(line -> line(root.putObject("baselineOverLnPressure"), line));
        ArrayNode replicates = root.putArray("replicates");
        sweep.replicates()
                .forEach(same -> replicates
                        .addObject()
                        .put("configuration", same.configuration())
                        .put("count", same.count())
                        .put("baselineSpreadPercent", 100 * same.baselineSpread())
                        .put("pinnedSpreadPercent", 100 * same.pinnedSpread()));
        sweep.cliff()
                .ifPresent(cliff -> root.putObject("cliff")
                        .put("before", cliff.before().level())
                        .put("after", cliff.after().level())
                        .put("recommended", cliff.recommended().level())
                        .put("text", cliff.text(SweepDocument.RATE)));
        ArrayNode notes = root.putArray("notes");
        sweep.notes().forEach(notes::add);
        return root;
    }

    private static void level(ObjectNode node, Sweep.Level level) {
        Result result = level.result();
        Pressure pressure = level.pressure();
        ObjectNode values = node.putObject("values");
        level.planned().values().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(value -> values.put(value.getKey(), value.getValue()));
        node.put("journal", level.planned().journal())
                .put("placebo", level.isPlacebo())
                .put("demandTokens", pressure.demand())
                .put("naiveDemandTokens", pressure.naiveDemand());
        pressure.capacity().ifPresent(tokens -> node.put("capacityTokens", tokens));
        pressure.claimed().ifPresent(tokens -> node.put("claimedCapacityTokens", tokens));
        known(node, "pressure", pressure.ratio());
        known(node, "naivePressure", pressure.naiveRatio());
        known(node, "tokensASecond", level.tokensASecond());
        known(node, "baselineTtftMillis", result.baseline().ttftMillis());
        known(node, "pinnedTtftMillis", result.pinned().ttftMillis());
        Estimate estimate = result.estimate();
        known(node, "effectPercent", estimate.effectPercent());
        if (level.isPlacebo()) {
            level.dose()
                    .ifPresent(dose -> node.put(
                            "placeboAnswer",
                            dose.asked(result.header().criteria().delta()).name()));
        }
        node.put("alone", level.alone().headline());
        node.set("verdict", ResultJson.verdict(result.verdict()));
    }

    private static void line(ObjectNode node, LinearFit line) {
        node.put("slope", line.slope())
                .put("slopeSe", line.slopeSe())
                .put("intercept", line.intercept())
                .put("df", line.df())
                .put("p", line.pTwoSided());
    }

    private static void known(ObjectNode node, String key, OptionalDouble value) {
        value.ifPresent(number -> node.put(key, number));
    }
}
