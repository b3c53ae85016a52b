package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A real SGLang 0.5.23 server answered these requests: the scheduler has to do what it did, event for event. */
class StockRecordingTest {
    @ParameterizedTest
    @ValueSource(strings = {"server_p16_lru.jsonl.gz", "long_p16_lru.jsonl.gz", "long_p1_lru.jsonl.gz"})
    void everyEventCachedCountAndResidentBlockIsTheRecordedServers(String name) {
        List<JsonNode> lines = Recording.read(name);
        JsonNode header = lines.getFirst();
        int page = header.path("page_size").intValue();
        List<List<CacheEvent>> batches = new ArrayList<>();
        int[][] answer = {{}};
        Scheduler engine = new Scheduler(
                EmulatorSettings.defaults()
                        .withCapacityTokens(header.path("capacity_tokens").intValue())
                        .withPageTokens(page),
                new VirtualClock(),
                Recording.naming(page),
                (prompt, position) -> answer[0][position],
                batches::add,
                () -> false);
        runDry(engine);
        int served = 0;
        for (JsonNode line : lines.subList(2, lines.size())) {
            batches.clear();
            String step = name + " step " + line.path("step").intValue();
            JsonNode body = line.path("op").path("body");
            if (line.path("op").path("op").asText().equals("flush_cache")) {
                assertThat(engine.flush()).as(step).isTrue();
            } else {
                answer[0] = Recording.ints(line.path("http").path("output_ids"));
                Heard heard = new Heard();
                engine.submit(new Generation(
                        Recording.ints(body.path("input_ids")), namespace(body), answer[0].length, false, 0, heard));
                runDry(engine);
                assertThat(heard.cachedTokens)
                        .as(step)
                        .isEqualTo(line.path("http").path("cached_tokens").intValue());
                served++;
            }
            assertThat(joined(batches)).as(step).isEqualTo(joined(frames(line)));
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

    private static String namespace(JsonNode body) {
        if (body.has("cache_salt")) {
            return Recording.SALT + body.path("cache_salt").asText();
        }
        return body.has("extra_key") ? "key:" + body.path("extra_key").asText() : "";
    }

    private static void runDry(Scheduler engine) {
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

    private static List<CacheEvent> joined(List<List<CacheEvent>> batches) {
        return Recording.joined(batches.stream().flatMap(List::stream).toList());
    }

    private static Set<Long> resident(Scheduler engine) {
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
