package io.holdfast.sidecar;

import io.holdfast.core.head.UnstableHead;
import io.holdfast.http.DetokenizeRoute;
import io.holdfast.sidecar.Observation.Example;
import io.holdfast.sidecar.Observation.Passage;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Makes texts of the tokens around the place at which requests part, by the engine's own tokenizer where it has one. */
final class HeadTexts {
    private static final int ANSWER_SECONDS = 5;

    private final DetokenizeRoute route;

    HeadTexts(DetokenizeRoute route) {
        this.route = route;
    }

    Example of(UnstableHead found) {
        UnstableHead.Example example = found.example();
        return new Example(example.from(), passage(example.before()), passage(example.one()), passage(example.other()));
    }

    private Passage passage(List<Integer> tokens) {
        return new Passage(
                tokens,
                tokens.isEmpty()
                        ? Optional.empty()
                        : route.text(tokens)
                                .toCompletableFuture()
                                .completeOnTimeout(Optional.empty(), ANSWER_SECONDS, TimeUnit.SECONDS)
                                .join());
    }
}
