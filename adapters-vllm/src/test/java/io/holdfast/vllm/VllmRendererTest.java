package io.holdfast.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.RenderedPrompt.Cause;
import java.io.IOException;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class VllmRendererTest {
    private static final String PATH = "/tokenize";
    private static final ArrayNode HELLO = JsonNodeFactory.instance
            .arrayNode()
            .add(JsonNodeFactory.instance.objectNode().put("role", "user").put("content", "hello"));

    private final CannedEngine engine = new CannedEngine();
    private final VllmRenderer renderer = new VllmRenderer(engine.http());

    VllmRendererTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void text_isAskedForAsTheCompletionsRouteTakesIt() {
        engine.answers(PATH, 200, "{\"count\":2,\"max_model_len\":2048,\"tokens\":[3,75],\"token_strs\":null}");

        RenderedPrompt text = renderer.text("hello").toCompletableFuture().join();

        assertThat(((RenderedPrompt.Tokens) text).ids()).containsExactly(3, 75);
        assertThat(engine.asked()).containsExactly("POST /tokenize {\"prompt\":\"hello\",\"add_special_tokens\":true}");
    }

    @Test
    void messages_areAskedForAsTheChatRouteTakesThem() {
        engine.answers(PATH, 200, "{\"count\":1,\"max_model_len\":2048,\"tokens\":[3],\"token_strs\":null}");

        RenderedPrompt messages =
                renderer.messages(HELLO, Optional.empty()).toCompletableFuture().join();

        assertThat(((RenderedPrompt.Tokens) messages).ids()).containsExactly(3);
        assertThat(engine.asked())
                .containsExactly("POST /tokenize {\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
                        + "\"add_generation_prompt\":true,\"add_special_tokens\":false}");
    }

    @Test
    void modelThatIsNotServed_isNamed() {
        engine.answers(
                PATH,
                404,
                "{\"error\":{\"message\":\"The model `nope` does not exist.\",\"type\":\"NotFoundError\","
                        + "\"param\":\"model\",\"code\":404}}");

        RenderedPrompt.Refused refused = (RenderedPrompt.Refused)
                renderer.text("hello").toCompletableFuture().join();

        assertThat(refused.cause()).isEqualTo(Cause.ENGINE_CANNOT);
        assertThat(refused.sentence())
                .isEqualTo("The engine does not serve the requested model (The model `nope` does not exist).");
    }
}
