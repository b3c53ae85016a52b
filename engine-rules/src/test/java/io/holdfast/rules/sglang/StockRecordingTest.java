package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.testing.Heard;
import io.holdfast.rules.testing.Recording;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A real SGLang 0.5.23 server answered these requests: the engine has to do what it did, event for event. */
class StockRecordingTest {
    /** The recordings' headers do not tell the size of the host tier; all servers but one were started with this. */
    private static final double HOST_RATIO = 3;

    private static final double SMALL_HOST_RATIO = 1.5;

    static Stream<String> recordings() {
        return Recording.all(
                header -> header.path("header").isInt() && header.has("sglang"),
                "sglang_server_p16_lru.jsonl.gz",
                "sglang_server_p1_lru.jsonl.gz",
                "sglang_server_p16_priority.jsonl.gz",
                "sglang_server_p16_lru_hicache.jsonl.gz",
                "sglang_long_p16_lru.jsonl.gz",
                "sglang_long_p1_lru.jsonl.gz",
                "sglang_long_p16_priority.jsonl.gz",
                "sglang_long_p16_sessions.jsonl.gz",
                "sglang_long_p16_lru_hicache.jsonl.gz",
                "sglang_long_p16_lru_hicache_small.jsonl.gz");
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void everyEventCachedCountAndResidentBlockIsTheRecordedServers(String name) {
        List<JsonNode> lines = Recording.read(name);
        SglangSettings settings = settings(name, lines.getFirst());
        boolean tiers = settings.hostRatio() > 0;
        TestEngine engine = new TestEngine(settings, Faults.none());
        int served = 0;
        for (JsonNode line : lines.subList(2, lines.size())) {
            engine.published.clear();
            String step = name + " step " + line.path("step").intValue();
            JsonNode body = line.path("op").path("body");
            switch (line.path("op").path("op").asText()) {
                case "flush_cache" -> assertThat(engine.engine.flush()).as(step).isTrue();
                case "close_session" ->
                    engine.engine.closeSession(body.path("session_id").asText());
                default -> {
                    Heard heard =
                            serve(engine, body, Recording.ints(line.path("http").path("output_ids")));
                    assertThat(heard.cachedTokens)
                            .as(step)
                            .isEqualTo(line.path("http").path("cached_tokens").intValue());
                    served++;
                }
            }
            engine.runDry();
            if (tiers) {
                // When a copy to the host is complete and told is a matter of time there.
                assertThat(perBlock(engine.published).stream().flatMap(List::stream))
                        .as(step)
                        .containsExactlyInAnyOrderElementsOf(perBlock(frames(line)).stream()
                                .flatMap(List::stream)
                                .toList());
            } else {
                assertThat(perBlock(engine.published)).as(step).isEqualTo(perBlock(frames(line)));
            }
            assertThat(resident(engine)).as(step).isEqualTo(recorded(line.path("state")));
            engine.assertSizesAddUp(step);
        }
        assertThat(served).isGreaterThan(30);
    }

    static SglangSettings settings(String name, JsonNode header) {
        double hostRatio = name.contains("small") ? SMALL_HOST_RATIO : HOST_RATIO;
        return SglangSettings.defaults()
                .withSizes(
                        header.path("capacity_tokens").intValue(),
                        header.path("page_size").intValue(),
                        8192)
                .withEviction(Eviction.valueOf(header.path("policy").asText().toUpperCase(Locale.ROOT)))
                .withSessions(header.path("sessions").asBoolean(false))
                .withHostRatio(header.path("hierarchical").asBoolean(false) ? hostRatio : 0);
    }

    static Heard serve(TestEngine engine, JsonNode body, int[] answer) {
        RequestOptions terms = RequestOptions.of(answer.length)
                .withForced(Arrays.stream(answer).boxed().toList())
                .withSalt(body.path("cache_salt").asText(""))
                .withExtraKey(body.path("extra_key").asText(""))
                .withSession(body.path("session_id").asText(""))
                .withPriority(body.path("priority").asInt(0));
        Heard heard = new Heard();
        engine.engine.submit(new Generation(Recording.ints(body.path("input_ids")), terms, false, 0, heard));
        engine.runDry();
        return heard;
    }

    private static List<List<CacheEvent>> frames(JsonNode line) {
        List<List<CacheEvent>> frames = new ArrayList<>();
        for (JsonNode frame : line.path("frames")) {
            List<CacheEvent> events = new ArrayList<>();
            frame.path("events").forEach(event -> events.add(Recording.event(event)));
            frames.add(events);
        }
        return frames;
    }

    /** Events of each frame. */
    private static List<List<String>> perBlock(List<List<CacheEvent>> frames) {
        return frames.stream().map(Recording::perBlock).toList();
    }

    /** Parent and tiers of each block. */
    private static Map<Long, String> resident(TestEngine engine) {
        Map<Long, TreeSet<String>> tiers = new TreeMap<>();
        Map<Long, String> blocks = new TreeMap<>();
        for (RadixCache.Resident resident : engine.engine.cache().residents()) {
            TreeSet<String> in = tiers.computeIfAbsent(resident.block(), _ -> new TreeSet<>());
            if (resident.node().onGpu()) {
                in.add("GPU");
            }
            if (resident.node().onHost) {
                in.add("CPU_PINNED");
            }
            blocks.put(resident.block(), resident.parent() + " " + in);
        }
        return blocks;
    }

    private static Map<Long, String> recorded(JsonNode state) {
        Map<Long, String> blocks = new TreeMap<>();
        for (JsonNode block : state) {
            TreeSet<String> tiers = new TreeSet<>();
            block.get(2).forEach(tier -> tiers.add(tier.asText()));
            blocks.put(block.get(0).longValue(), block.get(1).longValue() + " " + tiers);
        }
        return blocks;
    }
}
