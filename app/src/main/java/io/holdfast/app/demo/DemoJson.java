package io.holdfast.app.demo;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.loadtest.ResultJson;
import io.holdfast.app.loadtest.ResultReport;
import io.holdfast.loadtest.analysis.ArmSummary;
import java.util.List;

/** The demo's result as one JSON document; what is unknown is null. */
final class DemoJson {
    private DemoJson() {}

    static String document(
            DemoSettings settings, List<DemoOutcome> outcomes, AutomaticScenario automatic, boolean good) {
        ObjectNode root = JsonText.object();
        root.put("seed", settings.seed());
        ArrayNode scenarios = root.putArray("scenarios");
        for (DemoOutcome one : outcomes) {
            scenario(scenarios, one, "baseline", one.result().baseline());
            scenario(scenarios, one, "pinned", one.result().pinned());
        }
        root.set("verdict", ResultJson.verdict(outcomes.getFirst().result().verdict()));
        ArrayNode verdicts = root.putArray("verdicts");
        for (DemoOutcome one : outcomes) {
            ObjectNode verdict = verdicts.addObject();
            verdict.put("name", one.scenario().name())
                    .put("title", one.scenario().title());
            verdict.set("verdict", ResultJson.verdict(one.result().verdict()));
            verdict.put("expected", one.expectation())
                    .put("asExpected", one.judgement() == DemoOutcome.Judgement.EXPECTED)
                    .put("judgement", one.judgement().name());
        }
        ObjectNode third = root.putObject("automaticHold");
        third.put("texts", automatic.texts());
        third.put("hitsBefore", automatic.before().hits())
                .put("hitsAfter", automatic.after().hits());
        third.put("cachedTokensBefore", automatic.before().firstCached())
                .put("cachedTokensAfter", automatic.after().firstCached());
        third.put("heldBlocks", automatic.blocks()).put("reason", automatic.reason());
        third.put("asExpected", automatic.asExpected());
        root.put("asExpected", good);
        return JsonText.of(root);
    }

    private static void scenario(ArrayNode scenarios, DemoOutcome outcome, String name, ArmSummary arm) {
        ObjectNode entry = scenarios.addObject();
        entry.put("name", outcome.scenario().name());
        ResultReport.arm(entry, name, arm);
    }
}
