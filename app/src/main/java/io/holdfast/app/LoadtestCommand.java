package io.holdfast.app;

import io.holdfast.app.cli.CommandGroups;
import io.holdfast.app.cli.CommandGroups.Group;
import io.holdfast.app.loadtest.LoadtestAaCommand;
import io.holdfast.app.loadtest.LoadtestAbCommand;
import io.holdfast.app.loadtest.LoadtestAnalyzeCommand;
import io.holdfast.app.loadtest.LoadtestBundleCommand;
import io.holdfast.app.loadtest.LoadtestCalibrateCommand;
import io.holdfast.app.loadtest.LoadtestReportCommand;
import io.holdfast.app.loadtest.LoadtestResumeCommand;
import io.holdfast.app.loadtest.LoadtestSweepCommand;
import io.holdfast.app.sidecar.DoctorCommand;
import io.holdfast.app.workbench.LoadtestCompareCommand;
import io.holdfast.app.workbench.LoadtestImportCommand;
import io.holdfast.app.workbench.LoadtestLegCommand;
import io.holdfast.app.workbench.LoadtestLogCommand;
import io.holdfast.app.workbench.LoadtestMatrixCommand;
import io.holdfast.app.workbench.LoadtestPresetCommand;
import io.holdfast.app.workbench.LoadtestProfileCommand;
import io.holdfast.app.workbench.LoadtestReproCommand;
import io.holdfast.app.workbench.LoadtestReviewCommand;
import io.holdfast.app.workbench.LoadtestSamplesCommand;
import io.holdfast.app.workbench.LoadtestScalingCommand;
import io.holdfast.app.workbench.LoadtestStatusCommand;
import io.holdfast.app.workbench.LoadtestTimelineCommand;
import io.holdfast.app.workbench.LoadtestTraceCommand;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Did holding help, by how much, or can this data not tell? */
@Command(
        name = LoadtestCommand.NAME,
        description = "Measures whether holding helps, and by how much, or reports that the data cannot show it.",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            LoadtestAaCommand.class,
            LoadtestAbCommand.class,
            LoadtestSweepCommand.class,
            LoadtestPresetCommand.class,
            LoadtestLegCommand.class,
            LoadtestResumeCommand.class,
            LoadtestStatusCommand.class,
            DoctorCommand.OfLoadtest.class,
            LoadtestCalibrateCommand.class,
            LoadtestTraceCommand.class,
            LoadtestSamplesCommand.class,
            LoadtestProfileCommand.class,
            LoadtestReproCommand.class,
            LoadtestTimelineCommand.class,
            LoadtestAnalyzeCommand.class,
            LoadtestReportCommand.class,
            LoadtestBundleCommand.class,
            LoadtestImportCommand.class,
            LoadtestCompareCommand.class,
            LoadtestMatrixCommand.class,
            LoadtestScalingCommand.class,
            LoadtestReviewCommand.class,
            LoadtestLogCommand.class
        })
final class LoadtestCommand implements Runnable {
    static final String NAME = "loadtest";

    /** Groups of the commands by what a reader of the help wants to do. */
    static final CommandGroups GROUPS = new CommandGroups(List.of(
            new Group(
                    "Does holding pay off? Start with aa, then ab:", List.of("aa", "ab", "sweep", "resume", "status")),
            new Group("Loads without a verdict:", List.of("leg", "preset")),
            new Group(
                    "Results: judge again, report, compare:",
                    List.of("analyze", "report", "bundle", "import", "compare", "matrix", "scaling", "review", "log")),
            new Group("One leg or request, looked into:", List.of("trace", "samples", "timeline", "profile", "repro")),
            new Group("The test bed:", List.of("doctor", "calibrate"))));

    @Spec
    private CommandSpec spec = CommandSpec.create();

    public LoadtestCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
