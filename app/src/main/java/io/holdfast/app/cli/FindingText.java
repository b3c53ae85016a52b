package io.holdfast.app.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.look.Finding;
import io.holdfast.core.look.Finding.Status;
import io.holdfast.loadtest.report.Json;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Findings of a doctor, line by line with their mends: for people and as JSON. */
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

    /** Returns the verdict in a sentence or two. */
    public static String verdict(List<Finding> findings) {
        String missing = subjects(findings, Status.MISSING);
        String unknown = subjects(findings, Status.UNKNOWN);
        String warnings = subjects(findings, Status.WARNING);
        return (missing.isEmpty()
                        ? unknown.isEmpty()
                                ? "Nothing that matters is missing."
                                : "Could not be determined: " + unknown + "."
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

    /** Puts the verdict in a word, and the findings. */
    public static void write(List<Finding> findings, ObjectNode root) {
        String verdict = switch (code(findings)) {
            case ExitCode.CHECK_FAILED -> "missing";
            case ExitCode.INCONCLUSIVE -> "unknown";
            default -> "ok";
        };
        root.setAll(Json.object()
                .put("verdict", verdict)
                .put("findings", findings.stream().map(FindingText::json).toList())
                .tree());
    }

    private static Json json(Finding finding) {
        return Json.of(finding)
                .put("status", finding.status().name().toLowerCase(Locale.ROOT))
                .withoutUnknown();
    }
}
