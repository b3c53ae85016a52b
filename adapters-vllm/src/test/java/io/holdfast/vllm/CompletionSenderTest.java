package io.holdfast.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import java.io.IOException;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CompletionSenderTest {
    private static final String MODELS = "/v1/models";
    private static final String COMPLETIONS = "/v1/completions";

    private CannedEngine engine;
    private CompletionSender sender;

    @BeforeEach
    void start() throws IOException {
        engine = new CannedEngine().answers(MODELS, 200, "{\"data\":[{\"id\":\"org/m\"}]}");
        sender = new CompletionSender(engine.http());
    }

    @AfterEach
    void stop() {
        engine.close();
    }

    @Test
    void tokens_areSentUnderTheServedName_whichIsAskedForOnce() {
        engine.answers(COMPLETIONS, 200, "{\"usage\":{\"prompt_tokens_details\":{\"cached_tokens\":32}}}");
        assertThat(send(1, -1).cachedTokens()).isEqualTo(OptionalLong.of(32));
        send(2);
        assertThat(engine.asked())
                .containsExactly(
                        "GET " + MODELS,
                        "POST " + COMPLETIONS
                                + " {\"model\":\"org/m\",\"prompt\":[1,4294967295],\"max_tokens\":1,\"temperature\":0}",
                        "POST " + COMPLETIONS
                                + " {\"model\":\"org/m\",\"prompt\":[2],\"max_tokens\":1,\"temperature\":0}");
    }

    @Test
    void engineThatDoesNotTellWhatItFound_saysNothingOfIt() {
        engine.answers(COMPLETIONS, 200, "{\"usage\":{\"prompt_tokens_details\":null}}");
        assertThat(send(1)).satisfies(outcome -> {
            assertThat(outcome.kind()).isEqualTo(Kind.ACCEPTED);
            assertThat(outcome.cachedTokens()).isEmpty();
        });
    }

    /** As 0.22 does with the flag: it tells a number, and nothing where it is 0. */
    @Test
    void engineThatToldWhatItFound_meansNoneByNothing() {
        engine.answers(COMPLETIONS, 200, "{\"usage\":{\"prompt_tokens_details\":{\"cached_tokens\":32}}}");
        send(1);
        engine.answers(COMPLETIONS, 200, "{\"usage\":{\"prompt_tokens\":64,\"prompt_tokens_details\":null}}");
        assertThat(send(1).cachedTokens()).isEqualTo(OptionalLong.of(0));
        engine.answers(COMPLETIONS, 200, "{}");
        assertThat(send(1).cachedTokens()).as("without usage nothing is told").isEmpty();
    }

    @Test
    void keyThatTheModelsAskFor_isNamed() {
        engine.answers(MODELS, 401, "{}");
        assertThat(send(1).reason())
                .startsWith("The engine needs a key, and a valid one was not sent (HTTP 401 at /v1/models):");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        400 | {"error":{"message":"too long"}} | REJECTED | The engine refused with HTTP 400: too long.
        401 | {}                               | REJECTED | The engine needs a key, and a valid one was not sent (HTTP 401 at /v1/completions): engines.ID.apiKeyEnv names the environment variable that has it.
        404 | {"error":{"message":"no model"}} | NOT_SENT | The engine has no such model or route: no model.
        500 | broken                           | DEFERRED | The engine answered HTTP 500: broken. The engine may have carried it out all the same.
        """)
    void refusal_isOneSentence(int status, String body, Kind kind, String reason) {
        engine.answers(COMPLETIONS, status, body);
        assertThat(send(1)).isEqualTo(new Outcome(kind, reason));
    }

    @Test
    void otherModel_isAskedForAfterItWasNotFound() {
        engine.answers(COMPLETIONS, 404, "{}");
        send(1);
        engine.answers(MODELS, 200, "{\"data\":[{\"id\":\"other\"}]}").answers(COMPLETIONS, 200, "{}");
        assertThat(send(1).kind()).isEqualTo(Kind.ACCEPTED);
        assertThat(engine.asked().getLast()).contains("\"model\":\"other\"");
    }

    @Test
    void engineThatIsGone_wasNotAsked() {
        engine.dies();
        assertThat(send(1).kind()).isEqualTo(Kind.NOT_SENT);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        vllm:cache_config_info{enable_prefix_caching="True",engine="0"} 1.0  | true  | The engine keeps what was used last.
        vllm:cache_config_info{enable_prefix_caching="False",engine="0"} 1.0 | false | The engine caches no prefixes: start it without --no-enable-prefix-caching.
        up 1                                                                 | false | /metrics has no vllm:cache_config_info, which shows whether the engine caches prefixes.
        """)
    void prefixCaching_isReadFromTheMetrics(String metrics, boolean can, String why) {
        engine.answers("/metrics", 200, metrics + "\n");
        assertThat(PrefixCaching.ask(engine.http(), engine.timer())
                        .toCompletableFuture()
                        .join())
                .isEqualTo(new Capabilities(can, why));
    }

    @Test
    void engineThatStarts_isAskedAgainUntilItSaysSomething() {
        engine.answers("/metrics", 503, "starting");
        CompletableFuture<Capabilities> answer =
                PrefixCaching.ask(engine.http(), engine.timer()).toCompletableFuture();
        engine.answers("/metrics", 200, "vllm:cache_config_info{enable_prefix_caching=\"True\"} 1.0\n");
        assertThat(answer.join().canPin()).isTrue();
    }

    private Outcome send(int... tokens) {
        return sender.send(tokens).toCompletableFuture().join();
    }
}
