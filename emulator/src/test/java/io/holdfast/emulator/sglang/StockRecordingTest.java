package io.holdfast.emulator.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Generation;
import io.holdfast.emulator.engine.Gpu;
import io.holdfast.emulator.engine.Model;
import io.holdfast.emulator.engine.Speed;
import io.holdfast.emulator.engine.Terms;
import io.holdfast.emulator.fault.Faults;
import io.holdfast.emulator.testing.Heard;
import io.holdfast.emulator.testing.Recording;
import io.holdfast.emulator.testing.VirtualClock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A real SGLang 0.5.23 server answered these requests: the scheduler has to do what it did, event for event. */
class StockRecordingTest {
    @ParameterizedTest
    @ValueSource(
            strings = {"sglang_server_p16_lru.jsonl.gz", "sglang_long_p16_lru.jsonl.gz", "sglang_long_p1_lru.jsonl.gz"})
    void everyEventCachedCountAndResidentBlockIsTheRecordedServers(String name) {
        List<JsonNode> lines = Recording.read(name);
        JsonNode header = lines.getFirst();
        int page = header.path("page_size").intValue();
        List<List<CacheEvent>> batches = new ArrayList<>();
        VirtualClock clock = new VirtualClock();
        Faults faults = Faults.none();
        SglangEngine engine = new SglangEngine(
                SglangSettings.defaults()
                        .withSizes(header.path("capacity_tokens").intValue(), page, 8192),
                faults,
                clock,
                new Gpu(new Speed(100, 5_000, 5_000, 1), faults, clock, () -> false),
                Model.seeded(1, 32_000),
                batches::add);
        runDry(engine);
        int served = 0;
        for (JsonNode line : lines.subList(2, lines.size())) {
            batches.clear();
            String step = name + " step " + line.path("step").intValue();
            JsonNode body = line.path("op").path("body");
            if (line.path("op").path("op").asText().equals("flush_cache")) {
                assertThat(engine.flush()).as(step).isTrue();
            } else {
                int[] answer = Recording.ints(line.path("http").path("output_ids"));
                Terms terms = Terms.of(answer.length)
                        .withForced(Arrays.stream(answer).boxed().toList())
                        .withSalt(body.path("cache_salt").asText(""))
                        .withExtraKey(body.path("extra_key").asText(""));
                Heard heard = new Heard();
                engine.submit(new Generation(Recording.ints(body.path("input_ids")), terms, false, 0, heard));
                runDry(engine);
                assertThat(heard.cachedTokens)
                        .as(step)
                        .isEqualTo(line.path("http").path("cached_tokens").intValue());
                served++;
            }
            assertThat(perBlock(batches)).as(step).isEqualTo(perBlock(frames(line)));
            if (page > 1) {
                assertThat(batches).as(step).hasSameSizeAs(frames(line));
            }
            assertThat(resident(engine)).as(step).isEqualTo(recorded(line.path("state")));
            RadixCache cache = engine.cache();
            assertThat(cache.freeTokens() + cache.evictableTokens() + cache.protectedTokens())
                    .as(step)
                    .isEqualTo(cache.capacityTokens());
        }
        assertThat(served).isGreaterThan(30);
    }

    private static void runDry(SglangEngine engine) {
        boolean worked = true;
        while (worked) {
            worked = engine.step();
        }
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

    private static List<String> perBlock(List<List<CacheEvent>> batches) {
        return Recording.perBlock(batches.stream().flatMap(List::stream).toList());
    }

    private static Set<Long> resident(SglangEngine engine) {
        Set<Long> blocks = new TreeSet<>();
        engine.cache().residents().forEach(resident -> blocks.add(resident.block()));
        return blocks;
    }

    private static Set<Long> recorded(JsonNode state) {
        Set<Long> blocks = new TreeSet<>();
        state.forEach(block -> blocks.add(block.get(0).longValue()));
        return blocks;
    }
}
