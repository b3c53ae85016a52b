package io.holdfast.app;

import io.holdfast.evidence.Finding;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What a run is expected to find. */
final class ExpectOptions {
    @Option(
            names = "--expect",
            paramLabel = "FINDING",
            description = "Exit 1 unless this is found: ${COMPLETION-CANDIDATES}.")
    private @Nullable Finding expected;

    ExpectOptions() {}

    Optional<Finding> finding() {
        return Optional.ofNullable(expected);
    }
}
