package io.holdfast.app.cli;

import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which of the server's models is asked. */
public final class ModelOptions {
    @Option(
            names = "--model",
            paramLabel = "NAME",
            description = "Name of the model, for servers that need one (default: the first of /v1/models).")
    private @Nullable String model;

    public ModelOptions() {}

    public Optional<String> name() {
        return Optional.ofNullable(model);
    }

    /**
     * Returns the settings with the model that was named, or the first that the server has.
     *
     * @param first asked where no model is named
     */
    public HttpSettings on(HttpSettings http, Supplier<Optional<String>> first) {
        return name().or(first).map(http::withModel).orElse(http);
    }

    /** SGLang's own route serves one model and asks for no name. */
    public HttpSettings whereAsked(URI server, HttpSettings http, RunClock clock) {
        return on(
                http,
                () -> http.route() == CompletionRoute.SGLANG_GENERATE
                        ? Optional.empty()
                        : HttpEngine.firstModel(server, http, clock));
    }
}
