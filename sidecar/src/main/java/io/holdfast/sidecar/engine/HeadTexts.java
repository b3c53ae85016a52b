package io.holdfast.sidecar.engine;

import io.holdfast.core.head.UnstableHead;
import io.holdfast.http.DetokenizeRoute;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Makes texts of the tokens around the place at which requests part, by the engine's own tokenizer where it has one. */
public final class HeadTexts {
    private static final int ANSWER_SECONDS = 5;

    private final DetokenizeRoute route;

    public HeadTexts(DetokenizeRoute route) {
        this.route = route;
    }

    public UnstableHead of(UnstableHead found) {
        return found.withTexts(this::text);
    }

    private Optional<String> text(List<Integer> tokens) {
        return tokens.isEmpty()
                ? Optional.empty()
                : route.text(tokens)
                        .toCompletableFuture()
                        .completeOnTimeout(Optional.empty(), ANSWER_SECONDS, TimeUnit.SECONDS)
                        .join();
    }
}
