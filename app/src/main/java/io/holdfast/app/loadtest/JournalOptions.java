package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.run.RunClock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Where a load test writes down what it does. */
final class JournalOptions {
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss").withZone(ZoneOffset.UTC);

    @Option(
            names = "--journal",
            paramLabel = "FILE",
            description = "A new file for every request of every leg; 'loadtest analyze' reads it again (default:"
                    + " ${COMMAND-NAME}-TIME.jsonl in this folder).")
    private @Nullable Path journal;

    JournalOptions() {}

    /** @param command the command's name, for a file that is not named */
    Path file(String command) {
        return Optional.ofNullable(journal).orElseGet(() -> file(command, RunClock.system()));
    }

    boolean isNamed() {
        return journal != null;
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
    static Path file(String kind, RunClock clock) {
        return Path.of(kind + "-" + STAMP.format(clock.now()) + ".jsonl");
    }
}
