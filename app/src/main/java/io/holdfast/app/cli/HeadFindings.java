package io.holdfast.app.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.head.UnstableHead;
import io.holdfast.core.head.UnstableHead.Example;
import io.holdfast.core.head.UnstableHead.Passage;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.sidecar.look.Observation;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** Requests that differ early, in words and in JSON; those first that cost the most. */
public record HeadFindings(List<UnstableHead> heads) {
    public HeadFindings {
        heads = List.copyOf(heads);
    }

    public static HeadFindings of(Observation seen) {
        return new HeadFindings(seen.heads());
    }

    public static HeadFindings of(Trace.Recorded recorded, boolean showText) {
        return new HeadFindings(recorded.heads().stream()
                .map(head -> showText ? head : head.withoutExample())
                .toList());
    }

    /** The first in a row of a table; only where there is one. */
    public String line() {
        UnstableHead first = heads.getFirst();
        return number(first.requests()) + " requests differ after " + number(first.from()) + " tokens and are alike"
                + " behind: " + number(first.againTokens()) + " computed again"
                + (heads.size() > 1 ? ", and " + (heads.size() - 1) + " more" : "");
    }

    public void print(TerminalText text) {
        heads.forEach(head -> print(text, head));
    }

    private static void print(TerminalText text, UnstableHead head) {
        text.blank();
        text.paragraph(
                "",
                number(head.requests()) + " requests " + parting(head) + ", and after it about "
                        + number(head.sameTokens())
                        + " of their " + number(head.promptTokens())
                        + " tokens are the same again. No cache can reuse what follows a change, so they were computed"
                        + " each time: " + number(head.againTokens()) + " tokens" + cost(head.seconds()) + ", "
                        + percent(head.share()) + " of all prompt tokens that were computed. A hold cannot mend that."
                        + " Move what changes there (a date, an id, the order of tools or"
                        + " documents) behind what stays the same.");
        head.example().ifPresent(example -> print(text, example));
    }

    private static String parting(UnstableHead head) {
        String sooner = head.earliest() < head.from() ? " (some after " + number(head.earliest()) + ")" : "";
        return head.from() == 0
                ? "differ in their first token"
                : "are alike in their first " + number(head.from()) + " tokens, then something changes" + sooner;
    }

    private static void print(TerminalText text, Example example) {
        text.paragraph("  before   ", shown(example.before()));
        text.paragraph("  one      ", shown(example.one()));
        text.paragraph("  another  ", shown(example.other()));
        if (example.one().text().isEmpty()) {
            text.paragraph("  ", "These are token ids: there is no tokenizer to make text of them.");
        }
    }

    private static String shown(Passage passage) {
        if (passage.tokens().isEmpty()) {
            return "(nothing: it is the first token)";
        }
        String ids = passage.tokens().stream().map(Integer::toUnsignedString).collect(Collectors.joining(" "));
        return passage.text().map(text -> quoted(text) + " = " + ids).orElse(ids);
    }

    /** Nothing in it moves a terminal's cursor. */
    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().forEach(each -> {
            switch (each) {
                case '\n' -> quoted.append("\\n");
                case '"' -> quoted.append("\\\"");
                default -> {
                    if (Character.isISOControl(each)) {
                        quoted.append(String.format(Locale.ROOT, "\\u%04x", each));
                    } else {
                        quoted.appendCodePoint(each);
                    }
                }
            }
        });
        return quoted.append('"').toString();
    }

    public void into(ArrayNode array) {
        for (UnstableHead head : heads) {
            ObjectNode node = array.addObject();
            node.put("requests", head.requests())
                    .put("fromToken", head.from())
                    .put("earliestToken", head.earliest())
                    .put("sameTokens", head.sameTokens())
                    .put("promptTokens", head.promptTokens())
                    .put("computedAgainTokens", head.againTokens())
                    .put("share", head.share());
            head.seconds().ifPresent(seconds -> node.put("prefillSeconds", seconds));
            head.example().ifPresent(example -> {
                ObjectNode shown = node.putObject("example").put("fromToken", example.from());
                passage(shown.putObject("before"), example.before());
                passage(shown.putObject("one"), example.one());
                passage(shown.putObject("other"), example.other());
            });
        }
    }

    private static void passage(ObjectNode into, Passage passage) {
        ArrayNode tokens = into.putArray("tokens");
        passage.tokens().forEach(token -> tokens.add(Integer.toUnsignedLong(token)));
        passage.text().ifPresent(text -> into.put("text", text));
    }

    private static String cost(OptionalDouble seconds) {
        return seconds.isPresent()
                ? String.format(
                        Locale.ROOT,
                        seconds.getAsDouble() < 10 ? ", %.2f s of prefill" : ", %,.0f s of prefill",
                        seconds.getAsDouble())
                : "";
    }

    private static String percent(double share) {
        return Math.round(100 * share) + " %";
    }

    private static String number(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }
}
