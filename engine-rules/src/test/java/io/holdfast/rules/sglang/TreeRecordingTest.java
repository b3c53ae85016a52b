package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.testing.Recording;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the engine's own tree looked like inside: priorities, hit counts and locks, which no event tells. */
class TreeRecordingTest {
    @ParameterizedTest
    @CsvSource({
        "sglang_radix_inproc_p16_lru.jsonl.gz, 16, LRU",
        "sglang_radix_inproc_p16_priority.jsonl.gz, 16, PRIORITY",
        "sglang_radix_inproc_p1_lru.jsonl.gz, 1, LRU"
    })
    void cacheAlone_doesWhatTheEnginesOwnDid(String name, int page, Eviction eviction) {
        SglangSettings settings =
                SglangSettings.defaults().withSizes(16_384, page, 8192).withEviction(eviction);
        RadixCache cache = new RadixCache(settings, Faults.none());
        Map<List<Integer>, RadixNode> locked = new HashMap<>();
        for (JsonNode line : Recording.read(name)) {
            String step =
                    name + " step " + line.path("step") + " " + line.path("op").path("op");
            JsonNode op = line.path("op");
            int[] tokens = Recording.ints(op.path("tokens"));
            TokenChain chain =
                    new TokenChain(new Namespace("", op.path("cache_salt").asText("")), "", page).grow(tokens);
            switch (op.path("op").asText()) {
                case "construct" -> assertThat(locked).isEmpty();
                case "insert" -> {
                    RadixCache.Insertion inserted = cache.insert(
                            chain, chain.blocks(), op.path("priority").intValue(), 0);
                    assertThat(inserted.present())
                            .as(step)
                            .isEqualTo(line.path("prefix_len").intValue());
                    cache.take(chain.blocks() * page - inserted.present());
                    assertThat(chain.names(0, chain.blocks())).as(step).isEqualTo(Recording.longs(line.path("hashes")));
                }
                case "match" ->
                    assertThat(cache.match(chain, chain.blocks()).tokens())
                            .as(step)
                            .isEqualTo(line.path("matched").intValue());
                case "lock" -> {
                    RadixNode node = cache.match(chain, chain.blocks()).node();
                    cache.lock(node);
                    locked.put(boxed(tokens), node);
                }
                case "unlock" -> cache.unlock(Objects.requireNonNull(locked.remove(boxed(tokens))));
                case "evict" ->
                    assertThat(cache.evict(op.path("num_tokens").intValue()))
                            .as(step)
                            .isEqualTo(line.path("evicted").intValue());
                case "reset" -> cache.clear();
                default -> throw new AssertionError("unknown operation " + op);
            }
            List<CacheEvent> events = new ArrayList<>();
            line.path("frames")
                    .forEach(frame -> frame.path("events").forEach(event -> events.add(Recording.event(event))));
            assertThat(Recording.perBlock(cache.drainEvents())).as(step).isEqualTo(Recording.perBlock(events));
            assertSame(step, cache, line);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "sglang_server_p16_lru.jsonl.gz, sglang_tree_p16_lru.jsonl.gz",
        "sglang_server_p16_priority.jsonl.gz, sglang_tree_p16_priority.jsonl.gz",
        "sglang_server_p1_lru.jsonl.gz, sglang_tree_p1_lru.jsonl.gz"
    })
    void engine_leavesTheTreeThatTheServerLeft(String name, String trees) {
        List<JsonNode> lines = Recording.read(name);
        TestEngine engine = new TestEngine(StockRecordingTest.settings(name, lines.getFirst()), Faults.none());
        Map<Integer, JsonNode> treeAfter = new HashMap<>();
        Recording.read(trees).forEach(tree -> treeAfter.put(tree.path("step").intValue(), tree));
        for (JsonNode line : lines.subList(2, lines.size())) {
            if (line.path("op").path("op").asText().equals("flush_cache")) {
                engine.engine.flush();
            } else {
                StockRecordingTest.serve(
                        engine,
                        line.path("op").path("body"),
                        Recording.ints(line.path("http").path("output_ids")));
            }
            engine.runDry();
            String step = trees + " step " + line.path("step");
            JsonNode tree =
                    Objects.requireNonNull(treeAfter.remove(line.path("step").intValue()), step);
            assertSame(step, engine.engine.cache(), tree);
            assertThat(engine.engine.cache().freeTokens())
                    .as(step)
                    .isEqualTo(tree.path("available").intValue());
        }
        assertThat(treeAfter).isEmpty();
    }

    private static void assertSame(String step, RadixCache cache, JsonNode line) {
        List<String> tree = new ArrayList<>();
        for (RadixCache.Resident resident : cache.residents()) {
            RadixNode node = resident.node();
            tree.add(resident.block() + " " + resident.parent() + " " + node.priority + " " + node.hits + " "
                    + node.locks);
        }
        List<String> recorded = new ArrayList<>();
        for (JsonNode row : line.path("tree")) {
            recorded.add(row.get(0).longValue() + " " + row.get(1).longValue() + " " + row.get(2) + " " + row.get(3)
                    + " " + row.get(4));
        }
        assertThat(tree).as(step).containsExactlyInAnyOrderElementsOf(recorded);
        assertThat(List.of(cache.evictableTokens(), cache.protectedTokens()))
                .as(step + ": evictable, protected")
                .containsExactly(
                        line.path("evictable").intValue(),
                        line.path("protected").intValue());
    }

    private static List<Integer> boxed(int[] tokens) {
        return Arrays.stream(tokens).boxed().toList();
    }
}
