package io.holdfast.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.RenderedPrompt.Cause;
import java.io.IOException;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SglangRendererTest {
    private static final String PATH = "/tokenize";
    private static final ArrayNode HELLO = JsonNodeFactory.instance
            .arrayNode()
            .add(JsonNodeFactory.instance.objectNode().put("role", "user").put("content", "hello"));

    private final CannedEngine engine = new CannedEngine();
    private final SglangRenderer renderer = new SglangRenderer(engine.http());

    SglangRendererTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void text_isAskedForAsTheCompletionsRouteTakesIt() {
        engine.answers(PATH, 200, "{\"tokens\":[1,446,4294967295],\"count\":3,\"max_model_len\":8192}");

        assertThat(((RenderedPrompt.Tokens) text()).ids()).containsExactly(1, 446, -1);
        assertThat(engine.asked()).containsExactly("POST /tokenize {\"prompt\":\"hello\",\"add_special_tokens\":true}");
    }

    @Test
    void messages_areAskedForWithTheirTools() {
        engine.answers(PATH, 200, "{\"tokens\":[],\"count\":0,\"max_model_len\":8192}");

        assertThat(((RenderedPrompt.Tokens) messages()).ids()).isEmpty();
        assertThat(engine.asked())
                .containsExactly("POST /tokenize {\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
                        + "\"tools\":[{\"role\":\"user\",\"content\":\"hello\"}]}");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        404 | {"detail":"Not Found"}                           | ENGINE_CANNOT | The engine has no /tokenize
        401 | {"error":"Unauthorized"}                         | ENGINE_CANNOT | The engine needs a key, and a valid one was not sent (HTTP 401 at /tokenize): engines.ID.apiKeyEnv names
        403 | {"error":"Forbidden"}                            | ENGINE_CANNOT | The engine needs a key, and a valid one was not sent (HTTP 403 at /tokenize): engines.ID.apiKeyEnv names
        413 | too large                                        | PROMPT        | The prompt is longer than the engine's /tokenize takes.
        500 | {"message":"Internal server error: None, hello"} | ENGINE_CANNOT | The engine failed at /tokenize (HTTP 500), as one without
        503 | loading                                          | ENGINE_SILENT | The engine is too busy for /tokenize, or loads its model
        200 | {"count":3}                                      | ENGINE_CANNOT | The engine answered /tokenize without a list of tokens
        200 | {"tokens":[[1,2]],"count":[2]}                   | ENGINE_CANNOT | The engine answered /tokenize without a list of tokens
        200 | {"tokens":[1.5]}                                 | ENGINE_CANNOT | The engine answered /tokenize without a list of tokens
        200 | hello                                            | ENGINE_CANNOT | The engine answered /tokenize without a list of tokens
        400 | {"object":"error","message":"roles must alternate."} | PROMPT | The engine's /tokenize refuses it (HTTP 400: roles must alternate).
        400 | {"object":"error","message":"1 validation error:\\n  {'type': 'x', 'msg': 'wrong', 'input': 'hello'}\\n\\n  File \\"x.py\\", hello"} | PROMPT | The engine's /tokenize refuses it (HTTP 400: 1 validation error: {'type': 'x', 'msg': 'wrong').
        """)
    void refusal_isOneSentenceThatQuotesNoPrompt(int status, String body, Cause cause, String sentence) {
        engine.answers(PATH, status, body);

        RenderedPrompt.Refused refused = (RenderedPrompt.Refused) text();

        assertThat(refused.cause()).isEqualTo(cause);
        assertThat(refused.sentence()).startsWith(sentence).endsWith(".").doesNotContain("hello", "\n");
    }

    @Test
    void releaseThatWantsAPrompt_takesNoMessages() {
        engine.answers(
                PATH,
                400,
                "{\"object\":\"error\",\"message\":\"1 validation error:\\n  {'type': 'missing', 'loc': ('body',"
                        + " 'prompt'), 'msg': 'Field required', 'input': {'messages': ['hello']}}\"}");

        RenderedPrompt.Refused refused = (RenderedPrompt.Refused) messages();

        assertThat(refused.cause()).isEqualTo(Cause.ENGINE_CANNOT);
        assertThat(refused.sentence())
                .startsWith("This engine's /tokenize takes no messages")
                .contains("by example")
                .doesNotContain("hello");
    }

    @Test
    void silentEngine_isToldApart() {
        engine.dies();

        RenderedPrompt.Refused refused = (RenderedPrompt.Refused) text();

        assertThat(refused.cause()).isEqualTo(Cause.ENGINE_SILENT);
        assertThat(refused.sentence()).startsWith("Nothing listens at ");
    }

    private RenderedPrompt text() {
        return renderer.text("hello").toCompletableFuture().join();
    }

    private RenderedPrompt messages() {
        return renderer.messages(HELLO, Optional.of(HELLO))
                .toCompletableFuture()
                .join();
    }
}
