package io.holdfast.app;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.ArmSummary;
import java.util.List;

/** The demo's result as one JSON document; what is unknown is null. */
final class DemoJson {
    private DemoJson() {}

    static String document(DemoSettings settings, List<Played> played, AutomaticScene automatic, boolean good) {
        ObjectNode root = ResultReport.object();
        root.put("seed", settings.seed());
        ArrayNode scenarios = root.putArray("scenarios");
        for (Played one : played) {
            scenario(scenarios, one, "baseline", one.result().baseline());
            scenario(scenarios, one, "pinned", one.result().pinned());
        }
        root.set("verdict", ResultReport.verdict(played.getFirst().result().verdict()));
        ArrayNode scenes = root.putArray("scenes");
        for (Played one : played) {
            ObjectNode scene = scenes.addObject();
            scene.put("name", one.scene().name()).put("title", one.scene().title());
            scene.set("verdict", ResultReport.verdict(one.result().verdict()));
            scene.put("expected", one.expectation()).put("asExpected", one.asExpected());
        }
        ObjectNode third = root.putObject("automaticHold");
        third.put("cachedTokensBefore", automatic.cachedBefore()).put("cachedTokensAfter", automatic.cachedAfter());
        third.put("heldBlocks", automatic.blocks()).put("reason", automatic.reason());
        third.put("asExpected", automatic.asExpected());
        root.put("asExpected", good);
        return ResultReport.text(root);
    }

    private static void scenario(ArrayNode scenarios, Played played, String name, ArmSummary arm) {
        ObjectNode entry = scenarios.addObject();
        entry.put("name", played.scene().name());
        ResultReport.arm(entry, name, arm);
    }
}
