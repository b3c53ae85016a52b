package io.holdfast.emulator.api.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.testing.RawHttp;
import io.holdfast.emulator.testing.RecordedHttp;
import io.holdfast.emulator.testing.Served;
import io.holdfast.events.VllmHashing;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.testing.Recording;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Each request that was sent to a real vLLM 0.32.0 gets the answer that it got there. */
class VllmHttpRecordingTest {
    private static final String MODEL = "m";

    /** Requests that are answered otherwise, with the reason. */
    private static final List<RecordedHttp.Otherwise> OTHERWISE = List.of(
            new RecordedHttp.Otherwise(
                    "get /(is_sleeping|is_scaling_elastic_ep|server_info.*)|v1_responses|v1_messages"
                            + "|post /(abort_requests|pause|resume|sleep|wake_up|collective_rpc)",
                    "routes that are not served: none of them is about the cache"),
            new RecordedHttp.Otherwise(
                    ".*(list 2 stream|logprob).*",
                    "the order of several answers is by chance; likelihoods are not made up"),
            new RecordedHttp.Otherwise(
                    ".*(stop string|stop_token_ids|chat stop|chat no max).*",
                    "where an answer stops is the model's own"),
            new RecordedHttp.Otherwise(
                    ".*id = model vocab|.*logit_bias=..999999.*|field prompt text too long",
                    "the emulated tokenizer has more tokens"),
            new RecordedHttp.Otherwise(
                    "transport (content-length too small|no content-length|http/2 preface|chunked bad size)",
                    "httptools sees what follows the body, Netty the body first; it closes in the middle of one"),
            new RecordedHttp.Otherwise(
                    "chat bad (messages of strings|content null|content part.*)",
                    "kinds of messages and of their parts beyond the plain ones have no rules here"),
            new RecordedHttp.Otherwise(
                    "transport http/1.0 stream", "chunks are not sent to a client that cannot know them"),
            new RecordedHttp.Otherwise("field n=null", "null is the same as absent"),
            new RecordedHttp.Otherwise(
                    "field .*(bool|bool ids|numeric string|=true|=1|=.(0.5|true).)|.*report_mode.: 5.",
                    "a value of another type is refused; the engine converts some"),
            new RecordedHttp.Otherwise(
                    "comp suffix|field (seed|logit_bias|user|response_format|session_id|ignore_eos)=.*"
                            + "|field prompt and prompt_embeds",
                    "what no answer depends on is not looked at"),
            new RecordedHttp.Otherwise(
                    "bad .*(bad utf-8|nan|lone surrogate)|field prompt negative ids|field cache_salt=(5|..)"
                            + "|field stop=..a.*|detokenize negative",
                    "what no client sends is refused otherwise, or accepted"),
            new RecordedHttp.Otherwise(
                    "transport half-close after complete request", "whether the answer is quicker is by chance here"));

    /** The errors that clients branch on. */
    private static final String WORD_FOR_WORD = "unknown route.*|POST /v1/models|post /health|bad /v1/.*(not"
            + " json|empty body|content-type text/plain)|field missing prompt|chat bad (no|empty) messages|(comp|chat)"
            + " (unknown model.*|model wrong type)|field prompt (empty|empty list|2049|ids beyond vocab)|(field|chat)"
            + " max_tokens (-1|0|too large)|field temperature=-1|chat temperature -1|generate session_id wrong type|gen"
            + " field (nothing|empty input_ids)";

    private static final Set<String> LIKE_THE_TOKENIZER =
            Set.of("prompt_tokens", "total_tokens", "count", "cached_tokens", "created_cache_tokens", "root");

    @Test
    void everyRecordedRequest_isAnsweredAsByTheRealServer() {
        VllmSettings settings = VllmSettings.defaults()
                .withSizes(80, 32, 2048)
                .withBatch(64, 2048)
                .withHashing(new VllmHashing(VllmHashing.Algorithm.SHA256_CBOR, "0", VllmHashing.Form.TAGGED), false);
        RecordedHttp byTokens = new RecordedHttp(MODEL, Set.of("root"), WORD_FOR_WORD);
        RecordedHttp byText = new RecordedHttp(MODEL, LIKE_THE_TOKENIZER, WORD_FOR_WORD);
        List<String> wrong = new ArrayList<>();
        int compared = 0;
        try (Served<VllmEngine> served = Served.vllm(
                settings,
                Served.api().withModel(MODEL),
                Faults.none(),
                new VirtualClock(),
                new Speed(1, 1_000, 1_000, 1))) {
            RawHttp patient = new RawHttp(served.port(), 30_000);
            RawHttp hasty = new RawHttp(served.port(), 300);
            for (JsonNode one : Recording.read("vllm_http.jsonl.gz")) {
                String name = one.path("case").asText();
                if (RecordedHttp.Otherwise.has(OTHERWISE, name)) {
                    continue;
                }
                RecordedHttp recorded = RecordedHttp.asksByTokens(one) ? byTokens : byText;
                RawHttp client = one.path("end").asText().startsWith("timeout") ? hasty : patient;
                RawHttp.Answer answer = client.send(recorded.request(one), name.contains("half-close"));
                compared++;
                List<String> differences = recorded.differences(one, answer);
                if (!differences.isEmpty()) {
                    wrong.add(one.path("n") + " " + name + ": " + differences);
                }
            }
        }
        assertThat(wrong).as("of " + compared).isEmpty();
    }
}
