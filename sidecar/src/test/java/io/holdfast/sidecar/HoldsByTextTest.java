package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.api.ChatTemplate;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Holds asked for by a text or by messages: what is held are the tokens that the engine's own routes make of them. */
class HoldsByTextTest {
    private static final String SYSTEM = IntStream.range(0, 60)
            .mapToObj(i -> "Rule " + i + ": answer in one sentence, and name the page.")
            .collect(Collectors.joining(" "));
    private static final JsonArray TOOLS = JsonArray.of(new JsonObject()
            .put("type", "function")
            .put("function", new JsonObject().put("name", "look_up").put("description", "Looks a word up.")));

    @TempDir
    Path state;

    private static EmulatorSettings sessions() {
        return TestBed.fast().withSglang(engine -> engine.withSessions(true));
    }

    private TestBed bed(EmulatorSettings settings) {
        return TestBed.with(settings, state, "backend: session_hold");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\n", "1"})
    void text_isHeldAsFarAsAnyContinuationSharesIt(String end) {
        try (TestBed bed = bed(sessions())) {
            bed.engine.complete(SYSTEM + end + "Who stores it first?");
            JsonObject hold = held(bed, new JsonObject().put("text", SYSTEM + end));

            int heldTokens = hold.getInteger("heldTokens");
            assertThat(heldTokens).isPositive().isEqualTo(hold.getInteger("wantedBlocks") * TestBed.BLOCK);
            assertThat(hold.getInteger("droppedTokens")).isBetween(0, TestBed.BLOCK + 2);
            for (String next : List.of("s and then some more of it", "\n\nWhat is a cache?", " 1", "0")) {
                assertThat(bed.engine.complete(SYSTEM + end + next))
                        .as("cached before %s", next)
                        .isBetween(heldTokens, heldTokens + TestBed.BLOCK);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"CHATML", "CHATML_THINK"})
    void messages_areHeldUpToTheNextText(ChatTemplate template) {
        try (TestBed bed = bed(sessions().withTemplate(template))) {
            JsonArray messages = JsonArray.of(said("system", SYSTEM), said("user", "Hi."), said("assistant", "Hi."));
            bed.engine.chat(messages.copy().add(said("user", "Who stores it first?")), TOOLS);
            JsonObject hold =
                    held(bed, new JsonObject().put("messages", messages).put("tools", TOOLS));

            assertThat(hold.getInteger("droppedTokens")).isBetween(0, TestBed.BLOCK - 1);
            assertThat(bed.engine.chat(messages.copy().add(said("user", "What is a cache?")), TOOLS))
                    .isEqualTo(hold.getInteger("heldTokens"));
            assertThat(bed.engine.chat(messages.copy().add(said("user", "What is a page?")), new JsonArray()))
                    .as("without the tools it is another prompt")
                    .isLessThan(hold.getInteger("heldTokens"));
        }
    }

    @Test
    void messagesThatEndWithAUser_areHeldWhoeverSpeaksNext() {
        try (TestBed bed = bed(sessions())) {
            JsonArray messages = JsonArray.of(said("system", SYSTEM), said("user", "Hi."));
            bed.engine.chat(messages.copy().add(said("user", "Who stores it first?")), new JsonArray());
            int heldTokens =
                    held(bed, new JsonObject().put("messages", messages)).getInteger("heldTokens");

            assertThat(bed.engine.chat(messages.copy().add(said("user", "What is a cache?")), new JsonArray()))
                    .isBetween(heldTokens, heldTokens + TestBed.BLOCK - 1);
            assertThat(bed.engine.chat(
                            messages.copy().add(said("assistant", "Yes?")).add(said("user", "A cache?")),
                            new JsonArray()))
                    .isGreaterThanOrEqualTo(heldTokens);
        }
    }

    @Test
    void serverWhoseTokenizeTakesNoMessages_isRefusedWithTheWay() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "")) {
            Http.Answer answer = ask(bed, new JsonObject().put("messages", JsonArray.of(said("system", SYSTEM))));

            assertThat(answer.status()).isEqualTo(409);
            assertThat(answer.error())
                    .startsWith("This engine's /tokenize takes no messages")
                    .contains("by example")
                    .doesNotContain("Rule");
        }
    }

    @Test
    void textShorterThanABlock_isRefusedWithItsTokens() {
        try (TestBed bed = bed(sessions())) {
            Http.Answer answer = ask(bed, new JsonObject().put("text", "Hi there"));

            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.error()).matches("The prefix has \\d tokens, less than one block of 16; nothing .*");
        }
    }

    private static JsonObject said(String role, String text) {
        return new JsonObject().put("role", role).put("content", text);
    }

    private static Http.Answer ask(TestBed bed, JsonObject prefix) {
        return bed.client.http.post(
                SidecarClient.HOLDS, prefix.copy().put("leaseSeconds", 3600).encode());
    }

    /** As it was answered, which has what was dropped, with what is held by then. */
    private static JsonObject held(TestBed bed, JsonObject prefix) {
        Http.Answer answer = ask(bed, prefix);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        assertThat(answer.text()).doesNotContain("Rule");
        JsonObject hold = answer.json();
        return hold.mergeIn(bed.client.holdIn(hold.getString("id"), "held"));
    }
}
