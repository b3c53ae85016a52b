package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.events.VllmHashing;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.testing.Heard;
import io.holdfast.rules.testing.Recording;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Real vLLM servers answered these requests: the engine has to do what they did, event for event and frame for frame. */
class VllmRecordingTest {
    /** A recorded request and the frames that came of it. */
    private record Step(String name, JsonNode request, List<JsonNode> frames) {}

    static Stream<String> recordings() {
        return Recording.all(
                header -> header.path("type").asText().equals("server") && header.has("vllm"),
                "vllm_sha256_cbor_int_seed0.jsonl.gz",
                "vllm_sha256_cbor_int_noseed.jsonl.gz",
                "vllm_sha256_cbor_bytes_seed0.jsonl.gz",
                "vllm_sha256_default_int_seed0.jsonl.gz",
                "vllm_v0.22.1_array_sha256_cbor_int_seed0.jsonl.gz",
                "vllm_long_sha256_cbor_int_seed0.jsonl.gz");
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void everyFrameAndCachedCountIsTheRecordedServers(String recording) {
        List<JsonNode> lines = Recording.read(recording);
        VllmBench bench = new VllmBench(settings(lines.getFirst()));
        List<Step> steps = steps(lines);
        assertThat(steps).hasSizeGreaterThan(10);
        for (Step step : steps) {
            bench.frames.clear();
            if (step.request().path("path").asText().equals("/reset_prefix_cache")) {
                assertThat(bench.engine.resetPrefixCache(false)).as(step.name()).isTrue();
                bench.run();
            } else {
                Heard heard = bench.serve(prompt(step), terms(step));
                assertThat(heard.cachedTokens)
                        .as(step.name())
                        .isEqualTo(step.request()
                                .path("usage")
                                .path("prompt_tokens_details")
                                .path("cached_tokens")
                                .asInt(0));
            }
            assertThat(bench.frames)
                    .as(step.name())
                    .isEqualTo(step.frames().stream()
                            .map(VllmRecordingTest::events)
                            .toList());
        }
        assertThat(bench.engine.stats().preemptions()).isZero();
    }

    private static VllmSettings settings(JsonNode header) {
        boolean old = header.path("vllm").path("version").asText().startsWith("0.22");
        String seed = header.path("hash_seed").asText();
        VllmHashing hashing = new VllmHashing(
                Algorithm.of(header.path("hash_algo").asText()).orElseThrow(),
                seed.isEmpty() ? VllmHashing.UNSET_SEED : seed,
                old ? Form.PLAIN : Form.TAGGED);
        int blocks = header.path("blocks").intValue();
        int blockTokens = header.path("block_size").intValue();
        return VllmSettings.defaults()
                .withSizes(blocks, blockTokens, Math.min(2048, blocks * blockTokens))
                .withHashing(hashing, header.path("int_hashes").intValue() == 0)
                .withRelease(old ? Release.V0_22 : Release.V0_32);
    }

    /** Replayed frames are no steps of their own. */
    private static List<Step> steps(List<JsonNode> lines) {
        List<Step> steps = new ArrayList<>();
        for (JsonNode line : lines) {
            switch (line.path("type").asText()) {
                case "request" -> {
                    String name =
                            "step " + steps.size() + ", " + line.path("name").asText();
                    steps.add(new Step(name, line, new ArrayList<>()));
                }
                case "frame" -> steps.getLast().frames().add(line);
                default -> {}
            }
        }
        return steps;
    }

    private static List<CacheEvent> events(JsonNode frame) {
        List<CacheEvent> events = new ArrayList<>();
        frame.path("batch").path(1).forEach(event -> events.add(Recording.event(event)));
        return events;
    }

    /** Of a prompt given as text, which only its blocks tell; the tokens behind the last full one are in no block. */
    private static int[] prompt(Step step) {
        JsonNode prompt = step.request().path("body").path("prompt");
        if (prompt.isArray()) {
            return Recording.ints(prompt);
        }
        int[] known = events(step.frames().getFirst()).stream()
                .flatMap(event -> event instanceof CacheEvent.Stored stored ? Stream.of(stored) : Stream.empty())
                .findFirst()
                .orElseThrow()
                .tokens()
                .toArray();
        return Arrays.copyOf(
                known, step.request().path("usage").path("prompt_tokens").intValue());
    }

    private static RequestOptions terms(Step step) {
        JsonNode body = step.request().path("body");
        JsonNode said = step.request().path("response").path("token_ids").path(0);
        return RequestOptions.of(
                        step.request().path("usage").path("completion_tokens").intValue())
                .withForced(Arrays.stream(Recording.ints(said)).boxed().toList())
                .withSalt(body.path("cache_salt").asText(""))
                .withReportsHits(body.path("vllm_xargs")
                        .path("kv_cache_report_mode")
                        .asText()
                        .equals("full"));
    }
}
