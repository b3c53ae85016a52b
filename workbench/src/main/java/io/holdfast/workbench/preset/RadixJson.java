package io.holdfast.workbench.preset;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.measure.ResultFile;
import java.util.Locale;

/** The results of {@link Radix} with what became of each request. */
final class RadixJson {
    private RadixJson() {}

    static String text(ResultFile results, RadixStory story) {
        ObjectNode root = ResultJson.of(results);
        ObjectNode summary = root.putObject("summary");
        summary.put("requests", story.count());
        story.counts().forEach((hit, count) -> summary.put(hit.name().toLowerCase(Locale.ROOT), count));
        summary.put("meanMatchTokens", story.meanMatch()).put("savedTokens", story.saved());
        story.savedMillis().ifPresent(millis -> summary.put("savedMillis", millis));
        story.line()
                .ifPresent(line -> summary.putObject("prefill")
                        .put("fixedMillis", line.fixedMillis())
                        .put("millisPerToken", line.millisPerToken())
                        .put("requests", line.requests()));
        ArrayNode checks = root.putArray("checks");
        story.checks()
                .forEach(check -> checks.addObject()
                        .put("scenario", check.scenario())
                        .put("holds", check.holds())
                        .put("text", check.text()));
        ArrayNode requests = root.putArray("requests");
        for (RadixStory.Told told : story.requests()) {
            ObjectNode node = requests.addObject().put("number", told.number()).put("part", told.part());
            if (told.flood() > 0) {
                node.put("flood", told.flood());
            } else {
                node.put("hit", told.hit().name()).put("cachedTokens", told.cached());
            }
            node.put("promptTokens", told.prompt());
            told.ttftMillis().ifPresent(millis -> node.put("ttftMillis", millis));
            node.put("heldBefore", told.before()).put("heldAfter", told.after()).put("evictedAtLeast", told.evicted());
        }
        return root.toPrettyString() + "\n";
    }
}
