package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is kept of an answer: enough to tell it from another one, however it came in pieces. */
final class AnswerDigestTest {
    @Test
    void digest_goesByTheTextAndNotByItsChunks() {
        Optional<String> whole = completions("\" one two three\"");
        assertThat(whole).hasValueSatisfying(digest -> assertThat(digest).matches("[0-9a-f]{16}"));
        assertThat(completions("\" one\"", "\" two\"", "\" three\"")).isEqualTo(whole);
        assertThat(completions("\" one two\"", "\" three\"")).isEqualTo(whole);
        assertThat(completions("\" one\"", "\" two\"", "\" tree\"")).isNotEqualTo(whole);
    }

    @Test
    void digestOfSglang_isTheSameForTextsSoFarAndForTheirParts() {
        Optional<String> whole = generate("\" one two three\"");
        assertThat(generate("\" one\"", "\" one two\"", "\" one two three\"")).isEqualTo(whole);
        assertThat(generate("\" one\"", "\" two\"", "\" three\"")).isEqualTo(whole);
        assertThat(generate("\" one\"", "\" one two four\"")).isNotEqualTo(whole);
    }

    @Test
    void digestOfAChat_hasItsThoughtsToo() {
        Optional<String> answer = chat("\"content\":\" yes\"");
        assertThat(chat("\"reasoning_content\":\" well\"", "\"content\":\" yes\""))
                .isNotEqualTo(answer);
        assertThat(chat("\"content\":\" ye\"", "\"content\":\"s\"")).isEqualTo(answer);
    }

    @ParameterizedTest
    @EnumSource
    void answerThatIsNone_hasNoDigest(CompletionRoute route) {
        assertThat(record(route, "data: [DONE]\n\n").output()).isEmpty();
    }

    private static Optional<String> completions(String... texts) {
        StringBuilder stream = new StringBuilder();
        for (String text : texts) {
            stream.append("data: {\"choices\":[{\"text\":").append(text).append("}]}\n\n");
        }
        return record(CompletionRoute.OPENAI_TEXT, stream + "data: [DONE]\n\n").output();
    }

    private static Optional<String> chat(String... deltas) {
        StringBuilder stream = new StringBuilder();
        for (String delta : deltas) {
            stream.append("data: {\"choices\":[{\"delta\":{").append(delta).append("}}]}\n\n");
        }
        return record(CompletionRoute.OPENAI_CHAT, stream + "data: [DONE]\n\n").output();
    }

    private static Optional<String> generate(String... texts) {
        StringBuilder stream = new StringBuilder();
        for (String text : List.of(texts)) {
            stream.append("data: {\"text\":").append(text).append(",\"meta_info\":{}}\n\n");
        }
        return record(CompletionRoute.SGLANG_GENERATE, stream + "data: [DONE]\n\n")
                .output();
    }

    private static RequestRecord record(CompletionRoute route, String stream) {
        long[] now = {0};
        LoadRequest request = new LoadRequest(Role.PROBE, 1, new int[] {1, 2, 3}, 3);
        Exchange exchange = new Exchange(0, request, route, () -> ++now[0], 0);
        exchange.sending();
        exchange.head(200);
        exchange.body(Buffer.buffer(stream));
        exchange.ended();
        return exchange.whole();
    }
}
