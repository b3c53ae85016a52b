package io.holdfast.app;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Did pinning help, by how much, or can this data not tell? */
@Command(
        name = "loadtest",
        description = "Did pinning help, by how much, or can this data not tell?",
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {
            LoadtestAaCommand.class,
            LoadtestRunCommand.class,
            LoadtestResumeCommand.class,
            LoadtestStatusCommand.class,
            LoadtestCalibrateCommand.class,
            LoadtestCommand.Analyze.class,
            LoadtestReportCommand.class
        })
final class LoadtestCommand implements Runnable {
    private static final int MOST_PORT = 65_535;

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
        Finding found = result.verdict().finding();
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

    /** Judges a finished run again from its journal alone. */
    @Command(
            name = "analyze",
            description = "Judges a run again from its journal alone; the verdict is the same as that of the run.",
            sortOptions = false)
    static final class Analyze implements Callable<Integer> {
        @ParentCommand
        private LoadtestCommand parent = new LoadtestCommand();

        @Parameters(paramLabel = "JOURNAL", description = "The file that 'loadtest run' or 'loadtest aa' wrote.")
        private Path journal = Path.of("");

        @Mixin
        private ExpectOptions expect = new ExpectOptions();

        @Option(names = "--json", description = "One JSON document on standard output.")
        private boolean json;

        Analyze() {}

        @Override
        public Integer call() {
            Journal.Contents run = Journal.read(journal);
            if (!run.header().plan().isOnlyControls()) {
                return report(parent.spec.commandLine(), Analysis.of(run), json, expect.finding());
            }
            if (expect.finding().isPresent()) {
                throw new CommandException("The journal " + journal
                        + " is that of 'loadtest aa', which finds nothing to be expected; leave --expect out.");
            }
            return ControlReport.report(
                    ControlAnalysis.of(run), json, parent.spec.commandLine().getOut());
        }
    }
}
