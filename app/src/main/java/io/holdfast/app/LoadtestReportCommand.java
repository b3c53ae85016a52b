package io.holdfast.app;

import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.report.HtmlReport;
import io.holdfast.loadtest.report.JUnitXml;
import io.holdfast.loadtest.report.LegsCsv;
import io.holdfast.loadtest.report.MarkdownReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Writes what a run found for readers who were not there. */
@Command(
        name = "report",
        description =
                "Writes what a run found as one page that needs no network, and as other files for who wants them.",
        sortOptions = false)
final class LoadtestReportCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "JOURNAL", description = "The file that 'loadtest run' wrote.")
    private Path journal = Path.of("");

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "The page. Without any of these options: the journal's name with .html.")
    private Optional<Path> html = Optional.empty();

    @Option(names = "--markdown", paramLabel = "FILE", description = "Without figures, for an issue or a log.")
    private Optional<Path> markdown = Optional.empty();

    @Option(names = "--csv", paramLabel = "FILE", description = "Every request of every leg.")
    private Optional<Path> csv = Optional.empty();

    @Option(
            names = "--junit",
            paramLabel = "FILE",
            description = "The verdict as a test, for a build server; with --expect it fails on any other.")
    private Optional<Path> junit = Optional.empty();

    @Mixin
    private ExpectOptions expect = new ExpectOptions();

    LoadtestReportCommand() {}

    @Override
    public Integer call() {
        Journal.Contents run = Journal.read(journal);
        if (run.header().plan().isOnlyControls()) {
            throw new CommandException("The journal " + journal
                    + " is that of 'loadtest aa', which has no verdict to report; 'loadtest analyze' prints what it"
                    + " found.");
        }
        Result result = Analysis.of(run);
        String name =
                Optional.ofNullable(journal.getFileName()).map(Path::toString).orElse("");
        if (html.isEmpty() && markdown.isEmpty() && csv.isEmpty() && junit.isEmpty()) {
            html = Optional.of(journal.resolveSibling(name.replaceFirst("\\.jsonl?$", "") + ".html"));
        }
        html.ifPresent(file -> write(file, HtmlReport.of(result, name)));
        markdown.ifPresent(file -> write(file, MarkdownReport.of(result, name)));
        csv.ifPresent(file -> write(file, LegsCsv.of(result)));
        junit.ifPresent(file -> write(file, JUnitXml.of(result, expect.finding())));
        return LoadtestCommand.code(spec.commandLine(), result, expect.finding());
    }

    private void write(Path file, String text) {
        if (file.toAbsolutePath().normalize().equals(journal.toAbsolutePath().normalize())) {
            throw new CommandException("'" + file + "' is the journal itself; write the report to another file.");
        }
        try {
            Files.writeString(file, text);
        } catch (NoSuchFileException e) {
            throw new CommandException("'" + file + "' cannot be written: there is no such folder; make it first.");
        } catch (IOException e) {
            throw new CommandException("'" + file + "' cannot be written (" + e.getMessage() + "); name another file.");
        }
        PrintWriter out = spec.commandLine().getOut();
        out.println("Written: " + file);
    }
}
