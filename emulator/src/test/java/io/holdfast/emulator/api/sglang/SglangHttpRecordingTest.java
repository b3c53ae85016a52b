package io.holdfast.emulator.api.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.testing.RawHttp;
import io.holdfast.emulator.testing.RecordedHttp;
import io.holdfast.emulator.testing.Served;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.testing.Recording;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Each request that was sent to a real SGLang 0.5.23 gets the answer that it got there. */
class SglangHttpRecordingTest {
    /** As long as the name in the recordings, since complaints about JSON tell places. */
    private static final String MODEL = "a-model-of-24-characters";

    /** Requests that are answered otherwise, with the reason. */
    private static final List<RecordedHttp.Otherwise> OTHERWISE = List.of(
            new RecordedHttp.Otherwise(
                    "get /v1/models/@M@|open_session", "the model's path, and a random id, are the answer"),
            new RecordedHttp.Otherwise(
                    "get /is_scaling_elastic_ep|get /hicache/storage-backend|v1_responses|v1_messages|v1_embeddings"
                            + "|post /(pause_generation|continue_generation|set_internal_state"
                            + "|release_memory_occupation|configure_logging|freeze_gc|v1/score|v1/rerank)|continue",
                    "routes that are not served: none of them is about the cache"),
            new RecordedHttp.Otherwise(
                    ".*(n=2 stream|batch stream|list 2 stream|logprob).*|chat stream n=2",
                    "the order of several answers in a stream is by chance; likelihoods are not made up"),
            new RecordedHttp.Otherwise(
                    ".*(stop string|stop_token_ids|chat stop|chat no max).*",
                    "where an answer stops is the model's own"),
            new RecordedHttp.Otherwise(
                    "chat bad content part.*", "kinds of content other than text and images have no rules here"),
            new RecordedHttp.Otherwise(
                    ".*(id = model vocab|input_ids = vocab)|field logit_bias=..999999.*|field stop=..a.*|chat"
                            + " max_tokens too large",
                    "the emulated tokenizer has more tokens, and cuts texts elsewhere"),
            new RecordedHttp.Otherwise(
                    "transport expect 100-continue .body sent at once.|field prompt and prompt_embeds|field n=-1|field"
                            + " prompt 204[01]",
                    "the real server had just been started again; its sum over a negative step; the scheduler's"
                            + " matter"),
            new RecordedHttp.Otherwise(
                    "transport (both lengths|lf only|http/2 preface|chunked bad size)",
                    "Netty is stricter than h11, and closes without a word in the middle of a body"),
            new RecordedHttp.Otherwise(
                    "transport half-close after complete request", "whether the answer is quicker is by chance here"),
            new RecordedHttp.Otherwise(
                    "comp model null|(gen )?field (max_tokens |temperature=|top_p=|n=|stream=)null",
                    "null is the same as absent"),
            new RecordedHttp.Otherwise(
                    ".*(bool|bool ids|numeric string|integral float|=2.0|=true|=1|=.(0.5|true|yes).)",
                    "a value of another type is refused; the engine converts some"),
            new RecordedHttp.Otherwise(
                    "field (seed|logit_bias|user|response_format)=.*", "what no answer depends on is not looked at"),
            new RecordedHttp.Otherwise(
                    "bad .*(utf-8 bom|lone surrogate|vnd.api.json)|bad /v1/chat/completions json .*|chat bad (wrong"
                            + " role|content null|content missing)|.*huge|.*=1180591620717411303424|gen field input_ids"
                            + " strings?|gen field sampling_params (list.*|string)|detokenize negative",
                    "what no client sends is refused otherwise, or accepted"),
            new RecordedHttp.Otherwise(
                    "gen field empty text stream|gen field temperature -1 stream",
                    "the connection is cut before a stream's head; numbers are not told as they were written"),
            new RecordedHttp.Otherwise("get /v1/loads.format=prometheus", "looked at by name in another test"));

    /** The errors that clients branch on. */
    private static final String WORD_FOR_WORD = "unknown route.*|POST /v1/models|post /health|bad /v1/.*(not"
            + " json|empty body|content-type text/plain)|field missing prompt|chat bad (no|empty) messages|(comp|chat)"
            + " (unknown model.*|model wrong type)|field prompt (empty|empty list|2049|ids beyond vocab)|(field|chat)"
            + " max_tokens (-1|0|too large)|field temperature=-1|chat temperature -1|generate session_id wrong type|gen"
            + " field (nothing|empty input_ids)";

    private static final Set<String> LIKE_THE_TOKENIZER =
            Set.of("prompt_tokens", "total_tokens", "count", "cached_tokens", "device");
    private static final Set<String> LIKE_THE_START = Set.of(
            "context_length",
            "max_running_requests",
            "chunked_prefill_size",
            "random_seed",
            "port",
            "kv_events_config",
            "endpoint_port_base",
            "topic",
            "kv_events",
            "launch_command",
            "total_prefill_uncached_tokens",
            "total_prefill_busy_us",
            "decode_moments",
            "gen_throughput",
            "weight_gb",
            "startup_time");

    @Test
    void everyRecordedRequest_isAnsweredAsByTheRealServer() {
        SglangSettings settings =
                SglangSettings.defaults().withSizes(2048, 16, 8192).withMaxRunning(1024);
        RecordedHttp byTokens = new RecordedHttp(MODEL, LIKE_THE_START, WORD_FOR_WORD);
        Set<String> own = new HashSet<>(LIKE_THE_TOKENIZER);
        own.addAll(LIKE_THE_START);
        RecordedHttp byText = new RecordedHttp(MODEL, own, WORD_FOR_WORD);
        List<String> wrong = new ArrayList<>();
        int compared = 0;
        try (Served<SglangEngine> served = Served.sglang(
                settings,
                Served.api().withModel(MODEL),
                Faults.none(),
                new VirtualClock(),
                new Speed(1, 1_000, 1_000, 1))) {
            RawHttp patient = new RawHttp(served.port(), 30_000);
            RawHttp hasty = new RawHttp(served.port(), 300);
            for (JsonNode one : Recording.read("sglang_http.jsonl.gz")) {
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
