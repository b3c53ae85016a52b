package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.client.CompletionRoute.StreamEvent;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class CompletionRouteTest {
    private static final LoadRequest REQUEST = new LoadRequest(Role.PROBE, 1, new int[] {5, 6, 7}, 16);

    @Test
    void sglangBody_isByteForByteTheSame() {
        assertThat(body(CompletionRoute.SGLANG_GENERATE, Optional.of("ignored")))
                .isEqualTo("{\"input_ids\":[5,6,7],\"sampling_params\":{\"temperature\":0.0,\"max_new_tokens\":16,"
                        + "\"ignore_eos\":true},\"stream\":true}");
    }

    @Test
    void openAiBody_namesTheModelAndAsksForUsage() {
        assertThat(body(CompletionRoute.OPENAI_COMPLETIONS, Optional.of("m")))
                .isEqualTo("{\"model\":\"m\",\"prompt\":[5,6,7],\"max_tokens\":16,\"temperature\":0.0,"
                        + "\"ignore_eos\":true,\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    }

    @Test
    void openAiBodyWithoutModel_leavesItOut() {
        assertThat(body(CompletionRoute.OPENAI_COMPLETIONS, Optional.empty())).doesNotContain("model");
    }

    @Test
    void textRoutes_sendOneWordForEachToken() {
        assertThat(body(CompletionRoute.OPENAI_TEXT, Optional.of("m")))
                .isEqualTo("{\"model\":\"m\",\"prompt\":\"again agree ahead\",\"max_tokens\":16,\"temperature\":0.0,"
                        + "\"ignore_eos\":true,\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
        assertThat(body(CompletionRoute.OPENAI_CHAT, Optional.empty()))
                .startsWith("{\"messages\":[{\"role\":\"user\",\"content\":\"again agree ahead\"}],\"max_tokens\":16,");
        assertThat(CompletionRoute.OPENAI_TEXT.sendsTokenIds()).isFalse();
        assertThat(CompletionRoute.OPENAI_CHAT.sendsTokenIds()).isFalse();
    }

    @Test
    void chatChunkOfTheRole_isNoToken() throws IOException {
        StreamEvent role = read(
                CompletionRoute.OPENAI_CHAT,
                "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}");
        assertThat(role.content()).isFalse();
        assertThat(role.finished()).isFalse();
    }

    @Test
    void chatChunkOfThought_isAToken() throws IOException {
        for (String key : new String[] {"content", "reasoning_content", "reasoning"}) {
            StreamEvent event =
                    read(CompletionRoute.OPENAI_CHAT, "{\"choices\":[{\"delta\":{\"" + key + "\":\" yes\"}}]}");
            assertThat(event.content()).as(key).isTrue();
            assertThat(event.visible()).as(key).isTrue();
        }
    }

    @Test
    void lastTokenWithoutText_isThereByTheReasonOfTheEnd() throws IOException {
        StreamEvent cut = read(
                CompletionRoute.OPENAI_CHAT,
                "{\"choices\":[{\"delta\":{\"content\":null},\"finish_reason\":\"length\"}],"
                        + "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,"
                        + "\"prompt_tokens_details\":{\"cached_tokens\":4}}}");
        assertThat(cut.content()).isTrue();
        assertThat(cut.visible()).isFalse();
        assertThat(cut.finished()).isTrue();
        assertThat(cut.cachedTokens()).hasValue(4);
        assertThat(read(CompletionRoute.OPENAI_TEXT, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}")
                        .content())
                .isFalse();
    }

    @ParameterizedTest
    @EnumSource
    void answersThatEndWithTheModel_areAskedForWithoutAFieldOfOurs(CompletionRoute route) {
        LoadRequest request = new LoadRequest(Role.PROBE, 1, new int[] {1, 2}, 3);
        String usual = new String(route.body(Optional.of("m"), request), StandardCharsets.UTF_8);
        String ending = new String(route.body(Optional.of("m"), request, false), StandardCharsets.UTF_8);
        assertThat(usual).contains(",\"ignore_eos\":true");
        assertThat(ending).isEqualTo(usual.replace(",\"ignore_eos\":true", ""));
    }

    @Test
    void sglangEvent_tellsItsCounts() throws IOException {
        StreamEvent event = read(
                CompletionRoute.SGLANG_GENERATE,
                "{\"text\":\" hi\",\"meta_info\":{\"id\":\"x\",\"finish_reason\":{\"type\":\"length\",\"length\":3},"
                        + "\"prompt_tokens\":40,\"completion_tokens\":3,\"cached_tokens\":32}}");
        assertThat(event)
                .isEqualTo(new StreamEvent(
                        true, true, true, true, OptionalInt.of(40), OptionalInt.of(3), OptionalInt.of(32), " hi"));
    }

    @Test
    void sglangTokenWithoutTextYet_isContent() throws IOException {
        StreamEvent event = read(
                CompletionRoute.SGLANG_GENERATE,
                "{\"text\":\"\",\"meta_info\":{\"finish_reason\":null,\"completion_tokens\":1,\"cached_tokens\":0}}");
        assertThat(event.content()).isTrue();
        assertThat(event.finished()).isFalse();
        assertThat(event.cachedTokens()).hasValue(0);
    }

    @Test
    void sglangOutputIds_areContent() throws IOException {
        assertThat(read(CompletionRoute.SGLANG_GENERATE, "{\"output_ids\":[4],\"meta_info\":{}}")
                        .content())
                .isTrue();
    }

    @Test
    void openAiUsageChunk_hasCountsAndNoContent() throws IOException {
        StreamEvent event = read(
                CompletionRoute.OPENAI_COMPLETIONS,
                "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,"
                        + "\"prompt_tokens_details\":{\"cached_tokens\":8}}}");
        assertThat(event)
                .isEqualTo(new StreamEvent(
                        false, false, false, false, OptionalInt.of(9), OptionalInt.of(2), OptionalInt.of(8), ""));
    }

    @Test
    void openAiNullDetails_areUnknownNotZero() throws IOException {
        assertThat(read(
                                CompletionRoute.OPENAI_COMPLETIONS,
                                "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"prompt_tokens_details\":null}}")
                        .cachedTokens())
                .isEmpty();
        assertThat(read(CompletionRoute.OPENAI_COMPLETIONS, "{\"choices\":[],\"usage\":null}")
                        .cachedTokens())
                .isEmpty();
    }

    @Test
    void openAiFinishChunkWithoutText_isNoContent() throws IOException {
        StreamEvent event = read(
                CompletionRoute.OPENAI_COMPLETIONS, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}");
        assertThat(event.content()).isFalse();
        assertThat(event.finished()).isTrue();
    }

    @Test
    void countThatIsNoCount_isUnknown() throws IOException {
        StreamEvent event = read(
                CompletionRoute.SGLANG_GENERATE,
                "{\"text\":\"a\",\"meta_info\":{\"cached_tokens\":-1,\"prompt_tokens\":1e30,\"completion_tokens\":\"3\"}}");
        assertThat(event.cachedTokens()).isEmpty();
        assertThat(event.promptTokens()).isEmpty();
        assertThat(event.completionTokens()).isEmpty();
    }

    @Test
    void errorObject_isAFault() {
        assertThatThrownBy(() -> read(CompletionRoute.SGLANG_GENERATE, "{\"error\":{\"message\":\"out of memory\"}}"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("out of memory");
    }

    @Test
    void anythingButAnObject_isAFault() {
        assertThatThrownBy(() -> read(CompletionRoute.SGLANG_GENERATE, "[1]")).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> read(CompletionRoute.SGLANG_GENERATE, "{\"text\":"))
                .isInstanceOf(IOException.class);
    }

    private static String body(CompletionRoute route, Optional<String> model) {
        return new String(route.body(model, REQUEST), StandardCharsets.UTF_8);
    }

    private static StreamEvent read(CompletionRoute route, String json) throws IOException {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        return route.read(bytes, bytes.length);
    }
}
