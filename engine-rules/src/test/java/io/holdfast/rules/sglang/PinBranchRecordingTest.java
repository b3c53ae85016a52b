package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.testing.Recording;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The pin branch's own cache did these operations: ours has to end up the same, its defects included. */
class PinBranchRecordingTest {
    private static final class Running {
        final TokenChain chain;
        final long priority;
        RadixNode node = RadixNode.root(Namespace.PLAIN);
        int inTree;
        int held;

        Running(TokenChain chain, long priority) {
            this.chain = chain;
            this.priority = priority;
        }
    }

    private int page = 16;
    private RadixCache cache = cache(16);
    private int evicted;
    private final Map<String, Running> running = new HashMap<>();

    static Stream<String> recordings() {
        return Recording.all(
                header -> header.path("header").asText().equals("pin_gpu"),
                "sglang_pin_gpu_scripted_p16.jsonl.gz",
                "sglang_pin_gpu_p16_seed1.jsonl.gz",
                "sglang_pin_gpu_p16_seed2.jsonl.gz",
                "sglang_pin_gpu_p16_seed3.jsonl.gz",
                "sglang_pin_gpu_p1_seed1.jsonl.gz",
                "sglang_pin_gpu_p1_seed2.jsonl.gz");
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void everyEventLockPinAndSizeIsTheRecordedBranchs(String name) {
        List<JsonNode> lines = Recording.read(name);
        page = lines.getFirst().path("page").intValue();
        int capacity = lines.getFirst().path("capacity").intValue();
        int deaths = 0;
        for (JsonNode line : lines.subList(1, lines.size())) {
            String step =
                    name + " step " + line.path("step") + " " + line.path("op").path("op");
            JsonNode result = line.path("result");
            if (result.has("raised")) {
                assertThatThrownBy(() -> perform(step, line, capacity))
                        .as(step)
                        .isInstanceOf(EngineDeath.class)
                        .hasMessage(result.path("raised").asText());
                deaths++;
            } else {
                perform(step, line, capacity);
            }
            assertSame(step, line);
        }
        assertThat(deaths)
                .isEqualTo(lines.stream()
                        .filter(line -> line.path("op").path("op").asText().equals("restart"))
                        .count());
    }

    private RadixCache cache(int capacity) {
        SglangSettings settings =
                SglangSettings.defaults().withSizes(capacity, page, 8192).withVariant(Variant.PIN_GPU);
        return new RadixCache(settings, Faults.none());
    }

    private TokenChain chain(int[] tokens, String extraKey) {
        return new TokenChain(new Namespace(extraKey, ""), "", page).grow(tokens);
    }

    private void perform(String step, JsonNode line, int capacity) {
        JsonNode op = line.path("op");
        JsonNode result = line.path("result");
        switch (op.path("op").asText()) {
            case "construct", "restart" -> {
                cache = cache(capacity);
                running.clear();
            }
            case "request" -> {
                if (start(step, "-", op, result)) {
                    finish("-", Recording.ints(op.path("output")));
                    assertThat(evicted)
                            .as(step)
                            .isEqualTo(result.path("decode_evicted").intValue());
                }
            }
            case "start" -> start(step, op.path("rid").asText(), op, result);
            case "finish" -> {
                finish(op.path("rid").asText(), Recording.ints(op.path("output")));
                assertThat(evicted).as(step).isEqualTo(result.path("evicted").intValue());
            }
            case "match" -> {
                int[] tokens = Recording.ints(op.path("tokens"));
                assertThat(cache.match(chain(tokens, ""), tokens.length / page).tokens())
                        .as(step)
                        .isEqualTo(result.path("matched").intValue());
            }
            case "evict" ->
                assertThat(cache.evict(op.path("n").intValue()))
                        .as(step)
                        .isEqualTo(result.path("evicted").intValue());
            case "pin" ->
                assertThat(cache.pins().pin(Recording.longs(op.path("hashes"))).count())
                        .as(step)
                        .isEqualTo(result.path("pinned_count").intValue());
            case "unpin" ->
                assertThat(cache.pins()
                                .unpin(Recording.longs(op.path("hashes")))
                                .count())
                        .as(step)
                        .isEqualTo(result.path("unpinned_count").intValue());
            case "reset" -> {
                assertThat(running.isEmpty())
                        .as(step)
                        .isEqualTo(result.path("flushed").booleanValue());
                if (running.isEmpty()) {
                    cache.clear();
                }
            }
            case "auto_unpin_check" -> check(step, op, result);
            default -> throw new AssertionError("unknown operation " + op);
        }
    }

    private boolean start(String step, String id, JsonNode op, JsonNode result) {
        int[] prompt = Recording.ints(op.path("tokens"));
        Running request = new Running(
                chain(prompt, op.path("extra_key").asText("")),
                op.path("priority").asLong(0));
        RadixCache.Match match = cache.match(request.chain, (prompt.length - 1) / page);
        assertThat(match.tokens()).as(step).isEqualTo(result.path("matched").asInt(match.tokens()));
        cache.lock(match.node());
        int extend = prompt.length - match.tokens();
        int room = cache.freeTokens() + cache.evictableTokens();
        evicted = 0;
        boolean started = extend + 1 < room;
        if (started) {
            int wanted = page == 1 ? extend : extend + page;
            int asked = wanted > cache.freeTokens() ? wanted : 0;
            assertThat(asked).as(step).isEqualTo(result.path("evict_asked").asInt(asked));
            makeRoom(wanted);
        }
        assertThat(evicted).as(step).isEqualTo(result.path("evicted").asInt(evicted));
        int slots = (extend + page - 1) / page * page;
        started &= slots <= cache.freeTokens();
        assertThat(started).as(step).isEqualTo(result.path("started").asBoolean(started));
        if (!started) {
            assertThat(room).as(step).isEqualTo(result.path("room").intValue());
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
        int more = request.chain.length() + Math.max(0, output.length - 1) - request.inTree - request.held;
        evicted = 0;
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
        RadixCache.Insertion stored = cache.insert(request.chain, request.chain.blocks(), request.priority, 0);
        int inTree = request.chain.blocks() * page;
        cache.giveBack(Math.max(0, stored.present() - request.inTree));
        request.held -= inTree - request.inTree;
        request.inTree = inTree;
        cache.lock(stored.node());
        cache.unlock(request.node);
        request.node = stored.node();
    }

    private void makeRoom(int tokens) {
        if (cache.freeTokens() < tokens) {
            evicted = cache.evict(tokens);
        }
    }

    /** The recorder looked at one waiting request, once more when it was not admitted, and took it away again. */
    private void check(String step, JsonNode op, JsonNode result) {
        int[] tokens = Recording.ints(op.path("tokens"));
        RadixCache.Match match = cache.match(chain(tokens, ""), (tokens.length - 1) / page);
        int extend = tokens.length - match.tokens();
        assertThat(extend).as(step).isEqualTo(result.path("extend").intValue());
        if (!result.path("auto_unpinned").isNull()) {
            assertThat(cache.protectedTokens()).as(step).isGreaterThan(cache.capacityTokens() - extend);
            assertThat(cache.pins().unpinAll())
                    .as(step)
                    .isEqualTo(result.path("auto_unpinned").intValue());
        }
        boolean lookedAgain = result.has("fits_if_flag_cleared")
                && !result.path("fits_if_flag_cleared").booleanValue();
        if (lookedAgain && cache.protectedTokens() > cache.capacityTokens() - extend) {
            cache.pins().unpinAll();
        }
    }

    private void assertSame(String step, JsonNode line) {
        List<CacheEvent> events = new ArrayList<>();
        line.path("events").forEach(event -> events.add(Recording.event(event)));
        assertThat(Recording.perBlock(cache.drainEvents())).as(step).isEqualTo(Recording.perBlock(events));

        Map<Long, Integer> pins = cache.pins().counts();
        List<String> tree = new ArrayList<>();
        Map<Long, List<RadixNode>> where = new HashMap<>();
        Set<RadixNode> alive = new HashSet<>();
        for (RadixCache.Resident resident : cache.residents()) {
            RadixNode node = resident.node();
            long block = resident.block();
            tree.add(block + " " + resident.parent() + " " + node.priority + " " + node.locks + " "
                    + pins.getOrDefault(block, 0) + " " + node.space.extraKey());
            where.computeIfAbsent(block, _ -> new ArrayList<>()).add(node);
            alive.add(node);
        }
        List<String> recordedTree = new ArrayList<>();
        for (JsonNode row : line.path("tree")) {
            recordedTree.add(row.get(0).longValue() + " " + row.get(1).longValue() + " " + row.get(2) + " " + row.get(3)
                    + " " + row.get(4) + " " + row.path(5).asText(""));
        }
        assertThat(tree).as(step).containsExactlyInAnyOrderElementsOf(recordedTree);

        Map<Long, Integer> recordedPins = new HashMap<>();
        line.path("pins")
                .forEach(pin ->
                        recordedPins.put(pin.get(0).longValue(), pin.get(1).intValue()));
        assertThat(pins).as(step).isEqualTo(recordedPins);

        Map<Long, String> recordedWrong = new TreeMap<>();
        for (JsonNode row : line.path("index_wrong")) {
            recordedWrong.put(
                    row.get(0).longValue(),
                    row.get(1).isNull()
                            ? "none"
                            : row.get(1).longValue() + " " + row.get(2).booleanValue() + " " + row.get(3));
        }
        assertThat(indexWrong(where, alive)).as(step + ": index").isEqualTo(recordedWrong);

        List<String> dead = new ArrayList<>();
        for (RadixNode leaf : cache.leaves()) {
            if (!alive.contains(leaf)) {
                dead.add(leaf.lastBlock() + " " + leaf.tokens.size());
            }
        }
        List<String> recordedDead = new ArrayList<>();
        line.path("dead_leaves").forEach(row -> recordedDead.add(row.get(0).longValue() + " " + row.get(1)));
        assertThat(dead).as(step + ": dead leaves").containsExactlyInAnyOrderElementsOf(recordedDead);

        assertThat(List.of(
                        cache.evictableTokens(),
                        cache.protectedTokens(),
                        cache.freeTokens(),
                        running.values().stream()
                                .mapToInt(request -> request.held)
                                .sum()))
                .as(step + ": evictable, protected, free, held")
                .containsExactly(
                        line.path("evictable").intValue(),
                        line.path("protected").intValue(),
                        line.path("free").intValue(),
                        line.path("held").intValue());
    }

    /** Blocks that the index does not lead to their one node, with the node it leads to. */
    private Map<Long, String> indexWrong(Map<Long, List<RadixNode>> where, Set<RadixNode> alive) {
        Map<Long, String> wrong = new TreeMap<>();
        Map<Long, RadixNode> index = cache.pins().index();
        index.forEach((block, node) -> {
            if (!List.of(node).equals(where.get(block))) {
                wrong.put(block, node.lastBlock() + " " + alive.contains(node) + " " + node.tokens.size());
            }
        });
        where.keySet().stream().filter(block -> !index.containsKey(block)).forEach(block -> wrong.put(block, "none"));
        return wrong;
    }
}
