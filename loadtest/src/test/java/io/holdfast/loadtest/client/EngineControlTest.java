package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class EngineControlTest {
    private static final HttpSettings SETTINGS = HttpSettings.defaults();

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64);

    @AfterEach
    void stop() throws Exception {
        engine.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void engineThatAnswersAtOnce_isAskedForOneCompletion() {
        awaitReady(SETTINGS);
        assertThat(engine.paths).containsExactly("GET /health", "POST /generate");
    }

    @Test
    void streamThatReportsAnErrorOrHasNoToken_isNotReadyYet() {
        AtomicInteger turn = new AtomicInteger();
        engine.answers = body -> switch (turn.getAndIncrement()) {
            case 0 -> StubEngine.events("data: {\"error\":{\"message\":\"loading\"}}\n\ndata: [DONE]\n\n");
            case 1 -> StubEngine.events("data: [DONE]\n\n");
            default -> StubEngine.stream(4, 1, OptionalInt.of(0));
        };
        awaitReady(SETTINGS);
        assertThat(turn).hasValue(3);
    }

    @Test
    void engineThatNeverCompletes_isNamedWithItsLastAnswer() {
        engine.answers = body -> StubEngine.events("data: {\"error\":{\"message\":\"loading\"}}\n\n");
        assertThatThrownBy(() -> awaitReady(SETTINGS.withReadyTimeout(Duration.ofMillis(100))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("is not ready: its last answer was the engine reported loading;");
    }

    private void awaitReady(HttpSettings settings) {
        try (EngineControl control = new EngineControl(engine.uri(), settings, RunClock.system())) {
            control.awaitReady(true);
        }
    }
}
