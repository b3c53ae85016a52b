package io.holdfast.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkloadCommandTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"--engines 1", "--engines 3", "--engines 3 --holes"})
    void writtenFile_hasAnswersThatANaiveIndexGives(String options) {
        Path file = written("a.kvwl", options);

        Figures tree = new IndexBench(TreeIndex::new).check(file);
        Figures naive = new IndexBench(NaiveIndex::new).check(file);

        assertThat(tree.toString()).isEqualTo(naive.toString()).contains("errors=0");
    }

    @Test
    void sameOptions_writeTheSameBytes() throws IOException {
        assertThat(written("a.kvwl", "--engines 2")).hasSameBinaryContentAs(written("b.kvwl", "--engines 2"));
        assertThat(Files.mismatch(written("c.kvwl", "--engines 2 --seed 1"), folder.resolve("a.kvwl")))
                .isNotNegative();
    }

    @Test
    void trace_becomesThirtyTwoBlocksForEachId() throws IOException {
        Path trace = Files.writeString(
                folder.resolve("trace.jsonl"),
                "{\"hash_ids\":[0,1,2]}\n{\"hash_ids\":[0,1,3]}\n{\"hash_ids\":[0,4]}\n");

        Path file = written("t.kvwl", "--engines 1 --trace " + trace);

        try (WorkloadFile read = WorkloadFile.open(file)) {
            assertThat(read.operations()).isEqualTo(5 * 32);
            assertThat(read.events()).isEqualTo(3);
        }
    }

    @Test
    void wrongOption_exitsTwo() {
        assertThat(IndexMain.run("workload", folder.resolve("x").toString(), "--engines", "0"))
                .isEqualTo(2);
        assertThat(IndexMain.run("index", "bench", folder.resolve("nosuch").toString()))
                .isEqualTo(2);
        assertThat(IndexMain.run("decode", "--set", "nosuch")).isEqualTo(2);
        assertThat(IndexMain.run("decode", "--rounds", "0")).isEqualTo(2);
    }

    private Path written(String name, String options) {
        Path file = folder.resolve(name);
        List<String> command = new ArrayList<>(List.of("workload", file.toString()));
        command.addAll(List.of("--capacity", "1024", "--blocks", "20000", "--queries", "300"));
        command.addAll(List.of(options.split(" ", -1)));
        assertThat(IndexMain.run(command.toArray(String[]::new))).isZero();
        return file;
    }
}
