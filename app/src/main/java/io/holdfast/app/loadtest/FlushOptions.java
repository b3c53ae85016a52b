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
            description = "Route that empties the server's cache, for a server that serves nobody else (default:"
                    + " /flush_cache of SGLang; any other server is not flushed, and each leg's texts begin"
                    + " with their own salt).")
    private @Nullable String path;

    public FlushOptions() {}

    public Optional<String> path() {
        return Optional.ofNullable(path);
    }

    public HttpSettings on(HttpSettings http) {
        return path().map(http::withFlushPath).orElse(http);
    }
}
