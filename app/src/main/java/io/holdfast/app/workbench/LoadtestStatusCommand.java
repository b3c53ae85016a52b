package io.holdfast.app.workbench;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.ArmCommandOptions;
import io.holdfast.app.loadtest.AskOptions;
import io.holdfast.app.loadtest.ServerOptions;
import io.holdfast.app.loadtest.StatusReport;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.matrix.SuiteState;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** How far a run has come, asked from anywhere on its machine. */
@Command(
        name = "status",
        description = "Shows from another terminal how far a run has come (percentage, pairs, time left), and whether"
                + " it runs, was stopped, was killed or is finished.",
        sortOptions = false)
public final class LoadtestStatusCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(
            paramLabel = "JOURNAL",
            description = "The file that 'loadtest run' or 'loadtest aa' writes, or the folder of a suite of legs.")
    private Path journal = Path.of("");

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestStatusCommand() {}

    @Override
    public Integer call() {
        if (Files.isDirectory(journal)) {
            MatrixText.print(
                    SuiteState.of(LoadFolder.open(journal)), spec.commandLine().getOut());
            return ExitCode.OK;
        }
        // Asked first: a run that ends in between is then told as running, which it was, and never as killed.
        boolean beingWritten = Journal.isBeingWritten(journal);
        Journal.Contents run = Journal.read(journal);
        RunStatus status = RunStatus.of(run, beingWritten);
        String again = ServerOptions.again(run.header())
                + ArmCommandOptions.again(run.header().test().target().map(LoadTestPlan.Target::arm))
                + AskOptions.again(run.header());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            StatusReport.printJson(status, run, journal, again, out);
        } else {
            StatusReport.print(status, run, journal, again, out);
        }
        return ExitCode.OK;
    }
}
