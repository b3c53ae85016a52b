package io.holdfast.app.loadtest;

import io.holdfast.loadtest.client.HttpSettings;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How the server's cache is emptied between legs. */
public final class FlushOptions {
    @Option(
            names = "--flush-path",
            paramLabel = "PATH",
            description = "The server's route that empties its cache, on a server that serves nobody else (default:"
                    + " /flush_cache of an SGLang; on any other server none is called, and the texts of each leg begin"
                    + " with a salt of their own).")
    private @Nullable String path;

    public FlushOptions() {}

    public Optional<String> path() {
        return Optional.ofNullable(path);
    }

    public HttpSettings on(HttpSettings http) {
        return path().map(http::withFlushPath).orElse(http);
    }
}
