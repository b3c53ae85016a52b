package io.holdfast.emulator.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.EngineDeath;
import io.holdfast.emulator.testing.Recording;
import io.holdfast.events.SglangBlockNames;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The pin branch's own cache did these operations: ours has to end up the same, its defects included. */
class PinBranchRecordingTest {
    private static final class Running {
        String namespace = "";
        int[] prompt = {};
        RadixNode node = new RadixNode(null, new long[0], 0);
        int inTree;
        int held;
    }

    private RadixCache cache = new RadixCache(16, 16, true);
    private int page;
    private final Map<String, Running> running = new HashMap<>();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "sglang_pin_gpu_scripted_p16.jsonl.gz",
                "sglang_pin_gpu_p16_seed1.jsonl.gz",
                "sglang_pin_gpu_p1_seed1.jsonl.gz"
            })
    void everyEventLockPinAndSizeIsTheRecordedBranchs(String name) {
        List<JsonNode> lines = Recording.read(name);
        page = lines.getFirst().path("page").intValue();
        int capacity = lines.getFirst().path("capacity").intValue();
        for (JsonNode line : lines.subList(1, lines.size())) {
            String step =
                    name + " step " + line.path("step") + " " + line.path("op").path("op");
            JsonNode result = line.path("result");
            if (result.has("raised")) {
                assertThatThrownBy(() -> perform(line, capacity))
                        .as(step)
                        .isInstanceOf(EngineDeath.class)
                        .hasMessage(result.path("raised").asText());
                continue;
            }
            perform(line, capacity);
            assertSame(step, line);
        }
    }

    private void perform(JsonNode line, int capacity) {
        JsonNode op = line.path("op");
        JsonNode result = line.path("result");
        switch (op.path("op").asText()) {
            case "construct", "restart" -> {
                cache = new RadixCache(capacity, page, true);
                running.clear();
            }
            case "request" -> {
                boolean started = start("-", op);
                assertThat(started).isEqualTo(result.path("started").booleanValue());
                if (started) {
                    finish("-", Recording.ints(op.path("output")));
                }
            }
            case "start" ->
                assertThat(start(op.path("rid").asText(), op))
                        .isEqualTo(result.path("started").booleanValue());
            case "finish" -> finish(op.path("rid").asText(), Recording.ints(op.path("output")));
            case "match" -> {
                int[] tokens = Recording.ints(op.path("tokens"));
                long[] names = SglangBlockNames.of(tokens, page);
                assertThat(cache.match("", names, names.length).tokens())
                        .isEqualTo(result.path("matched").intValue());
            }
            case "evict" ->
                assertThat(cache.evict(op.path("n").intValue()))
                        .isEqualTo(result.path("evicted").intValue());
            case "pin" ->
                assertThat(cache.pin(Recording.longs(op.path("hashes"))))
                        .isEqualTo(result.path("pinned_count").intValue());
            case "unpin" ->
                assertThat(cache.unpin(Recording.longs(op.path("hashes"))))
                        .isEqualTo(result.path("unpinned_count").intValue());
            case "reset" -> {
                if (running.isEmpty()) {
                    cache.clear();
                }
            }
            case "auto_unpin_check" -> check(op, result);
            default -> throw new AssertionError("unknown operation " + op);
        }
    }

    private boolean start(String id, JsonNode op) {
        Running request = new Running();
        request.prompt = Recording.ints(op.path("tokens"));
        request.namespace = op.path("extra_key").asText("");
        long[] names = SglangBlockNames.of(request.prompt, page);
        RadixCache.Match match = cache.match(request.namespace, names, (request.prompt.length - 1) / page);
        cache.lock(match.node());
        int extend = request.prompt.length - match.tokens();
        if (extend + 1 >= cache.freeTokens() + cache.evictableTokens()) {
            cache.unlock(match.node());
            return false;
        }
        makeRoom(page == 1 ? extend : extend + page);
        int slots = (extend + page - 1) / page * page;
        if (slots > cache.freeTokens()) {
            cache.unlock(match.node());
            return false;
        }
        cache.take(slots);
        request.node = match.node();
        request.inTree = match.tokens();
        request.held = slots;
        store(request);
        running.put(id, request);
        return true;
    }

    private void finish(String id, int[] output) {
        Running request = Objects.requireNonNull(running.remove(id));
        int more = request.prompt.length + Math.max(0, output.length - 1) - request.inTree - request.held;
        if (more > 0) {
            int slots = (more + page - 1) / page * page;
            makeRoom(slots);
            if (slots <= cache.freeTokens()) {
                cache.take(slots);
                request.held += slots;
            }
        }
        store(request);
        cache.giveBack(request.held);
        cache.unlock(request.node);
    }

    private void store(Running request) {
        RadixCache.Insertion stored = cache.insert(
                request.namespace,
                SglangBlockNames.of(request.prompt, page),
                request.prompt.length / page,
                request.prompt);
        int inTree = request.prompt.length / page * page;
        cache.giveBack(Math.max(0, stored.present() - request.inTree));
        request.held -= inTree - request.inTree;
        request.inTree = inTree;
        cache.lock(stored.node());
        cache.unlock(request.node);
        request.node = stored.node();
    }

    private void makeRoom(int tokens) {
        if (cache.freeTokens() < tokens) {
            cache.evict(tokens);
        }
    }

    /** The recorder looked at one waiting request and took it away again. */
    private void check(JsonNode op, JsonNode result) {
        int[] tokens = Recording.ints(op.path("tokens"));
        RadixCache.Match match = cache.match("", SglangBlockNames.of(tokens, page), (tokens.length - 1) / page);
        int extend = tokens.length - match.tokens();
        assertThat(extend).isEqualTo(result.path("extend").intValue());
        if (!result.path("auto_unpinned").isNull()) {
            assertThat(cache.protectedTokens()).isGreaterThan(cache.capacityTokens() - extend);
            assertThat(cache.unpinAll()).isEqualTo(result.path("auto_unpinned").intValue());
        }
    }

    private void assertSame(String step, JsonNode line) {
        List<CacheEvent> events = new ArrayList<>();
        line.path("events").forEach(event -> events.add(Recording.event(event)));
        assertThat(Recording.perBlock(cache.drainEvents())).as(step).isEqualTo(Recording.perBlock(events));
        List<RadixCache.Resident> tree = new ArrayList<>();
        for (JsonNode row : line.path("tree")) {
            tree.add(new RadixCache.Resident(
                    row.get(0).longValue(), row.get(1).longValue(), row.get(3).intValue()));
        }
        assertThat(cache.residents()).as(step).containsExactlyInAnyOrderElementsOf(tree);
        Map<Long, Integer> pins = new HashMap<>();
        line.path("pins")
                .forEach(pin -> pins.put(pin.get(0).longValue(), pin.get(1).intValue()));
        assertThat(cache.pins()).as(step).isEqualTo(pins);
        assertThat(List.of(cache.evictableTokens(), cache.protectedTokens(), cache.freeTokens()))
                .as(step + ": evictable, protected, free")
                .containsExactly(
                        line.path("evictable").intValue(),
                        line.path("protected").intValue(),
                        line.path("free").intValue());
    }
}
