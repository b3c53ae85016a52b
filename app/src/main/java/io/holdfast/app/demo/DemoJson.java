package io.holdfast.app.demo;

import io.holdfast.app.loadtest.ResultJson;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.report.Json;
import java.util.List;
import java.util.stream.Stream;

/** The demo's result as one JSON document; what is unknown is null. */
final class DemoJson {
    private DemoJson() {}

    static String document(
            DemoSettings settings, List<DemoOutcome> outcomes, AutomaticScenario automatic, boolean good) {
        return Json.object()
                .put("seed", settings.seed())
                .put(
                        "scenarios",
                        outcomes.stream()
                                .flatMap(one -> Stream.of(
                                        arm(one, Arm.BASELINE, one.result().baseline()),
                                        arm(one, Arm.PINNED, one.result().pinned())))
                                .toList())
                .put("verdict", ResultJson.verdict(outcomes.getFirst().result().verdict()))
                .put("verdicts", outcomes.stream().map(DemoJson::verdict).toList())
                .put(
                        "automaticHold",
                        Json.object()
                                .put("texts", automatic.texts())
                                .put("hitsBefore", automatic.before().hits())
                                .put("hitsAfter", automatic.after().hits())
                                .put("cachedTokensBefore", automatic.before().firstCached())
                                .put("cachedTokensAfter", automatic.after().firstCached())
                                .put("heldBlocks", automatic.blocks())
                                .put("reason", automatic.reason())
                                .put("asExpected", automatic.asExpected()))
                .put("asExpected", good)
                .text();
    }

    private static Json arm(DemoOutcome outcome, Arm arm, ArmSummary summary) {
        return Json.object().put("name", outcome.scenario().name()).all(ResultJson.medians(arm, summary));
    }

    private static Json verdict(DemoOutcome one) {
        return Json.object()
                .put("name", one.scenario().name())
                .put("title", one.scenario().title())
                .put("verdict", ResultJson.verdict(one.result().verdict()))
                .put("expected", one.expectation())
                .put("asExpected", one.judgement() == DemoOutcome.Judgement.EXPECTED)
                .put("judgement", one.judgement());
    }
}
