package io.holdfast.app;

import io.holdfast.app.CommandGroups.Group;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine;
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

    static final int MOST_PORT = 65_535;

    /** How people write the address, after OpenAI's own. */
    private static final String VERSION_PATH = "/v1";

    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss").withZone(ZoneOffset.UTC);

    @Spec
    private CommandSpec spec = CommandSpec.create();

    LoadtestCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** What both subcommands do with a result. */
    static int report(CommandLine command, Result result, OutputOptions output, Optional<Finding> expected) {
        // The last event has told a program already.
        if (output.isEvents()) {
            ResultReport.print(result, false, command.getErr());
            return code(command, result, expected);
        }
        return report(command, result, output.isJson(), expected);
    }

    /** The same of a run that has no arms. */
    static int report(CommandLine command, ControlResult result, OutputOptions output) {
        if (output.isEvents()) {
            JsonProgress.finished(result, command.getOut());
            return ControlReport.report(result, false, command.getErr());
        }
        return ControlReport.report(result, output.isJson(), command.getOut());
    }

    private static int report(CommandLine command, Result result, boolean json, Optional<Finding> expected) {
        ResultReport.print(result, json, command.getOut());
        return code(command, result, expected);
    }

    static int code(CommandLine command, Result result, Optional<Finding> expected) {
        return code(command, result.verdict().finding(), expected);
    }

    /** The exit code of what was found. */
    static int code(CommandLine command, Finding found, Optional<Finding> expected) {
        if (expected.isPresent() && expected.get() != found) {
            command.getErr().println("holdfast: expected " + expected.get() + ", found " + found + ".");
            return ExitCode.CHECK_FAILED;
        }
        return switch (found) {
            case REAL, NO_EFFECT, ORDER_ARTEFACT, NO_EXPOSURE, HARMFUL -> ExitCode.OK;
            case INVALID -> expected.isPresent() ? ExitCode.OK : ExitCode.CHECK_FAILED;
            case INCONCLUSIVE -> expected.isPresent() ? ExitCode.OK : ExitCode.INCONCLUSIVE;
        };
    }

    /** The journal is begun when the engine has been asked already; this is said earlier. */
    static void checkFolder(Path journal) {
        Path folder = Optional.ofNullable(journal.toAbsolutePath().getParent())
                .orElseThrow(() -> new CommandException("--journal is '" + journal + "'; name a file."));
        if (!Files.isDirectory(folder)) {
            throw new CommandException(
                    "--journal is '" + journal + "', but there is no folder " + folder + "; make it first.");
        }
    }

    /** A file of this folder whose name says when it was begun. */
    static Path journal(String kind, RunClock clock) {
        return Path.of(kind + "-" + STAMP.format(clock.now()) + ".jsonl");
    }

    /** The server's address where it was written with the path of OpenAI's routes. */
    static URI withoutVersion(URI url) {
        String text = url.toString();
        while (text.endsWith("/")) {
            text = text.substring(0, text.length() - 1);
        }
        return URI.create(
                text.endsWith(VERSION_PATH) ? text.substring(0, text.length() - VERSION_PATH.length()) : text);
    }

    static void checkAddress(String option, URI uri) {
        if (!("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))
                || uri.getHost() == null
                || uri.getPort() > MOST_PORT) {
            throw new CommandException(option + " is '" + uri + "'; write an address such as http://127.0.0.1:30000.");
        }
        if (uri.getUserInfo() != null) {
            // Addresses are written down.
            throw new CommandException(option + " names a user; leave that out, and give a key by --api-key-env.");
        }
    }
}
