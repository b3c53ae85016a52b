package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.events.VllmHashing;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.testing.Heard;
import io.holdfast.rules.testing.Recording;
import io.holdfast.rules.vllm.VllmSettings.Policy;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * vLLM's own scheduler was driven through these sessions of many requests at a time: after every pass, events, tokens, both
 * lines of requests and the queue of free blocks have to be what it had. Chunks, preemption, aborts and resets included.
 */
class VllmSchedulerRecordingTest {
    private final Map<String, Generation> requests = new HashMap<>();
    private final IdentityHashMap<Generation, String> names = new IdentityHashMap<>();
    private final List<List<Object>> said = new ArrayList<>();
    private final List<List<Object>> cached = new ArrayList<>();

    static Stream<String> recordings() {
        return Recording.all(
                header -> header.path("type").asText().equals("scheduler") && header.has("vllm"),
                "vllm_scheduler_0.32_fcfs.jsonl.gz",
                "vllm_scheduler_0.32_priority.jsonl.gz",
                "vllm_scheduler_0.22_fcfs.jsonl.gz");
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void everyPassIsTheRecordedSchedulers(String recording) {
        List<JsonNode> lines = Recording.read(recording);
        List<JsonNode> turns = lines.subList(1, lines.size());
        VllmBench bench = new VllmBench(settings(lines.getFirst()));
        VllmEngine engine = bench.engine;
        Map<String, List<Integer>> answers = answers(turns);
        for (int turn = 0; turn < turns.size(); turn++) {
            JsonNode line = turns.get(turn);
            String at = recording + " turn " + turn;
            bench.frames.clear();
            said.clear();
            cached.clear();
            line.path("ops").forEach(op -> apply(op, engine, answers, at));
            boolean worked = engine.step();
            assertThat(worked && !line.path("pass").booleanValue()).as(at).isFalse();
            assertThat(bench.frames).as(at).isEqualTo(frames(line));
            assertThat(said).as(at).isEqualTo(pairs(line.path("said")));
            assertThat(cached).as(at).isEqualTo(pairs(line.path("cached")));
            assertThat(namesOf(engine.running())).as(at).isEqualTo(texts(line.path("running")));
            assertThat(namesOf(engine.waiting())).as(at).isEqualTo(texts(line.path("waiting")));
            assertThat(engine.cache().pool().queued()).as(at).isEqualTo(Recording.ints(line.path("free")));
            VllmStats stats = engine.stats();
            assertThat(List.of(stats.preemptions(), stats.prefixQueries(), stats.prefixHits()))
                    .as(at)
                    .isEqualTo(List.of(
                            line.path("preemptions").longValue(),
                            line.path("queries").longValue(),
                            line.path("hits").longValue()));
        }
        assertThat(engine.stats().preemptions()).isGreaterThan(10);
        assertThat(engine.stats().aborted()).isPositive();
    }

    private void apply(JsonNode op, VllmEngine engine, Map<String, List<Integer>> answers, String at) {
        if (op.has("submit")) {
            String name = op.path("submit").asText();
            RequestOptions terms = RequestOptions.of(op.path("max_tokens").intValue())
                    .withForced(answers.getOrDefault(name, List.of()))
                    .withSalt(op.path("salt").asText(""))
                    .withPriority(op.path("priority").asInt(0))
                    .withReportsHits(op.path("full").booleanValue());
            Heard heard = new Heard() {
                @Override
                public void token(int token, int count, int found, boolean last) {
                    said.add(List.of(name, token));
                    if (count == 1) {
                        cached.add(List.of(name, found));
                    }
                }
            };
            Generation request =
                    new Generation(Recording.ints(op.path("prompt")), terms, false, requests.size(), heard);
            requests.put(name, request);
            names.put(request, name);
            engine.submit(request);
        } else if (op.has("abort")) {
            engine.abort(Objects.requireNonNull(requests.get(op.path("abort").asText())));
        } else {
            assertThat(engine.resetPrefixCache(op.path("reset").booleanValue()))
                    .as(at)
                    .isEqualTo(op.path("done").booleanValue());
        }
    }

    private static VllmSettings settings(JsonNode header) {
        boolean old = header.path("vllm").path("version").asText().startsWith("0.22");
        int blocks = header.path("blocks").intValue();
        int blockTokens = header.path("block_size").intValue();
        return VllmSettings.defaults()
                .withSizes(blocks, blockTokens, (blocks - 1) * blockTokens)
                .withBatch(
                        header.path("max_num_seqs").intValue(),
                        header.path("max_num_batched_tokens").intValue())
                .withHashing(
                        new VllmHashing(
                                Algorithm.of(header.path("hash_algo").asText()).orElseThrow(),
                                header.path("hash_seed").asText(),
                                old ? Form.PLAIN : Form.TAGGED),
                        false)
                .withRelease(old ? Release.V0_22 : Release.V0_32)
                .withPolicy(Policy.valueOf(header.path("policy").asText().toUpperCase(Locale.ROOT)));
    }

    private static Map<String, List<Integer>> answers(List<JsonNode> turns) {
        Map<String, List<Integer>> answers = new HashMap<>();
        for (JsonNode line : turns) {
            line.path("said")
                    .forEach(pair -> answers.computeIfAbsent(pair.path(0).asText(), _ -> new ArrayList<>())
                            .add(pair.path(1).intValue()));
        }
        return answers;
    }

    private static List<List<CacheEvent>> frames(JsonNode line) {
        return stream(line.path("frames"))
                .map(frame -> stream(frame).map(Recording::event).toList())
                .toList();
    }

    private static List<List<Object>> pairs(JsonNode list) {
        return stream(list)
                .map(pair -> List.<Object>of(pair.path(0).asText(), pair.path(1).intValue()))
                .toList();
    }

    private static List<String> texts(JsonNode list) {
        return stream(list).map(JsonNode::asText).toList();
    }

    private List<String> namesOf(List<VllmRequest> line) {
        return line.stream().map(request -> names.get(request.generation)).toList();
    }

    private static Stream<JsonNode> stream(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }
}
