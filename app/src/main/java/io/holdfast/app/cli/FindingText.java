package io.holdfast.app.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.sidecar.look.Finding;
import io.holdfast.sidecar.look.Finding.Status;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** What was looked at, line by line with its mend: for people and as JSON. Both doctors print it. */
public final class FindingText {
    private FindingText() {}

    public static void print(List<Finding> findings, TerminalText text) {
        int width = findings.stream()
                .mapToInt(finding -> finding.subject().length())
                .max()
                .orElse(0);
        for (Finding finding : findings) {
            String subject =
                    finding.subject() + " ".repeat(width - finding.subject().length());
            text.paragraph("  %-8s %s ".formatted(word(finding.status()), subject), finding.text());
            // A line may end after a comma of JSON and still be copied into a shell as it stands.
            finding.mend().ifPresent(mend -> text.paragraph("           mend: ", mend.replace(",\"", ", \"")));
        }
    }

    private static String word(Status status) {
        return switch (status) {
            case OK -> "ok";
            case MISSING -> "MISSING";
            case WARNING -> "warning";
            case UNKNOWN -> "unknown";
            case NOTE -> "-";
        };
    }

    /** All of it in a sentence or two. */
    public static String verdict(List<Finding> findings) {
        String missing = subjects(findings, Status.MISSING);
        String unknown = subjects(findings, Status.UNKNOWN);
        String warnings = subjects(findings, Status.WARNING);
        return (missing.isEmpty()
                        ? unknown.isEmpty()
                                ? "Nothing that matters is missing."
                                : "It could not be told whether all is there: " + unknown + "."
                        : "Missing, and needed: " + missing + ".")
                + (warnings.isEmpty() ? "" : " Could be better: " + warnings + ".");
    }

    private static String subjects(List<Finding> findings, Status status) {
        return findings.stream()
                .filter(finding -> finding.status() == status)
                .map(Finding::subject)
                .distinct()
                .collect(Collectors.joining(", "));
    }

    public static int code(List<Finding> findings) {
        return has(findings, Status.MISSING)
                ? ExitCode.CHECK_FAILED
                : has(findings, Status.UNKNOWN) ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    private static boolean has(List<Finding> findings, Status status) {
        return findings.stream().anyMatch(finding -> finding.status() == status);
    }

    /** The verdict in a word, and the findings. */
    public static void write(List<Finding> findings, ObjectNode root) {
        root.put(
                "verdict",
                switch (code(findings)) {
                    case ExitCode.CHECK_FAILED -> "missing";
                    case ExitCode.INCONCLUSIVE -> "unknown";
                    default -> "ok";
                });
        ArrayNode all = root.putArray("findings");
        for (Finding finding : findings) {
            ObjectNode each = all.addObject()
                    .put("status", finding.status().name().toLowerCase(Locale.ROOT))
                    .put("subject", finding.subject())
                    .put("text", finding.text());
            finding.mend().ifPresent(mend -> each.put("mend", mend));
        }
    }
}
