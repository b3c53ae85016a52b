package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.emulator.testing.RawHttp;
import io.holdfast.emulator.testing.Served;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangStats;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients get for what they ask, beyond what was recorded: where answers stop, and what becomes of them. */
class AnswersTest {
    private static final Speed SPEED = new Speed(1, 1_000, 1_000, 1);
    private static final Speed REAL = new Speed(1, 2_000, 2_000, 1);
    private static final String TOKENS = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]";

    private static Served<SglangEngine> sglang(EngineClock clock) {
        return Served.sglang(
                SglangSettings.defaults(),
                Served.api(),
                Faults.none(),
                clock,
                clock instanceof VirtualClock ? SPEED : REAL);
    }

    private static Served<VllmEngine> vllm() {
        return Served.vllm(VllmSettings.defaults(), Served.api(), Faults.none(), new VirtualClock(), SPEED);
    }

    private static RawHttp client(Served<?> served) {
        return new RawHttp(served.port(), 30_000);
    }

    private static void until(BooleanSupplier holds) {
        long deadline = System.nanoTime() + 30_000_000_000L;
        while (!holds.getAsBoolean()) {
            assertThat(System.nanoTime()).as("waited for too long").isLessThan(deadline);
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static String completion(String more) {
        return "{\"prompt\": " + TOKENS + ", " + more + "}";
    }

    private static String streamed(RawHttp.Answer answer) {
        StringBuilder text = new StringBuilder();
        for (JsonNode event : answer.events()) {
            text.append(event.path("choices").path(0).path("text").asText(""));
        }
        return text.toString();
    }

    @Test
    void stopText_endsTheAnswerBeforeIt_evenAcrossTokens() {
        try (Served<SglangEngine> sglang = sglang(new VirtualClock());
                Served<VllmEngine> vllm = vllm()) {
            for (Served<?> served : List.of(sglang, vllm)) {
                RawHttp client = client(served);
                String all = client.post("/v1/completions", completion("\"max_tokens\": 8"))
                        .json()
                        .at("/choices/0/text")
                        .asText();
                String stop = all.substring(10, 15);
                String ask = completion("\"max_tokens\": 8, \"stop\": [\"never\", \"" + stop + "\"]");
                JsonNode whole = client.post("/v1/completions", ask).json();
                assertThat(whole.at("/choices/0/text").asText()).isEqualTo(all.substring(0, all.indexOf(stop)));
                assertThat(whole.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
                String reason = served == sglang ? "/choices/0/matched_stop" : "/choices/0/stop_reason";
                assertThat(whole.at(reason).asText()).isEqualTo(stop);
                assertThat(whole.at("/usage/completion_tokens").asInt())
                        .isEqualTo((all.indexOf(stop) + stop.length() + 3) / 4);
            }
        }
    }

    @Test
    void stopText_inAStreamOfVllm_isNeverToldInPart() {
        try (Served<VllmEngine> served = vllm()) {
            RawHttp client = client(served);
            String all = client.post("/v1/completions", completion("\"max_tokens\": 8"))
                    .json()
                    .at("/choices/0/text")
                    .asText();
            String stop = all.substring(10, 15);
            RawHttp.Answer answer = client.post(
                    "/v1/completions", completion("\"max_tokens\": 8, \"stream\": true, \"stop\": \"" + stop + "\""));
            assertThat(streamed(answer)).isEqualTo(all.substring(0, all.indexOf(stop)));
        }
    }

    @Test
    void stopToken_endsTheAnswer_andIsNotPartOfItsText() {
        try (Served<VllmEngine> served = vllm()) {
            RawHttp client = client(served);
            JsonNode all = client.post("/v1/completions", completion("\"max_tokens\": 6, \"return_token_ids\": true"))
                    .json();
            int third = all.at("/choices/0/token_ids/2").asInt();
            JsonNode stopped = client.post(
                            "/v1/completions", completion("\"max_tokens\": 6, \"stop_token_ids\": [" + third + "]"))
                    .json();
            assertThat(stopped.at("/choices/0/text").asText())
                    .isEqualTo(all.at("/choices/0/text").asText().substring(0, 8));
            assertThat(stopped.at("/choices/0/stop_reason").asInt()).isEqualTo(third);
            JsonNode later = client.post(
                            "/v1/completions",
                            completion("\"max_tokens\": 6, \"min_tokens\": 4, \"stop_token_ids\": [" + third + "]"))
                    .json();
            assertThat(later.at("/usage/completion_tokens").asInt()).isEqualTo(6);
        }
    }

    @Test
    void severalAnswersToSeveralPrompts_areNumberedPromptByPrompt() {
        try (Served<VllmEngine> served = vllm()) {
            JsonNode answer = client(served)
                    .post(
                            "/v1/completions",
                            "{\"prompt\": [[1,2,3],[4,5,6,7]], \"n\": 2, \"max_tokens\": 2, \"return_token_ids\":"
                                    + " true}")
                    .json();
            List<String> numbered = new ArrayList<>();
            answer.path("choices")
                    .forEach(choice -> numbered.add(choice.path("index").asInt() + " "
                            + choice.path("prompt_token_ids").size()));
            assertThat(numbered).containsExactly("0 3", "1 3", "2 4", "3 4");
            assertThat(answer.at("/usage/prompt_tokens").asInt()).isEqualTo(7);
            assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(8);
        }
    }

    @Test
    void forcedTokens_areSaid() {
        try (Served<SglangEngine> sglang = sglang(new VirtualClock())) {
            JsonNode answer = client(sglang)
                    .post(
                            "/generate",
                            "{\"input_ids\": [1,2,3], \"_force_output_ids\": [77, 78],"
                                    + " \"sampling_params\": {\"max_new_tokens\": 2}}")
                    .json();
            assertThat(answer.path("output_ids").toString()).isEqualTo("[77,78]");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pieces", "words"})
    void conversation_findsItsPastInTheCache_answersIncluded(String tokenizer) {
        ApiSettings api = Served.api().withTokenizer(Tokenizer.named(tokenizer));
        SglangSettings settings = SglangSettings.defaults().withSizes(4096, 1, 4096);
        try (Served<SglangEngine> served = Served.sglang(settings, api, Faults.none(), new VirtualClock(), SPEED)) {
            RawHttp client = client(served);
            String turns = "{\"role\": \"user\", \"content\": \"What is a cache, and what is it good for?\"}";
            int past = 0;
            for (int turn = 0; turn < 4; turn++) {
                JsonNode answer = client.post(
                                "/v1/chat/completions", "{\"max_tokens\": 12, \"messages\": [" + turns + "]}")
                        .json();
                assertThat(answer.at("/usage/prompt_tokens_details/cached_tokens")
                                .asInt())
                        .isGreaterThanOrEqualTo(past);
                past = answer.at("/usage/total_tokens").asInt() - 1;
                turns += ", "
                        + answer.at("/choices/0/message/content")
                                .toString()
                                .transform(said -> "{\"role\": \"assistant\", \"content\": " + said + "}");
                turns += ", {\"role\": \"user\", \"content\": \"Go on.\"}";
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void tokenize_givesTheTokensThatTheChatRouteCounts(boolean begins) {
        String chat = "\"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, {\"role\": \"user\","
                + " \"content\": \"Hi\"}], \"tools\": [{\"type\": \"function\", \"function\": {\"name\":"
                + " \"look_up\"}}]";
        try (Served<VllmEngine> served = vllm()) {
            String body = "{\"add_generation_prompt\": " + begins + ", " + chat;
            JsonNode tokens = client(served).post("/tokenize", body + "}").json();
            JsonNode answer = client(served)
                    .post("/v1/chat/completions", body + ", \"max_tokens\": 1}")
                    .json();

            assertThat(tokens.path("count").asInt())
                    .isEqualTo(tokens.path("tokens").size())
                    .isEqualTo(answer.at("/usage/prompt_tokens").asInt());
        }
        try (Served<SglangEngine> served = sglang(new VirtualClock())) {
            JsonNode tokens =
                    client(served).post("/v1/tokenize", "{" + chat + "}").json();
            JsonNode answer = client(served)
                    .post("/v1/chat/completions", "{" + chat + ", \"max_tokens\": 1}")
                    .json();

            assertThat(tokens.path("count").asInt())
                    .isGreaterThan(40)
                    .isEqualTo(answer.at("/usage/prompt_tokens").asInt());
        }
    }

    @Test
    void tokenizeOfTheBranchWithPins_takesNoMessages() {
        SglangSettings branch = SglangSettings.defaults().withVariant(SglangSettings.Variant.PIN_GPU);
        try (Served<SglangEngine> served =
                Served.sglang(branch, Served.api(), Faults.none(), new VirtualClock(), SPEED)) {
            RawHttp.Answer answer = client(served).post("/tokenize", "{\"messages\": []}");

            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.json().path("message").asText()).contains("'missing', 'loc': ('body', 'prompt')");
        }
    }

    @Test
    void clientThatGoesAway_takesItsRequestsAlong() throws IOException {
        try (Served<SglangEngine> served = sglang(new MachineClock())) {
            byte[] ask = RawHttp.request(
                    "POST",
                    "/v1/completions",
                    "application/json",
                    completion("\"max_tokens\": 3000, \"n\": 3, \"stream\": true")
                            .getBytes(StandardCharsets.UTF_8));
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), served.port())) {
                socket.getOutputStream().write(ask);
                assertThat(socket.getInputStream().read()).isEqualTo('H');
                until(() -> stats(served).running() + stats(served).waiting() == 3);
            }
            until(() -> stats(served).running() == 0 && stats(served).waiting() == 0);
            assertThat(client(served).post("/flush_cache", "").status()).isEqualTo(200);
        }
    }

    @Test
    void clientThatClosesItsHalf_getsNothing_asFromTheRealServers() {
        try (Served<SglangEngine> served = sglang(new MachineClock())) {
            byte[] ask = RawHttp.request(
                    "POST",
                    "/v1/completions",
                    "application/json",
                    completion("\"max_tokens\": 1000").getBytes(StandardCharsets.UTF_8));
            assertThat(client(served).send(ask, true).status()).isZero();
            until(() -> stats(served).running() == 0 && stats(served).waiting() == 0);
        }
    }

    @Test
    void flush_whileARequestRuns_isRefused_orWaitsAsLongAsItIsTold() {
        try (Served<SglangEngine> served = sglang(new MachineClock())) {
            RawHttp client = client(served);
            CompletableFuture<RawHttp.Answer> running =
                    CompletableFuture.supplyAsync(() -> client.post("/generate", generate("a", 2000)));
            until(() -> stats(served).running() == 1);
            assertThat(client.post("/flush_cache", "")).satisfies(refused -> {
                assertThat(refused.status()).isEqualTo(400);
                assertThat(refused.body()).isEqualTo("Flush cache failed.\n");
            });
            assertThat(client.post("/flush_cache?timeout=0.1", "").body())
                    .isEqualTo("Timed out waiting for idle state.");
            CompletableFuture<RawHttp.Answer> waiting =
                    CompletableFuture.supplyAsync(() -> client.post("/flush_cache?timeout=20", ""));
            assertThat(client.post("/abort_request", "{\"rid\": \"a\"}").status())
                    .isEqualTo(200);
            JsonNode aborted = running.join().json();
            assertThat(aborted.at("/meta_info/finish_reason").toString())
                    .isEqualTo("{\"type\":\"abort\",\"message\":\"Aborted\",\"status_code\":null,\"err_type\":null}");
            assertThat(waiting.join().status()).isEqualTo(200);
        }
    }

    @Test
    void requestWithAnIdThatIsInUse_isRefused() {
        try (Served<SglangEngine> served = sglang(new MachineClock())) {
            RawHttp client = client(served);
            CompletableFuture<RawHttp.Answer> first =
                    CompletableFuture.supplyAsync(() -> client.post("/generate", generate("dup", 2000)));
            until(() -> stats(served).running() == 1);
            RawHttp.Answer second = client.post("/generate", generate("dup", 2));
            assertThat(second.status()).isEqualTo(400);
            assertThat(second.body()).isEqualTo("{\"error\":{\"message\":\"Duplicate request ID detected: dup\"}}");
            assertThat(client.post("/abort_request", "{\"abort_all\": true}").status())
                    .isEqualTo(200);
            assertThat(first.join().status()).isEqualTo(200);
            assertThat(client.post("/generate", generate("dup", 2)).status()).isEqualTo(200);
        }
    }

    @Test
    void reset_whileARequestRuns_isRefusedWith200_unlessRunningOnesAreToGo() {
        Speed slow = new Speed(1, 2_000, 2_000, 1);
        try (Served<VllmEngine> served =
                Served.vllm(VllmSettings.defaults(), Served.api(), Faults.none(), new MachineClock(), slow)) {
            RawHttp client = client(served);
            CompletableFuture<RawHttp.Answer> running = CompletableFuture.supplyAsync(
                    () -> client.post("/v1/completions", completion("\"max_tokens\": 300")));
            until(() -> served.engine().look(VllmEngine::stats).getFirst().running() == 1);
            assertThat(client.post("/reset_prefix_cache", "").body()).isEqualTo("{\"success\":false}");
            assertThat(client.post("/reset_prefix_cache?reset_running_requests=true", "")
                            .body())
                    .isEqualTo("{\"success\":true}");
            assertThat(running.join().json().at("/usage/completion_tokens").asInt())
                    .isEqualTo(300);
        }
    }

    @Test
    void usageOfTheOlderVllm_isNullOnAMiss() {
        VllmSettings old = VllmSettings.defaults().withRelease(VllmSettings.Release.V0_22);
        try (Served<VllmEngine> served = Served.vllm(old, Served.api(), Faults.none(), new VirtualClock(), SPEED)) {
            RawHttp client = client(served);
            String ask = completion("\"max_tokens\": 1");
            assertThat(client.post("/v1/completions", ask).json().path("usage").toString())
                    .isEqualTo("{\"prompt_tokens\":20,\"total_tokens\":21,\"completion_tokens\":1,"
                            + "\"prompt_tokens_details\":null}");
            assertThat(client.post("/v1/completions", ask).json().path("usage").toString())
                    .isEqualTo("{\"prompt_tokens\":20,\"total_tokens\":21,\"completion_tokens\":1,"
                            + "\"prompt_tokens_details\":{\"cached_tokens\":16}}");
        }
    }

    private static String generate(String id, int tokens) {
        return "{\"input_ids\": " + TOKENS + ", \"rid\": \"" + id + "\", \"sampling_params\": {\"max_new_tokens\": "
                + tokens + "}}";
    }

    private static SglangStats stats(Served<SglangEngine> served) {
        return served.engine().look(SglangEngine::stats).getFirst();
    }
}
