package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.workbench.table.BenchmarkLog;
import io.holdfast.workbench.table.BenchmarkLog.Appended;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Lets a benchmark log grow by a phase. */
@Command(
        name = "log",
        description = {
            "Appends results to a benchmark log in Markdown: a table for each workload, and the change against the last"
                    + " phase that had it.",
            "Existing content is not changed, and a workload whose requests have changed is refused."
        },
        sortOptions = false)
public final class LoadtestLogCommand implements Callable<Integer> {
    private static final int MOST_TOLD = 5;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "LOG.md", description = "The log; created if it does not exist.")
    private Path log = Path.of("");

    @Option(
            names = "--phase",
            paramLabel = "NAME",
            required = true,
            description = "Name of the new phase, as '5: continuous batching'.")
    private String phase = "";

    @Option(
            names = "--results",
            paramLabel = "FILE",
            required = true,
            description = "Results as CSV (workload, workload id, model, and metrics with units) or as the JSON"
                    + " of a preset or 'loadtest leg'; repeatable.")
    private List<Path> results = List.of();

    LoadtestLogCommand() {}

    @Override
    public Integer call() {
        Appended appended = BenchmarkLog.open(log).append(phase, results);
        PrintWriter out = spec.commandLine().getOut();
        TerminalText text = TerminalText.plain(out);
        text.paragraph(
                "",
                "Appended to " + log + ": " + appended.workloads().size()
                        + (appended.workloads().size() == 1 ? " workload, " : " workloads, ")
                        + String.join(", ", appended.models()));
        appended.workloads()
                .forEach((workload, before) -> text.paragraph(
                        "  ", workload + before.map(name -> ", against " + name).orElse(", for the first time")));
        if (!appended.worse().isEmpty()) {
            text.line("  worse by more than 5 %, as single runs:");
            appended.worse().stream().limit(MOST_TOLD).forEach(each -> text.paragraph("    ", each));
            if (appended.worse().size() > MOST_TOLD) {
                text.line("    and " + (appended.worse().size() - MOST_TOLD) + " more");
            }
        }
        out.flush();
        return ExitCode.OK;
    }
}
