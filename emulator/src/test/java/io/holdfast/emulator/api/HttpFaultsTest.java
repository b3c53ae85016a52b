package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.emulator.testing.RawHttp;
import io.holdfast.emulator.testing.Served;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Faults of what is answered, seen from outside by a client that knows nothing of them. */
class HttpFaultsTest {
    private static final String ASK = "{\"prompt\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17], \"max_tokens\": 6%s}";
    private static final Speed SPEED = new Speed(1, 1_000, 1_000, 1);

    private static Served<SglangEngine> sglang(Faults faults) {
        return Served.sglang(SglangSettings.defaults(), Served.api(), faults, new VirtualClock(), SPEED);
    }

    private static Served<VllmEngine> vllm(Faults faults) {
        return Served.vllm(VllmSettings.defaults(), Served.api(), faults, new VirtualClock(), SPEED);
    }

    private static Faults faults(String fault) {
        return new Faults(List.of(Fault.parse(fault)));
    }

    private static RawHttp.Answer ask(Served<?> served, String more) {
        return new RawHttp(served.port(), 30_000).post("/v1/completions", ASK.formatted(more));
    }

    @Test
    void emptyOutputs_someAnswersAreOneBlankWithoutTokens() {
        try (Served<SglangEngine> served = sglang(faults("empty-outputs=30"))) {
            int empty = 0;
            for (int i = 0; i < 200; i++) {
                JsonNode answer = ask(served, "").json();
                if (answer.at("/usage/completion_tokens").asInt() == 0) {
                    assertThat(answer.at("/choices/0/text").asText()).isEqualTo(" ");
                    empty++;
                }
            }
            assertThat(empty).isBetween(30, 90);
        }
    }

    @Test
    void httpError_requestsAreRefusedInTheEnginesOwnForm() {
        try (Served<SglangEngine> sglang = sglang(faults("http-error=100,429"));
                Served<VllmEngine> vllm = vllm(faults("http-error=100,503"))) {
            RawHttp.Answer limited = ask(sglang, "");
            assertThat(limited.status()).isEqualTo(429);
            assertThat(limited.json().path("object").asText()).isEqualTo("error");
            assertThat(limited.json().path("code").asInt()).isEqualTo(429);
            RawHttp.Answer unavailable = ask(vllm, "");
            assertThat(unavailable.status()).isEqualTo(503);
            assertThat(unavailable.json().at("/error/type").asText()).isEqualTo("ServiceUnavailableError");
            assertThat(new RawHttp(vllm.port(), 30_000).get("/health").status()).isEqualTo(200);
        }
    }

