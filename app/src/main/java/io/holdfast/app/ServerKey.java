package io.holdfast.app;

import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The key of the server that a load test asks: named, never written on a command line. */
final class ServerKey {
    @Option(
            names = "--api-key-env",
            paramLabel = "VARIABLE",
            description = "The environment variable that has the server's key (default: no key is sent).")
    private @Nullable String variable;

    ServerKey() {}

    /** The option as it was written, to be written again. */
    String again() {
        return variable == null ? "" : " --api-key-env " + StatusReport.quoted(variable);
    }

    /** The headers of every request to the server. */
    Map<String, String> headers(Map<String, String> environment) {
        if (variable == null) {
            return Map.of();
        }
        String key = Optional.ofNullable(environment.get(variable)).orElse("").strip();
        if (key.isEmpty() || key.chars().anyMatch(c -> c < ' ' || c > '~')) {
            throw new CommandException("--api-key-env names " + variable
                    + ", in which there is no key; put the server's key into that environment variable.");
        }
        return Map.of("Authorization", "Bearer " + key);
    }
}
