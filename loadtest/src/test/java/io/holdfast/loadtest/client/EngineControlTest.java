package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.LifeSign;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Workload;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class EngineControlTest {
    private static final HttpSettings SETTINGS = HttpSettings.defaults();

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64);
    private final List<String> told = new ArrayList<>();

    @AfterEach
    void stop() throws Exception {
        engine.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void flushThatIsForbidden_isNotAskedForAgain() {
        engine.answers = body -> StubEngine.status(403, "");
        assertThat(flush()).hasValue("the engine did not flush its cache (403)");
        assertThat(engine.paths).containsExactly("POST /generate");
    }

    /** Newer vLLM answers 200 and says in the body that it did not. */
    @Test
    void flushThatSaysItFailed_isAskedForAgain() {
        AtomicInteger turn = new AtomicInteger();
        engine.answers = body -> StubEngine.status(200, "{\"success\":" + (turn.getAndIncrement() > 0) + "}");
        assertThat(flush()).isEmpty();
        assertThat(turn).hasValue(2);
    }

    private Optional<String> flush() {
        try (EngineControl control =
                new EngineControl(engine.uri(), SETTINGS.withFlushPath("/generate"), RunClock.system(), told::add)) {
            return control.flush();
        }
    }

    @Test
    void engineThatAnswersAtOnce_isAskedForOneCompletion() {
        awaitReady(SETTINGS);
        assertThat(engine.paths).containsExactly("GET /health", "POST /generate", "POST /detokenize");
    }

    @ParameterizedTest
    @ValueSource(strings = {"text", "prompt"})
    void modelWithHardlyAnyTokens_isSentNone(String name) {
        engine.texts = StubEngine.status(200, "{\"" + name + "\":\"\"}");
        assertThatThrownBy(() -> awaitReady(SETTINGS))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("has 0 tokens, and prompts by token ids need at least 512")
                .hasMessageEndingWith("ask by text, with --route OPENAI_TEXT or --api completions.");

        engine.texts = StubEngine.status(200, "{\"" + name + "\":\" it\"}");
        awaitReady(SETTINGS);
    }

    /** A real engine may end when it is sent a token that its model lacks, so the last one is found out exactly. */
    @ParameterizedTest
    @ValueSource(ints = {600, 1_024, 4_096, 29_999})
    void smallVocabulary_isFoundOutAndKeptTo(int vocabulary) {
        engine.texts = StubEngine.textsOf(vocabulary);
        try (EngineControl control = new EngineControl(engine.uri(), SETTINGS, RunClock.system(), told::add)) {
            control.awaitReady(true);
            assertThat(control.smallVocabulary()).hasValue(vocabulary);
            Workload drawn = IdlePrefixFlood.workload(1, FloodShape.of(2_000, 32, 1, 32, 1));
            LoadRequest prefix = control.known(drawn.touch());
            assertThat(Arrays.stream(prefix.tokens()).boxed())
                    .hasSize(2_000)
                    .allSatisfy(token -> assertThat(token).isBetween(Math.min(998, vocabulary / 4), vocabulary - 1));
            assertThat(Arrays.stream(prefix.tokens()).distinct().count())
                    .as("prompts that share nothing")
                    .isGreaterThan(Math.min(vocabulary / 2, 1_500));
            assertThat(control.known(drawn.touchOfAnother())).isNotEqualTo(prefix);
            LoadRequest probe =
                    control.known(drawn.phases(1).getLast().requests().getFirst());
            assertThat(Arrays.copyOf(probe.tokens(), 2_000)).isEqualTo(prefix.tokens());
            assertThat(control.known(prefix)).isEqualTo(prefix);
        }
    }

    @Test
    void usualVocabulary_changesNoPrompt() {
        engine.texts = StubEngine.textsOf(30_000);
        try (EngineControl control = new EngineControl(engine.uri(), SETTINGS, RunClock.system(), told::add)) {
            control.awaitReady(true);
            assertThat(control.smallVocabulary()).isEmpty();
            LoadRequest prefix =
                    IdlePrefixFlood.workload(1, FloodShape.of(64, 32, 1, 32, 1)).touch();
            assertThat(control.known(prefix)).isEqualTo(prefix);
            assertThat(engine.paths).containsExactly("GET /health", "POST /generate", "POST /detokenize");
        }
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

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400|{\"message\":\"no such field\"}|answered with 400 no such field; check the address and the route.",
                "401|{\"error\":\"Unauthorized\"}|answered with Unauthorized; give its key, by --api-key-env.",
                "403||answered with 403; give its key, by --api-key-env.",
                "404|<html>nothing here</html>|answered with 404; check that the address is that of an inference"
                        + " server",
                "404|{\"error\":{\"message\":\"The model `x` does not exist.\"}}|answered with 404 The model `x` does"
                        + " not exist; ask for a model that it serves: --model, or 'path' of the model in --config.",
                "405|{\"detail\":\"Method Not Allowed\"}|answered with 405 ",
                "422|model is missing|answered with 422 model is missing; ask for a model that it serves: --model, or"
                        + " 'path' of the model in --config.",
                "501|<!DOCTYPE HTML>|answered with 501; check that the address is that of an inference server",
                "200|<html>welcome</html>|answered with 200, but with no stream of tokens; check that the address"
            })
    void answerThatWaitingDoesNotChange_isFinalOfAServerNotOurs(int status, @Nullable String body, String sentence) {
        engine.answers = asked -> StubEngine.status(status, body == null ? "" : body);
        assertThatThrownBy(() -> awaitReady(SETTINGS, false))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith(
                        "The engine at " + engine.uri() + " is not ready: POST /generate was answered with")
                .hasMessageContaining(sentence);
        assertThat(engine.bodies).hasSize(1);
        assertThat(told).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {429, 500, 503})
    void answerThatMayChange_isWaitedOutWithALine(int status) {
        AtomicInteger turn = new AtomicInteger();
        engine.answers = body -> turn.getAndIncrement() < 3
                ? StubEngine.status(status, "{\"message\":\"later.\"}")
                : StubEngine.stream(4, 1, OptionalInt.of(0));
        awaitReady(SETTINGS, false);
        assertThat(turn).hasValue(4);
        assertThat(told)
                .containsExactly("Waiting for the engine at " + engine.uri() + ": POST /generate was answered with "
                        + status + " later.");
    }

    @Test
    void refusalOfAServerThatIsOurs_isWaitedOut() {
        AtomicInteger turn = new AtomicInteger();
        engine.answers = body ->
                turn.getAndIncrement() == 0 ? StubEngine.status(404, "") : StubEngine.stream(4, 1, OptionalInt.of(0));
        awaitReady(SETTINGS, true);
        assertThat(turn).hasValue(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {404, 405, 401})
    void serverWithoutAHealthRoute_isReadyByItsCompletion(int status) {
        engine.health = status;
        awaitReady(SETTINGS, false);
        assertThat(engine.paths).containsExactly("GET /health", "POST /generate", "POST /detokenize");
    }

    @Test
    void serverThatIsNotHealthyYet_isAskedForNoCompletion() {
        engine.health = 503;
        assertThatThrownBy(() -> awaitReady(SETTINGS.withReadyTimeout(Duration.ofMillis(50)), false))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("is not ready: its last answer was 503;");
        assertThat(engine.bodies).isEmpty();
    }

    @Test
    void models_areAskedForTheFirst() {
        engine.models = StubEngine.status(200, "no list of models");
        assertThat(HttpEngine.firstModel(engine.uri(), SETTINGS, RunClock.system()))
                .isEmpty();
        engine.models = StubEngine.status(200, "{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}");
        assertThat(HttpEngine.firstModel(engine.uri(), SETTINGS, RunClock.system()))
                .hasValue("a");
        engine.models = StubEngine.status(404, "no");
        assertThat(HttpEngine.firstModel(engine.uri(), SETTINGS, RunClock.system()))
                .isEmpty();
    }

    /** As real engines told them, one of them with a cache in host memory as well. */
    @Test
    void countersOfRealEngines_areReadWithWhatWasCached() throws IOException {
        assertThat(signOf("sglang_metrics.txt.gz"))
                .isEqualTo(new LifeSign(Optional.empty(), OptionalDouble.of(102_459), OptionalDouble.of(12_032)));
        assertThat(signOf("sglang_metrics_hicache.txt.gz").cached()).hasValue(304 + 288);
        assertThat(signOf("vllm_metrics.txt.gz"))
                .isEqualTo(new LifeSign(Optional.empty(), OptionalDouble.of(4_816), OptionalDouble.of(384)));
        engine.metrics = StubEngine.status(200, """
            sglang:prompt_tokens_total{m="x"} 50.0
            sglang:cached_tokens_total{cache_source="device",m="x"} 20.0
            sglang:cached_tokens_total{cache_source="total",m="x"} 20.0
            """);
        assertThat(sign().cached()).as("told by source and in all").hasValue(20);
        engine.metrics = StubEngine.status(200, "other:prompt_tokens_total 50.0\n");
        assertThat(sign()).isEqualTo(LifeSign.unknown());
    }

    private LifeSign signOf(String recording) throws IOException {
        Path recordings =
                Path.of("..", "engine-rules", "src", "testing", "resources", "io", "holdfast", "rules", "recordings");
        try (GZIPInputStream in = new GZIPInputStream(Files.newInputStream(recordings.resolve(recording)))) {
            engine.metrics = StubEngine.status(200, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
        return sign();
    }

    private LifeSign sign() {
        try (EngineControl control = new EngineControl(engine.uri(), SETTINGS, RunClock.system(), told::add)) {
            return control.self().lifeSign();
        }
    }

    private void awaitReady(HttpSettings settings) {
        awaitReady(settings, true);
    }

    private void awaitReady(HttpSettings settings, boolean starting) {
        try (EngineControl control = new EngineControl(engine.uri(), settings, RunClock.system(), told::add)) {
            control.awaitReady(starting);
        }
    }
}
