package io.holdfast.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The figures of an index on a workload file: what does not depend on the machine is known from other indexers. */
class IndexBenchTest {
    private static final int ALL = Integer.MAX_VALUE;

    @TempDir
    private Path folder = Path.of("");

    @ParameterizedTest
    @EnumSource
    void check_treeAndNaiveIndex_sayWhatOtherIndexersSaid(Workloads workload) throws IOException {
        Path file = workload.in(folder);

        for (IntFunction<Index> indexes : Arrays.<IntFunction<Index>>asList(TreeIndex::new, NaiveIndex::new)) {
            Map<String, String> figures = pairs(new IndexBench(indexes).check(file));
            assertThat(figures).containsEntry("check", workload.check).containsEntry("errors", "0");
            assertThat(figures.getOrDefault("checksums", "").split(",", -1))
                    .hasSize(10)
                    .endsWith(workload.answers);
            assertThat(figures.getOrDefault("blocks", "").split(",", -1))
                    .hasSize(10)
                    .endsWith(Long.toString(workload.matched));
        }
    }

    @ParameterizedTest
    @EnumSource
    void bench_tree_hasTheContractsFiguresAndTheOthersAnswers(Workloads workload) throws IOException {
        Figures figures = new IndexBench(TreeIndex::new).bench(workload.in(folder), ALL);

        assertThat(figures.toString()).startsWith("impl=holdfast mode=bench threads=1 load_s=");
        assertThat(pairs(figures))
                .containsKeys("load_s", "first_s", "ingest_s", "mops", "best_mops", "mops_cpu", "qps", "qps_cpu")
                .containsKeys("p50_ns", "p99_ns", "p999_ns", "max_ns", "best")
                .containsEntry("check", workload.answers)
                .containsEntry("matched", Long.toString(workload.matched))
                .containsEntry("errors", "0");
    }

    @Test
    void bench_fewerQueries_asksTheFirst() throws IOException {
        Path file = Workloads.ONE_ENGINE.in(folder);

        Map<String, String> one = pairs(new IndexBench(TreeIndex::new).bench(file, 1));

        assertThat(one)
                .containsEntry(
                        "check",
                        pairs(new IndexBench(NaiveIndex::new).bench(file, 1)).get("check"));
        assertThat(one.get("check")).isNotEqualTo(Workloads.ONE_ENGINE.answers);
    }

    @Test
    void mem_tree_saysWhatTheHeapTookAndAppliesEverything() throws IOException {
        Map<String, String> tree = pairs(new IndexBench(TreeIndex::new).mem(Workloads.ONE_ENGINE.in(folder)));

        assertThat(tree).containsKeys("heap_delta", "rss_delta").containsEntry("errors", "0");
    }

    @ParameterizedTest
    @EnumSource
    void mixed_tree_tearsNoAnswer(Workloads workload) throws IOException {
        Map<String, String> figures = pairs(new MixedBench(TreeIndex::new).run(workload.in(folder), ALL));

        assertThat(figures)
                .containsKeys("ingest_mops", "qps", "p50_ns", "p99_ns", "lone_ingest_mops", "lone_p99_ns")
                .containsKeys("writer_ratio", "writer_cpu_ratio", "p99_ratio", "sampled")
                .containsEntry("torn", "0");
    }

    private static Map<String, String> pairs(Figures figures) {
        return Arrays.stream(figures.toString().split(" ", -1))
                .map(pair -> pair.split("=", 2))
                .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    }
}
