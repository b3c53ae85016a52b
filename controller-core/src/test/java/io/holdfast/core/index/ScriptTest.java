package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.Script.Batch;
import io.holdfast.core.index.Script.Block;
import io.holdfast.core.index.Script.Event;
import io.holdfast.core.index.Script.Form;
import io.holdfast.core.index.Script.Remove;
import io.holdfast.core.index.Script.Step;
import io.holdfast.core.index.Script.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Only what a failure needs is left of a script. */
final class ScriptTest {
    @Test
    void shrunk_symptomOfTwoDistantEvents_isThoseTwo() {
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            steps.add(new Script.Add(i, CacheTraits.vllm()));
            steps.add(new Batch(0, List.of(store(10L * i, 10L * i + 10), remove(1_000 + i), new Script.Clear())));
        }
        Script script = new Script(BlockTree.Naming.ENGINE_HASH, steps);

        Script shortest = script.shrunk(part -> stores(part, 333) && removes(part, 1_077));

        assertThat(shortest)
                .hasToString("ENGINE_HASH\n  1. batch of cache 0: store [333] in GPU"
                        + "\n  2. batch of cache 0: remove [1077] from GPU");
    }

    private static boolean stores(Script script, long hash) {
        return events(script).stream()
                .anyMatch(event -> event instanceof Store store
                        && store.blocks().stream().anyMatch(block -> block.hash() == hash));
    }

    private static boolean removes(Script script, long hash) {
        return events(script).stream()
                .anyMatch(event ->
                        event instanceof Remove remove && remove.hashes().contains(hash));
    }

    private static List<Event> events(Script script) {
        return script.steps().stream()
                .flatMap(step -> step instanceof Batch batch ? batch.events().stream() : List.<Event>of().stream())
                .toList();
    }

    private static Store store(long from, long to) {
        List<Block> blocks = LongStream.range(from, to)
                .mapToObj(hash -> new Block(hash, hash, 0))
                .toList();
        return new Store(OptionalLong.empty(), blocks, Tier.GPU, 0, Form.NAMES);
    }

    private static Remove remove(long hash) {
        return new Remove(List.of(hash), Tier.GPU, 0);
    }
}
