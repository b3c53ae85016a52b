package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.journal.ArmPlan;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Route of an engine by which a load with arms goes. */
public final class RouteOption {
    @Option(
            names = "--route",
            paramLabel = "NAME",
            description = "${COMPLETION-CANDIDATES} (default: SGLANG_GENERATE for an SGLang, OPENAI_COMPLETIONS for a"
                    + " vLLM or where a hold goes by token ids, otherwise OPENAI_TEXT; of a preset, its own).")
    private @Nullable CompletionRoute route;

    public RouteOption() {}

    /** Returns the route that was named; refuses one by text where a hold goes by token ids. */
    public Optional<CompletionRoute> of(ArmPlan arm) {
        if (route != null && arm.goesByTokens() && !route.sendsTokenIds()) {
            throw new CommandException("--route is " + route
                    + ", which sends text, and a hold goes by token ids; write SGLANG_GENERATE or OPENAI_COMPLETIONS.");
        }
        return Optional.ofNullable(route);
    }
}
