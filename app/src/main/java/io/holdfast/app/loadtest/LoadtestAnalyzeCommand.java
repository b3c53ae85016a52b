package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.sweep.Sweep;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Judges finished runs again from their raw data alone. */
@Command(
        name = "analyze",
        description = "Judges a run again from its journal alone; the verdict is the same as that of the run. In a"
                + " folder or a bundle it judges each journal.",
        sortOptions = false)
public final class LoadtestAnalyzeCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(
            paramLabel = "JOURNAL|FOLDER|BUNDLE",
            description = "The file that 'loadtest run' or 'loadtest aa' wrote, a folder of them, or what 'loadtest"
                    + " bundle' made.")
    private Path path = Path.of("");

    @Mixin
    private ExpectOptions expect = new ExpectOptions();

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    @Option(
            names = "--out",
            paramLabel = "FILE",
            description = "Write the JSON document to a file; nothing is written where no leg has the judged metric.")
    private Optional<Path> out = Optional.empty();

    LoadtestAnalyzeCommand() {}

    @Override
    public Integer call() {
        try (RunFiles files = RunFiles.open(path)) {
            refuseExpectationOfControls(files);
            out.ifPresent(file -> write(files, file));
            PrintWriter console = spec.commandLine().getOut();
            if (json) {
                console.print(files.resultJson());
                console.flush();
            }
            if (files.sweep().isPresent()) {
                Sweep sweep = Sweep.of(files.sweep().get());
                if (!json) {
                    SweepReport.print(sweep, false, console);
                }
                return SweepReport.code(sweep);
            }
            int worst = ExitCode.OK;
            for (RunFiles.Run run : files.runs()) {
                worst = worse(worst, files.isSingle() ? inFull(run, console) : inALine(run, console));
            }
            return worst;
        }
    }

    private int inFull(RunFiles.Run run, PrintWriter console) {
        if (run.isControls()) {
            var result = ControlAnalysis.of(run.contents());
            return json
                    ? result.isEnough() ? ExitCode.OK : ExitCode.INCONCLUSIVE
                    : ControlReport.report(result, false, console);
        }
        Result result = Analysis.of(run.contents());
        if (!json) {
            ResultReport.print(result, false, console);
        }
        return expect.code(spec.commandLine(), result.verdict().finding());
    }

    private int inALine(RunFiles.Run run, PrintWriter console) {
        if (run.isControls()) {
            var result = ControlAnalysis.of(run.contents());
            tell(console, run, "A/A, order bias " + ControlReport.orderBias(result));
            return result.isEnough() ? ExitCode.OK : ExitCode.INCONCLUSIVE;
        }
        Result result = Analysis.of(run.contents());
        tell(console, run, result.headline());
        return expect.code(spec.commandLine(), result.verdict().finding());
    }

    private void tell(PrintWriter console, RunFiles.Run run, String what) {
        if (!json) {
            console.println(run.name() + ": " + what);
        }
    }

    /** A failed check outweighs data that cannot tell. */
    private static int worse(int one, int other) {
        if (one == ExitCode.CHECK_FAILED || other == ExitCode.CHECK_FAILED) {
            return ExitCode.CHECK_FAILED;
        }
        return Math.max(one, other);
    }

    private void refuseExpectationOfControls(RunFiles files) {
        Optional<Finding> expected = expect.finding();
        files.runs().stream()
                .filter(run -> run.isControls() && expected.isPresent())
                .findFirst()
                .ifPresent(run -> {
                    throw new CommandException("The journal " + run.file()
                            + " is that of 'loadtest aa', which finds nothing to be expected; leave --expect out.");
                });
    }

    /** A summary without the number that it is about would be taken for one of a run that went well. */
    private void write(RunFiles files, Path file) {
        for (RunFiles.Run run : files.runs()) {
            var number = run.contents().header().statistic();
            boolean any = run.contents().legs().stream()
                    .filter(LegRecord::isMeasured)
                    .anyMatch(leg -> number.of(leg.requests()).orElse(0) > 0);
            if (!any) {
                throw new CommandException("No leg of " + run.name() + " that counts has a " + number
                        + ", so there is nothing to sum up and '" + file
                        + "' is not written; 'loadtest status' says how far the run came.");
            }
        }
        try {
            Files.writeString(file, files.resultJson());
        } catch (IOException e) {
            throw new CommandException(
                    "'" + file + "' cannot be written (" + FileTrouble.why(e) + "); name another file.");
        }
    }
}
