package io.holdfast.loadtest.report;

import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.report.PlainVerdict.Comparison;
import java.util.Locale;
import java.util.stream.Stream;

/** A result as Markdown, for an issue, a pull request or a log of benchmarks: no picture, all that decided. */
public final class MarkdownReport {
    private MarkdownReport() {}

    /**
     * The whole text.
     *
     * @param journal the name of the file that the result was read from
     */
    public static String of(Result result, String journal) {
        StringBuilder out = new StringBuilder();
        out.append("## ").append(PlainVerdict.answer(result)).append("\n\n");
        out.append("**").append(escaped(result.headline())).append("**");
        PlainVerdict.effect(result)
                .ifPresent(effect -> out.append(": ").append(effect).append('.'));
        out.append("\n\n").append(escaped(result.verdict().reason())).append("\n\n");
        out.append("| | change of time to first token | 95 % interval |\n|---|---:|---:|\n");
        for (Comparison row : PlainVerdict.comparisons(result)) {
            out.append("| ")
                    .append(row.name())
                    .append(": ")
                    .append(row.what())
                    .append(" | ")
                    .append(
                            row.log().isPresent()
                                    ? PlainVerdict.change(
                                            100 * Math.expm1(row.log().getAsDouble()))
                                    : "unknown")
                    .append(" | ")
                    .append(row.ci95().map(PlainVerdict::interval).orElse("none"))
                    .append(" |\n");
        }
        out.append("\n| arm | cached tokens | time to first token | probes | legs |\n|---|---:|---:|---:|---:|\n");
        arm(out, "baseline", result.baseline());
        arm(out, "pinned", result.pinned());
        out.append("\nMedians of the probes; prefix of ")
                .append(result.header().workload().prefixTokens())
                .append(" tokens, ")
                .append(escaped(result.header().engine().text()))
                .append(", ")
                .append(result.header().plan().lives().size())
                .append(" pairs, seed ")
                .append(result.seed())
                .append(", workload ")
                .append(result.workloadId(), 0, Math.min(12, result.workloadId().length()))
                .append(".\n\n");
        Stream.concat(result.verdict().warnings().stream(), result.warnings().stream())
                .forEach(note -> out.append("* ").append(escaped(note)).append('\n'));
        return out.append("\n    holdfast loadtest analyze ")
                .append(journal)
                .append('\n')
                .toString();
    }

    private static void arm(StringBuilder out, String name, ArmSummary arm) {
        out.append(String.format(
                Locale.ROOT,
                "| %s | %s | %s | %d | %d |%n",
                name,
                PlainVerdict.number(arm.cachedTokens(), "%.0f"),
                PlainVerdict.number(arm.ttftMillis(), "%.1f ms"),
                arm.probes(),
                arm.legs()));
    }

    /** What a server or a user wrote must not become a table or a link. */
    private static String escaped(String text) {
        return text.replaceAll("[\\p{Cntrl}]", " ").replaceAll("([\\\\`*_\\[\\]<>|#])", "\\\\$1");
    }
}