    @Test
    void brokenSse_theStreamEndsInTheMiddleOfAnEvent() throws IOException {
        try (Served<SglangEngine> served = sglang(faults("broken-sse=100,3"))) {
            String ask = ASK.formatted(", \"stream\": true");
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), served.port())) {
                socket.getOutputStream()
                        .write(RawHttp.request(
                                "POST", "/v1/completions", "application/json", ask.getBytes(StandardCharsets.UTF_8)));
                String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                assertThat(all.split("data: ", -1)).hasSize(5);
                assertThat(all).doesNotContain("[DONE]").doesNotEndWith("\n\n");
            }
            assertThat(ask(served, "").status())
                    .as("answers at once are as they were")
                    .isEqualTo(200);
        }
    }

    @Test
    void stalledStream_saysNothingForAWhile_andThenTheRest() throws IOException {
        Faults faults = faults("stalled-stream=100,2,400");
        try (Served<SglangEngine> served = Served.sglang(
                SglangSettings.defaults(), Served.api(), faults, new MachineClock(), new Speed(1, 1_000, 1_000, 1))) {
            String ask = ASK.formatted(", \"stream\": true");
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), served.port())) {
                socket.getOutputStream()
                        .write(RawHttp.request(
                                "POST", "/v1/completions", "application/json", ask.getBytes(StandardCharsets.UTF_8)));
                InputStream in = socket.getInputStream();
                String before = "";
                while (before.split("data: ", -1).length < 3) {
                    before += (char) in.read();
                }
                RawHttp other = new RawHttp(served.port(), 30_000);
                assertThat(other.post("/v1/completions", ASK.formatted("")).status())
                        .as("the server serves others meanwhile")
                        .isEqualTo(200);
                byte[] rest = new byte[65_536];
                int read = in.read(rest);
                String after = new String(rest, 0, read, StandardCharsets.UTF_8);
                while (!after.contains("[DONE]")) {
                    read = in.read(rest);
                    after += new String(rest, 0, read, StandardCharsets.UTF_8);
                }
                assertThat((before + after).split("\"text\":", -1))
                        .as("what gathered comes as one")
                        .hasSize(4);
            }
        }
    }

    @Test
    void usageWrong_countsWhatCannotBe() {
        try (Served<SglangEngine> sglang = sglang(faults("usage-wrong=100"));
                Served<VllmEngine> vllm = vllm(faults("usage-wrong=100"))) {
            for (Served<?> served : List.of(sglang, vllm)) {
                JsonNode usage = ask(served, "").json().path("usage");
                assertThat(usage.path("completion_tokens").asInt()).isEqualTo(7);
                assertThat(usage.at("/prompt_tokens_details/cached_tokens").asInt())
                        .isEqualTo(17);
            }
        }
    }

    @Test
    void pinLate_actsAtOnceAndAnswersLater() {
        Faults faults = faults("pin-late=300");
        SglangSettings settings = SglangSettings.defaults().withVariant(SglangSettings.Variant.PIN_GPU);
        try (Served<SglangEngine> served = Served.sglang(settings, Served.api(), faults, new VirtualClock(), SPEED)) {
            RawHttp hasty = new RawHttp(served.port(), 100);
            assertThat(hasty.post("/hicache/pin_blocks", "{\"block_hashes\": [1]}")
                            .status())
                    .isEqualTo(-1);
            faults.end(Fault.parse("pin-late").kind());
            RawHttp.Answer pinned =
                    new RawHttp(served.port(), 30_000).post("/hicache/pin_blocks", "{\"block_hashes\": [1]}");
            assertThat(pinned.body())
                    .isEqualTo("{\"status\":\"ok\",\"pinned_count\":0,\"message\":\"Pinned 0/1 blocks\"}");
        }
    }

    @Test
    void pinOfAnEngineWithTwoRanks_reachesBothAndIsSummed() {
        SglangSettings settings = SglangSettings.defaults().withVariant(SglangSettings.Variant.PIN_GPU);
        int[] prompt = IntStream.range(1_000, 1_000 + 2 * settings.pageTokens()).toArray();
        long last = SglangBlockNames.of(prompt, settings.pageTokens())[1];
        String blocks = "{\"block_hashes\": [" + last + "]}";
        try (Served<SglangEngine> served =
                Served.sglang(settings, Served.api().withRanks(2), Faults.none(), new VirtualClock(), SPEED)) {
            RawHttp http = new RawHttp(served.port(), 30_000);
            for (int rank = 0; rank < 2; rank++) {
                assertThat(http.post("/hicache/pin_blocks", blocks).body()).contains("\"pinned_count\":" + rank + ",");
                assertThat(http.post("/hicache/unpin_blocks", blocks).body())
                        .contains("\"unpinned_count\":" + rank + ",");
                assertThat(http.post(
                                        "/generate",
                                        "{\"input_ids\":" + Arrays.toString(prompt)
                                                + ",\"sampling_params\":{\"max_new_tokens\":1}}")
                                .status())
                        .isEqualTo(200);
            }
            assertThat(http.post("/hicache/pin_blocks", blocks).body()).contains("\"pinned_count\":2,");
            assertThat(http.post("/hicache/unpin_blocks", blocks).body()).contains("\"unpinned_count\":2,");
        }
    }

    @Test
    void faults_comeAndGoWhileTheServerServes() {
        Faults faults = Faults.none();
        try (Served<SglangEngine> served = sglang(faults)) {
            assertThat(ask(served, "").status()).isEqualTo(200);
            faults.begin(Fault.parse("http-error=100,500"));
            assertThat(ask(served, "").status()).isEqualTo(500);
            faults.end(Fault.parse("http-error").kind());
            assertThat(ask(served, "").status()).isEqualTo(200);
        }
    }
}
