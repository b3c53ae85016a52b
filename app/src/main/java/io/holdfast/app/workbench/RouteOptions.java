package io.holdfast.app.workbench;

import io.holdfast.app.cli.ModelOptions;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** By which route a server is asked whose tokens are counted one by one, and for which of its models. */
final class RouteOptions {
    @Option(
            names = "--route",
            paramLabel = "NAME",
            description = "${COMPLETION-CANDIDATES} (default: SGLANG_GENERATE for an SGLang, otherwise"
                    + " OPENAI_COMPLETIONS).")
    private @Nullable CompletionRoute route;

    @Mixin
    private ModelOptions model = new ModelOptions();

    RouteOptions() {}

    HttpSettings on(URI server, HttpSettings http, RunClock clock) {
        CompletionRoute its = Optional.ofNullable(route)
                .orElseGet(() -> HttpEngine.family(server, http, clock) == Family.SGLANG
                        ? CompletionRoute.SGLANG_GENERATE
                        : CompletionRoute.OPENAI_COMPLETIONS);
        return model.whereAsked(server, http.withRoute(its), clock);
    }
}
