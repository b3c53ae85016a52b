package io.holdfast.app.sidecar;

import io.holdfast.sidecar.client.OverviewCalls;
import java.net.URI;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which running sidecar is looked at, and with which token. */
final class OverviewOptions {
    @Option(
            names = "--sidecar",
            paramLabel = "URL",
            defaultValue = "http://127.0.0.1:8471",
            description = "Address of the sidecar's API (default: ${DEFAULT-VALUE}).")
    private URI sidecar = URI.create("http://127.0.0.1:8471");

    @Option(
            names = "--token-env",
            paramLabel = "VARIABLE",
            description = "Environment variable with its read token, or with its act token, which also shows"
                    + " reasons (default: none is sent).")
    private @Nullable String tokenEnv;

    OverviewOptions() {}

    OverviewCalls open() {
        return OverviewCalls.open(sidecar, Optional.ofNullable(tokenEnv));
    }

    URI sidecar() {
        return sidecar;
    }
}
