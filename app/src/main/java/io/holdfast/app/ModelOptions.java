package io.holdfast.app;

import io.holdfast.loadtest.client.HttpSettings;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which of the server's models is asked. */
final class ModelOptions {
    @Option(
            names = "--model",
            paramLabel = "NAME",
            description = "The model, where the server asks for one (default: the first of /v1/models).")
    private @Nullable String model;

    ModelOptions() {}

    Optional<String> name() {
        return Optional.ofNullable(model);
    }

    /** @param first asked where no model is named */
    HttpSettings on(HttpSettings http, Supplier<Optional<String>> first) {
        return name().or(first).map(http::withModel).orElse(http);
    }
}
