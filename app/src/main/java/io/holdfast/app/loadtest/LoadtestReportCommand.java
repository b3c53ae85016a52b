package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.report.HtmlRenderer;
import io.holdfast.loadtest.report.JUnitXml;
import io.holdfast.loadtest.report.LegsCsv;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.report.SweepDocument;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.SuiteMarkdown;
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
        description = "Writes the results of a run as one page that needs no network, and in other formats on request.",
        sortOptions = false)
public final class LoadtestReportCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(
            paramLabel = "JOURNAL|FOLDER",
            description = "The file that 'loadtest run' wrote, or the folder of a sweep, of 'loadtest leg' or of"
                    + " a preset. A folder gets experiments.md and final-report.md.")
    private Path journal = Path.of("");

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "The page (default, without any of these options: the journal's name with .html, or"
                    + " sweep.html in the folder).")
    private Optional<Path> html = Optional.empty();

    @Option(
            names = "--markdown",
            paramLabel = "FILE",
            description = "Markdown without figures, for an issue or a" + " log.")
    private Optional<Path> markdown = Optional.empty();

    @Option(names = "--csv", paramLabel = "FILE", description = "Every request of every leg.")
    private Optional<Path> csv = Optional.empty();

    @Option(
            names = "--junit",
            paramLabel = "FILE",
            description =
                    "The verdict as a JUnit test for a build server; with --expect any other verdict fails" + " it.")
    private Optional<Path> junit = Optional.empty();

    @Mixin
    private DetailOptions detail = new DetailOptions();

    @Mixin
    private ExpectOptions expect = new ExpectOptions();

    LoadtestReportCommand() {}

    @Override
    public Integer call() {
        if (Files.isDirectory(journal)) {
            return ofAFolder();
        }
        Journal.Contents run = Journal.read(journal);
        if (run.header().plan().isOnlyControls()) {
            throw new CommandException("The journal " + journal
                    + " is that of 'loadtest aa', which has no verdict to report; 'loadtest analyze' prints what it"
                    + " found.");
        }
        Result result = Analysis.of(run);
        RunMeasures measures = detail.of(result);
        String name = RunFiles.name(journal);
        if (html.isEmpty() && markdown.isEmpty() && csv.isEmpty() && junit.isEmpty()) {
            html = Optional.of(journal.resolveSibling(name.replaceFirst("\\.jsonl?$", "") + ".html"));
        }
        html.ifPresent(file -> write(file, HtmlRenderer.page(RunDocument.page(result, measures, name))));
        markdown.ifPresent(file -> write(file, MarkdownRenderer.text(RunDocument.text(result, measures, name))));
        csv.ifPresent(file -> write(file, LegsCsv.of(result)));
        junit.ifPresent(file -> write(file, JUnitXml.of(result, expect.finding())));
        return expect.code(spec.commandLine(), result.verdict().finding());
    }

    private int ofAFolder() {
        if (Files.exists(journal.resolve(SweepPlan.FILE))) {
            return ofASweep();
        }
        if (html.isPresent() || markdown.isPresent() || csv.isPresent() || junit.isPresent()) {
            throw new CommandException("'" + journal
                    + "' is a folder of loads without arms, of which there are two texts in Markdown alone; leave"
                    + " --html, --markdown, --csv and --junit out.");
        }
        SuiteMarkdown suite = new SuiteMarkdown(LoadFolder.open(journal), detail.percentiles(), detail.slo());
        write(journal.resolve("experiments.md"), suite.experiments());
        write(journal.resolve("final-report.md"), suite.finalReport());
        return suite.hasFailed() ? ExitCode.CHECK_FAILED : suite.isWhole() ? ExitCode.OK : ExitCode.INCONCLUSIVE;
    }

    private int ofASweep() {
        if (markdown.isPresent() || csv.isPresent() || junit.isPresent()) {
            throw new CommandException("'" + journal
                    + "' is the folder of a sweep, of which there is a page alone; name one of its journals for"
                    + " --markdown, --csv or --junit.");
        }
        Sweep sweep = Sweep.of(journal);
        if (sweep.levels().isEmpty()) {
            throw new CommandException("No level of the sweep in " + journal + " has run yet; go on with it by"
                    + " 'loadtest sweep --resume'.");
        }
        write(
                html.orElseGet(() -> journal.resolve("sweep.html")),
                HtmlRenderer.page(SweepDocument.page(sweep, RunFiles.name(journal))));
        return SweepReport.code(sweep);
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
            throw new CommandException(
                    "'" + file + "' cannot be written (" + FileTrouble.why(e) + "); name another file.");
        }
        PrintWriter out = spec.commandLine().getOut();
        out.println("Written: " + file);
    }
}
