package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.TerminalProgress;
import io.holdfast.loadtest.session.LoadTestSession.Outcome;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Where a load test tells what: to people, to a program, or to a file while nobody watches. */
final class OutputOptions {
    enum Watcher {
        text,
        json
    }

    @Option(names = "--json", description = "One JSON document on standard output; progress goes to the error stream.")
    private boolean json;

    @Option(
            names = "--progress",
            paramLabel = "HOW",
            defaultValue = "text",
            description = "${COMPLETION-CANDIDATES}: json prints one JSON object a line to standard output, for a"
                    + " program that drives the run; everything else goes to the error stream (default:"
                    + " ${DEFAULT-VALUE}).")
    private Watcher watcher = Watcher.text;

    @Option(
            names = "--background",
            description = "Exit as soon as the run has begun; it continues in its own process and writes its"
                    + " output to a file beside the journal.")
    private boolean background;

    OutputOptions() {}

    /** Of a command that tells people, or a program by one document. */
    static OutputOptions of(boolean json) {
        OutputOptions options = new OutputOptions();
        options.json = json;
        return options;
    }

    /** Refuses what cannot be had together. */
    void check() {
        if (json && isEvents()) {
            throw new CommandException(
                    "--json is one document and --progress json one object a line; leave one out, and"
                            + " take the document from 'holdfast loadtest analyze --json'.");
        }
    }

    boolean isJson() {
        return json;
    }

    boolean isEvents() {
        return watcher == Watcher.json;
    }

    /** Where people are told what is going on. */
    PrintWriter beside(CommandLine command) {
        return json || isEvents() ? command.getErr() : command.getOut();
    }

    Progress progress(CommandLine command, RunClock clock) {
        if (isEvents()) {
            return new JsonProgress(command.getOut());
        }
        PrintStream stream = json ? System.err : System.out;
        return new TerminalProgress(stream, !json && TerminalText.onTerminal(), clock::nanos);
    }

    /** Whether this process only begins the run, and then ends with the returned code of {@link #begin}. */
    boolean isBackground() {
        return background;
    }

    /**
     * Begins the run in another process.
     *
     * @param named whether the command line names the journal
     * @param begun whether the run has come so far that it may be left alone, by what it printed
     */
    int begin(CommandLine command, Path journal, boolean named, BooleanSupplier begun) {
        return new BackgroundRun(command.getOut(), beside(command), journal, json || isEvents()).begin(named, begun);
    }

    /**
     * Runs a test that begins, or says its plan, and reports it; returns the exit code.
     *
     * @param again what has to be written after {@code resume} and the journal
     */
    int run(
            CommandLine command,
            AskedTest test,
            JournalOptions journal,
            boolean planOnly,
            String again,
            ExpectOptions expected) {
        check();
        Path file = journal.file(command.getCommandName());
        PrintWriter beside = beside(command);
        if (planOnly) {
            return LoadtestBench.untilStopped(
                    command,
                    beside,
                    bench -> test.preview(file, bench, json, command.getOut()),
                    () -> ExitCode.STOPPED);
        }
        JournalOptions.checkFolder(file);
        Journal.refuseExisting(file);
        if (isBackground()) {
            return begin(command, file, journal.isNamed(), () -> Files.exists(file));
        }
        return LoadtestBench.untilStopped(command, beside, this, file, again, bench -> {
            Outcome outcome = test.run(file, bench, progress(command, bench.clock()), beside);
            beside.println("The journal is " + file + ".");
            beside.flush();
            return report(command, outcome, expected);
        });
    }

    /** Prints an outcome where it belongs; returns the exit code. */
    int report(CommandLine command, Outcome outcome, ExpectOptions expected) {
        return switch (outcome) {
            case Outcome.Judged judged -> report(command, judged.result(), expected);
            case Outcome.Controls controls -> report(command, controls.result());
        };
    }

    private int report(CommandLine command, Result result, ExpectOptions expected) {
        // The last event has told a program already.
        ResultReport.print(result, json && !isEvents(), isEvents() ? command.getErr() : command.getOut());
        return expected.code(command, result.verdict().finding());
    }

    private int report(CommandLine command, ControlResult result) {
        if (isEvents()) {
            JsonProgress.finished(result, command.getOut());
            return ControlReport.report(result, false, command.getErr());
        }
        return ControlReport.report(result, json, command.getOut());
    }
}
