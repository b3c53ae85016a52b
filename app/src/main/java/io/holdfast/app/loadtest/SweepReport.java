package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.SweepDocument;
import io.holdfast.loadtest.sweep.Pressure;
import io.holdfast.loadtest.sweep.Sweep;
import java.io.PrintWriter;
import java.util.TreeMap;

/** Levels of a sweep, each by itself and all together, for people and as JSON. */
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
        return Json.object()
                .put("format", FORMAT)
                .put("startedAt", sweep.plan().startedAt())
                .put("levels", sweep.levels().stream().map(SweepReport::level).toList())
                .known(
                        "effectOverLnPressure",
                        sweep.doseResponse().flatMap(DoseResponse::fit).map(ResultJson::line))
                .known("trend", sweep.doseResponse().map(DoseResponse::trend))
                .known("baselineOverLnPressure", sweep.baseline().map(ResultJson::line))
                .put(
                        "replicates",
                        sweep.replicates().stream()
                                .map(same -> Json.object()
                                        .put("configuration", same.configuration())
                                        .put("count", same.count())
                                        .put("baselineSpreadPercent", 100 * same.baselineSpread())
                                        .put("pinnedSpreadPercent", 100 * same.pinnedSpread()))
                                .toList())
                .known(
                        "cliff",
                        sweep.cliff()
                                .map(cliff -> Json.object()
                                        .put("before", cliff.before().level())
                                        .put("after", cliff.after().level())
                                        .put("recommended", cliff.recommended().level())
                                        .put("text", cliff.text(SweepDocument.RATE))))
                .put("notes", sweep.notes())
                .tree();
    }

    private static Json level(Sweep.Level level) {
        Result result = level.result();
        Pressure pressure = level.pressure();
        return Json.object()
                .put("values", new TreeMap<>(level.planned().values()))
                .put("journal", level.planned().journal())
                .put("placebo", level.isPlacebo())
                .put("demandTokens", pressure.demand())
                .put("naiveDemandTokens", pressure.naiveDemand())
                .known("capacityTokens", pressure.capacity())
                .known("claimedCapacityTokens", pressure.claimed())
                .known("pressure", pressure.ratio())
                .known("naivePressure", pressure.naiveRatio())
                .known("tokensASecond", level.tokensASecond())
                .known("baselineTtftMillis", result.baseline().ttftMillis())
                .known("pinnedTtftMillis", result.pinned().ttftMillis())
                .known("effectPercent", result.estimate().effectPercent())
                .known(
                        "placeboAnswer",
                        level.dose()
                                .filter(dose -> level.isPlacebo())
                                .map(dose ->
                                        dose.asked(result.header().criteria().delta())))
                .put("alone", level.alone().headline())
                .put("verdict", ResultJson.verdict(result.verdict()));
    }
}
