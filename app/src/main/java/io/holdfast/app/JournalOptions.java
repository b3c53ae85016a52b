package io.holdfast.app;

import io.holdfast.loadtest.run.RunClock;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Where a load test writes down what it does. */
final class JournalOptions {
    @Option(
            names = "--journal",
            paramLabel = "FILE",
            description = "A new file for every request of every leg; 'loadtest analyze' reads it again (default:"
                    + " ${COMMAND-NAME}-TIME.jsonl in this folder).")
    private @Nullable Path journal;

    JournalOptions() {}

    /** @param command the command's name, for a file that is not named */
    Path file(String command) {
        return Optional.ofNullable(journal).orElseGet(() -> LoadtestCommand.journal(command, RunClock.system()));
    }

    boolean isNamed() {
        return journal != null;
    }
}
