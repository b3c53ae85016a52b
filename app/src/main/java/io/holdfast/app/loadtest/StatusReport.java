package io.holdfast.app.loadtest;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.VoidedPair;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.RunCommand;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** Progress of a run, and the command that goes on with it. */
public final class StatusReport {
    private StatusReport() {}

    /** Prints the figures of a run that is stopped. There is no verdict, since that needs all pairs. */
    static int stopped(PrintWriter out, OutputOptions output, Path journal, String again) {
        boolean json = output.isJson();
        if (output.isEvents()) {
            JsonProgress.stopped(
                    journal, Files.exists(journal) ? Optional.of(command(journal, again)) : Optional.empty(), out);
            return ExitCode.STOPPED;
        }
        if (!Files.exists(journal)) {
            if (!json) {
                out.println("Stopped before the first leg; nothing was written.");
            }
            return ExitCode.STOPPED;
        }
        Journal.Contents run = Journal.read(journal);
        RunStatus status = RunStatus.of(run, false).stopped();
        if (json) {
            printJson(status, run, journal, again, out);
            return ExitCode.STOPPED;
        }
        if (status.pairs() > 0 && run.header().plan().isOnlyControls()) {
            ControlReport.report(ControlAnalysis.of(run), false, out);
        } else if (status.pairs() > 0) {
            ResultReport.print(Analysis.of(run), false, out);
        }
        out.println();
        print(status, run, journal, again, out);
        return ExitCode.STOPPED;
    }

    public static void print(RunStatus status, Journal.Contents run, Path journal, String again, PrintWriter out) {
        String pairs = status.pairs() + " of " + status.plannedPairs() + " pairs";
        String voided = run.voided().isEmpty() ? "" : ", and " + run.voided().size() + " broken off";
        // A look that decided, or legs that cannot be mended, end a run before all of its pairs are there.
        boolean early = status.isFinished() && status.pairs() < status.plannedPairs();
        out.println((early
                        ? "FINISHED early, since more would change nothing: "
                        : (status.isFinished() ? "FINISHED" : "PARTIAL, " + state(status)) + ": " + status.percent()
                                + " %, ")
                + pairs + voided
                + status.left()
                        .filter(left -> !status.isFinished())
                        .map(left -> ", about " + TimeSpan.shown(left) + (status.isRunning() ? " left" : " to go"))
                        .orElse("")
                + ".");
        run.warnings().forEach(out::println);
        if (status.isFinished()) {
            out.println("Its result: holdfast loadtest analyze " + quoted(journal.toString()));
        } else if (!status.isRunning()) {
            out.println("Go on with: " + command(journal, again));
        }
        out.flush();
    }

    private static String state(RunStatus status) {
        return switch (status.state()) {
            case RUNNING -> "RUNNING";
            case KILLED -> "KILLED";
            case STOPPED, FINISHED ->
                "STOPPED"
                        + status.stoppedBy()
                                .filter(why -> !VoidedPair.STOPPED.equals(why))
                                .map(why -> " (" + why + ")")
                                .orElse("");
        };
    }

    public static void printJson(RunStatus status, Journal.Contents run, Path journal, String again, PrintWriter out) {
        Json root = Json.object()
                .put("state", status.state())
                .put("partial", !status.isFinished())
                .put("percent", status.percent())
                .put("pairs", status.pairs())
                .put("plannedPairs", status.plannedPairs())
                .put("voidedPairs", run.voided().size())
                .put("resumes", run.resumes())
                .put("secondsLeft", status.left().map(Duration::toSeconds))
                .put(
                        "resume",
                        status.isFinished() || status.isRunning()
                                ? Optional.empty()
                                : Optional.of(command(journal, again)));
        out.println(root.text());
        out.flush();
    }

    private static String command(Path journal, String again) {
        return "holdfast loadtest resume " + quoted(journal.toString()) + again;
    }

    /** A word for the shell. */
    public static String quoted(String word) {
        return RunCommand.quoted(word);
    }
}
