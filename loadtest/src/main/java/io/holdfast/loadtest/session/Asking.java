package io.holdfast.loadtest.session;

import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.run.RunClock;
import java.util.Optional;

/**
 * How a server is asked, as far as the user decides it.
 *
 * @param route absent where the arm and the engine decide
 * @param model absent where the server decides
 */
public record Asking(HttpSettings http, Optional<CompletionRoute> route, Optional<String> model) {
    /** Returns the settings for a server that answers. */
    HttpSettings at(ServerUnit unit, ArmPlan arm, RunClock clock) {
        HttpSettings asked = http.withRoute(route.orElseGet(() -> usual(unit, arm, clock)));
        // SGLang's own route serves one model and asks for no name.
        return model.or(() -> asked.route() == CompletionRoute.SGLANG_GENERATE
                        ? Optional.empty()
                        : HttpEngine.firstModel(unit.uri(), asked, clock))
                .map(asked::withModel)
                .orElse(asked);
    }

    /** Returns a route by token ids where the engine is known to take them; text is what every server takes. */
    private CompletionRoute usual(ServerUnit unit, ArmPlan arm, RunClock clock) {
        return switch (HttpEngine.family(unit.engines().getFirst(), http, clock)) {
            case SGLANG -> CompletionRoute.SGLANG_GENERATE;
            case VLLM, TENSORRT_LLM -> CompletionRoute.OPENAI_COMPLETIONS;
            case OTHER -> arm.goesByTokens() ? CompletionRoute.OPENAI_COMPLETIONS : CompletionRoute.OPENAI_TEXT;
        };
    }
}
