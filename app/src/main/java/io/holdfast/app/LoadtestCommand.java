package io.holdfast.app;

import io.holdfast.app.CommandGroups.Group;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Did holding help, by how much, or can this data not tell? */
@Command(
        name = LoadtestCommand.NAME,
        description = "Did holding help, by how much, or can this data not tell?",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            LoadtestAaCommand.class,
            LoadtestAbCommand.class,
            LoadtestSweepCommand.class,
            LoadtestPresetCommand.class,
            LoadtestLegCommand.class,
            LoadtestResumeCommand.class,
            LoadtestStatusCommand.class,
            LoadtestDoctorCommand.class,
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

    /** By what whoever reads the help wants to do. */
    static final CommandGroups GROUPS = new CommandGroups(List.of(
            new Group(
                    "Does holding pay off? Start with aa, then ab:", List.of("aa", "ab", "sweep", "resume", "status")),
            new Group("Loads without a verdict:", List.of("leg", "preset")),
            new Group(
                    "What was measured, judged again, told, set beside each other:",
                    List.of("analyze", "report", "bundle", "import", "compare", "matrix", "scaling", "review", "log")),
            new Group("One leg or request, looked into:", List.of("trace", "samples", "timeline", "profile", "repro")),
            new Group("The test bed:", List.of("doctor", "calibrate"))));

    @Spec
    private CommandSpec spec = CommandSpec.create();

    LoadtestCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
