package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.workbench.preset.PinPocFiles;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** What the pin benchmark showed, for people; its files are for programs. */
final class PinPocReport {
    private PinPocReport() {}

    static int code(PinPocFiles files) {
        List<Finding> findings = files.concurrencies().stream()
                .flatMap(concurrency -> files.verdict(concurrency).stream())
                .map(result -> result.verdict().finding())
                .toList();
        return findings.contains(Finding.INVALID)
                ? ExitCode.CHECK_FAILED
                : findings.isEmpty() || findings.contains(Finding.INCONCLUSIVE) ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    static void print(PinPocFiles files, Path folder, PrintWriter out) {
        TerminalText text = TerminalText.plain(out);
        text.blank();
        text.line("  step                       TTFT avg: first     second    change");
        files.pairs()
                .forEach(pair -> text.line(String.format(
                        Locale.ROOT,
                        "  %-28s %10.1f %10.1f ms %+7.1f %%  %s",
                        pair.name(),
                        pair.firstMillis(),
                        pair.secondMillis(),
                        100 * (pair.secondMillis() / pair.firstMillis() - 1),
                        pair.arms())));
        text.blank();
        files.repetitions().ifPresent(of -> {
            text.line("  ACROSS " + of.count() + " REPS:");
            text.line("  BL TTFT avg: " + spread(of.baseline()));
            text.line("  PIN TTFT avg: " + spread(of.pinned()));
            text.line("  " + of.count() + " per order cannot decide.");
        });
        for (int concurrency : files.concurrencies()) {
            text.blank();
            files.verdict(concurrency)
                    .ifPresentOrElse(
                            result -> verdict(text, concurrency, result),
                            () -> text.line("  " + concurrency + " at a time: no verdict, since steps are missing."));
        }
        text.blank();
        text.paragraph("  ", "The results are in " + folder + ".");
        out.flush();
    }

    /** With two decimals, as the benchmark has it, and the interval that it lacks. */
    static String spread(PinPocFiles.Spread of) {
        return String.format(Locale.ROOT, "mean=%.2fms, std=%.2fms", of.mean(), of.std())
                + of.ci95()
                        .map(ci -> String.format(Locale.ROOT, ", 95 %% interval %.2f to %.2fms", ci.low(), ci.high()))
                        .orElse("");
    }

    private static void verdict(TerminalText text, int concurrency, Result result) {
        text.line("  " + concurrency + " at a time: " + result.headline());
        text.paragraph("    ", result.verdict().reason());
        result.verdict().warnings().forEach(warning -> text.paragraph("    note: ", warning));
        result.warnings().forEach(warning -> text.paragraph("    note: ", warning));
    }
}
