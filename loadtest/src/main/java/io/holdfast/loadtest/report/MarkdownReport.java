package io.holdfast.loadtest.report;

import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunFindings;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.report.PlainVerdict.Comparison;
import java.util.Locale;
import java.util.stream.Collectors;

/** A result as Markdown, for an issue, a pull request or a log of benchmarks: no picture, all that decided. */
public final class MarkdownReport {
    private MarkdownReport() {}

    /**
     * The whole text.
     *
     * @param measures what it shows beside its verdict
     * @param journal the name of the file that the result was read from
     */
    public static String of(Result result, RunMeasures measures, String journal) {
        StringBuilder out = new StringBuilder();
        out.append("## ").append(PlainVerdict.answer(result)).append("\n\n");
        out.append("**")
                .append(escaped(result.headline()))
                .append("** (")
                .append(PlainVerdict.meaning(result.verdict()))
                .append(')');
        PlainVerdict.effect(result)
                .ifPresent(effect -> out.append(": ").append(effect).append('.'));
        PlainVerdict.partial(result)
                .ifPresent(partial -> out.append("\n\n**").append(partial).append("**"));
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
                                    ? PlainVerdict.change(row.log().getAsDouble())
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
        findings(out, RunFindings.of(result));
        RunTables tables = new RunTables(measures, result.header().workload().isClosed());
        out.append("\n### ").append(RunTables.SPREAD).append("\n\n");
        tables.spread().forEach(sentence -> out.append("* ").append(sentence).append('\n'));
        out.append("\nTime to first token of probes, in ms:\n\n");
        table(out, tables.byPosition());
        if (!tables.waves().rows().isEmpty()) {
            out.append('\n');
            table(out, tables.waves());
        }
        out.append("\n### ")
                .append(RunTables.LOAD)
                .append("\n\n")
                .append(RunTables.LOAD_NOTE)
                .append("\n\n");
        tables.notes().forEach(note -> out.append("* ").append(note).append('\n'));
        out.append(tables.notes().isEmpty() ? "" : "\n");
        table(out, tables.load());
        return out.append("\n    holdfast loadtest analyze ")
                .append(journal)
                .append('\n')
                .toString();
    }

    private static void findings(StringBuilder out, RunFindings findings) {
        findings.all()
                .forEach(item -> out.append("* **")
                        .append(item.severity().text())
                        .append("** ")
                        .append(escaped(item.what()))
                        .append(item.evidence().isEmpty() ? "" : " (" + String.join("; ", item.evidence()) + ")")
                        .append('\n'));
        if (!findings.failures().failing().isEmpty()) {
            out.append("\nRequests that failed, of all that were sent there, by arm, purpose, leg and cycle:\n\n");
            findings.failures()
                    .lines()
                    .forEach(line -> out.append("* ").append(escaped(line)).append('\n'));
        }
    }

    /** Names to the left, numbers to the right. */
    public static void table(StringBuilder out, RunTables.Table table) {
        out.append(table.heads().stream().collect(Collectors.joining(" | ", "| ", " |\n")));
        out.append("|---").append("|---:".repeat(table.heads().size() - 1)).append("|\n");
        table.rows()
                .forEach(row -> out.append(
                        row.stream().map(MarkdownReport::escaped).collect(Collectors.joining(" | ", "| ", " |\n"))));
    }

    /** The verdict and the effect in one line. */
    public static String summary(Result result) {
        return result.headline()
                + PlainVerdict.effect(result).map(effect -> ": " + effect).orElse("");
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

    /** Escapes what a server or a user wrote, so that it becomes no table and no link. */
    public static String escaped(String text) {
        return text.replaceAll("[\\p{Cntrl}]", " ").replaceAll("([\\\\`*_\\[\\]<>|#])", "\\\\$1");
    }
}
