package io.holdfast.app.loadtest;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.evidence.Finding;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** What a run is expected to find. */
public final class ExpectOptions {
    @Option(
            names = "--expect",
            paramLabel = "FINDING",
            description = "Exit with 1 unless the verdict is this one: ${COMPLETION-CANDIDATES}.")
    private @Nullable Finding expected;

    public ExpectOptions() {}

    Optional<Finding> finding() {
        return Optional.ofNullable(expected);
    }

    /** Returns the exit code for a finding, and says on the error stream where another one was expected. */
    public int code(CommandLine command, Finding found) {
        if (expected != null && expected != found) {
            command.getErr().println("holdfast: expected " + expected + ", found " + found + ".");
            return ExitCode.CHECK_FAILED;
        }
        return switch (found) {
            case REAL, NO_EFFECT, ORDER_ARTEFACT, NO_EXPOSURE, HARMFUL -> ExitCode.OK;
            case INVALID -> expected != null ? ExitCode.OK : ExitCode.CHECK_FAILED;
            case INCONCLUSIVE -> expected != null ? ExitCode.OK : ExitCode.INCONCLUSIVE;
        };
    }
}
