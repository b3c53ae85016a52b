package io.holdfast.app.cli;

import io.holdfast.core.head.UnstableHead;
import io.holdfast.core.head.UnstableHead.Example;
import io.holdfast.core.head.UnstableHead.Passage;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.Shown;
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
        return Shown.count(first.requests()) + " requests differ after " + Shown.count(first.from())
                + " tokens and are alike behind: " + Shown.count(first.againTokens()) + " computed again"
                + (heads.size() > 1 ? ", and " + (heads.size() - 1) + " more" : "");
    }

    public void print(TerminalText text) {
        heads.forEach(head -> print(text, head));
    }

    private static void print(TerminalText text, UnstableHead head) {
        text.blank();
        text.paragraph(
                "",
                Shown.count(head.requests()) + " requests " + parting(head) + ", and after it about "
                        + Shown.count(head.sameTokens())
                        + " of their " + Shown.count(head.promptTokens())
                        + " tokens are the same again. No cache can reuse what follows a change, so they were computed"
                        + " each time: " + Shown.count(head.againTokens()) + " tokens" + cost(head.seconds()) + ", "
                        + Shown.share(head.share())
                        + " of all prompt tokens that were computed. A hold cannot mend that. Move what changes there"
                        + " (a date, an id, the order of tools or documents) behind what stays the same.");
        head.example().ifPresent(example -> print(text, example));
    }

    private static String parting(UnstableHead head) {
        String sooner = head.earliest() < head.from() ? " (some after " + Shown.count(head.earliest()) + ")" : "";
        return head.from() == 0
                ? "differ in their first token"
                : "begin with the same " + Shown.count(head.from()) + " tokens, then something changes" + sooner;
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

    /** Returns them as they stand in a document. */
    public List<Json> json() {
        return heads.stream()
                .map(head -> Json.object()
                        .put("requests", head.requests())
                        .put("fromToken", head.from())
                        .put("earliestToken", head.earliest())
                        .put("sameTokens", head.sameTokens())
                        .put("promptTokens", head.promptTokens())
                        .put("computedAgainTokens", head.againTokens())
                        .put("share", head.share())
                        .known("prefillSeconds", head.seconds())
                        .known(
                                "example",
                                head.example()
                                        .map(example -> Json.object()
                                                .put("fromToken", example.from())
                                                .put("before", json(example.before()))
                                                .put("one", json(example.one()))
                                                .put("other", json(example.other())))))
                .toList();
    }

    private static Json json(Passage passage) {
        return Json.object()
                .put(
                        "tokens",
                        passage.tokens().stream().map(Integer::toUnsignedLong).toList())
                .known("text", passage.text());
    }

    private static String cost(OptionalDouble seconds) {
        return Shown.number(seconds.orElse(0) < 10 ? ", %.2f s of prefill" : ", %,.0f s of prefill", seconds, "");
    }
}
