package io.holdfast.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requests keep the caches full, and an index that follows them makes no error. */
class GrowthBenchTest {
    @ParameterizedTest
    @CsvSource({"1, 1024", "1, 5000", "8, 20000"})
    void requests_onceFull_replaceOnePromptByAnother(int engines, int blocks) {
        Requests requests = new Requests(engines, blocks);
        Set<Long> held = new HashSet<>();
        Queue<Integer> sizes = new ArrayDeque<>();
        for (int request = 0; request < 4 * requests.places(); request++) {
            Events events = new Events(engines, 2, 256);
            requests.next(events);
            assertThat(events.count()).isEqualTo(Requests.EVENTS);
            for (int event = 0; event < events.count(); event++) {
                for (int i = events.from(event); i < events.to(event); i++) {
                    assertThat(
                                    events.kind(event) == WorkloadFile.REMOVE
                                            ? held.remove(events.hashes()[i])
                                            : held.add(events.hashes()[i]))
                            .isTrue();
                }
            }
            sizes.add(held.size());
        }
        assertThat(sizes.stream().skip(requests.places())).containsOnly(requests.places() * Requests.OWN);
    }

    @Test
    void run_tree_makesNoError() {
        Figures figures = new GrowthBench(TreeIndex::new, 20_000).run(2, 2_048, 50_000);

        assertThat(figures.toString())
                .startsWith("impl=holdfast mode=growth engines=2 few=2048 many=50000 ")
                .contains(" ratio=", " worst_cpu_us=")
                .endsWith(" errors=0");
    }
}
