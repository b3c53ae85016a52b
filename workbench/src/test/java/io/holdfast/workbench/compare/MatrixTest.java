package io.holdfast.workbench.compare;

import static io.holdfast.workbench.compare.Files.file;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.compare.Matrix.Cell;
import io.holdfast.workbench.compare.Matrix.Layout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MatrixTest {
    @ParameterizedTest
    @CsvSource({"0.42, 0.48, +14 %", "12.8, 14.2, +11 %", "2.8, 3.1, +11 %"})
    void lead_isTheSlowerOverTheFaster(double flashinfer, double triton, String lead) {
        Cell cell = only(backends(flashinfer, triton));
        assertThat(cell.winner()).contains("flashinfer");
        assertThat(Percents.whole(cell.leadShare().orElseThrow())).isEqualTo(lead);
    }

    @Test
    void equalValues_andSingleRuns_haveNoWinner() {
        assertThat(only(backends(2.8, 2.8)).winner()).isEmpty();
        Matrix single = Matrix.of(
                List.of(file("a")
                        .run("prefill", "variant=flashinfer batch=1", "ttft_p50", 0.42)
                        .run("prefill", "variant=triton batch=1", "ttft_p50", 0.48)
                        .done()),
                layout("ttft_p50"));
        assertThat(only(single).winner()).isEmpty();
        assertThat(single.statements())
                .containsExactly("No winner in 1 of 1 cells: an interval needs 3 runs of each variant.");
    }

    @Test
    void filesOfOneVariant_areItsRepetitions() {
        List<Named> files = new ArrayList<>();
        for (double times : new double[] {0.99, 1, 1.01}) {
            files.add(file("f" + times)
                    .run("w", "variant=one", "ttft_p50", 100 * times)
                    .run("w", "variant=two", "ttft_p50", 120 * times)
                    .done());
        }
        Cell cell = only(Matrix.of(files, layout("ttft_p50")));
        assertThat(cell.values().get("one")).containsExactly(99, 100, 101);
        assertThat(cell.winner()).contains("one");
    }

    @Test
    void throughputsLead_isTheLargerOverTheSmaller() {
        Cell cell = only(Matrix.of(
                List.of(file("a")
                        .runs("w", "variant=one batch=1", "output_throughput", 100, 100.1, 99.9)
                        .runs("w", "variant=two batch=1", "output_throughput", 110, 110.1, 109.9)
                        .done()),
                layout("throughput")));
        assertThat(cell.winner()).contains("two");
        assertThat(Percents.whole(cell.leadShare().orElseThrow())).isEqualTo("+10 %");
    }

    @Test
    void twoVariantsByBatchesAndLengths_haveACellForEach_andStatementsOfAll() {
        Files all = file("backends");
        for (int batch : new int[] {1, 8, 32}) {
            for (int length : new int[] {512, 2048, 8192}) {
                double lead = 1.15 - batch / 1000.0;
                runs(all, "variant=flashinfer batch=" + batch + " length=" + length, 3);
                runs(all, "variant=triton batch=" + batch + " length=" + length, 3 * lead);
            }
        }
        Matrix matrix = Matrix.of(List.of(all.done()), layout("ttft_p50"));
        assertThat(matrix.cells()).hasSize(9);
        assertThat(matrix.rows()).containsExactly("batch=1", "batch=8", "batch=32");
        assertThat(matrix.columns()).containsExactly("length=512", "length=2048", "length=8192");
        assertThat(matrix.cells().values().stream()
                        .mapToInt(cell -> cell.values().size())
                        .sum())
                .isEqualTo(18);
        assertThat(matrix.statements())
                .containsExactly(
                        "flashinfer is ahead in 9 of 9 cells, by +12 to +15 %.",
                        "The lead of flashinfer falls with batch: from +15 % at 1 to +12 % at 32.");
    }

    @Test
    void settingsThatChangeTogether_areNotToldApart() {
        Files all = file("backends");
        runs(all, "variant=flashinfer batch=1 length=512", 0.42);
        runs(all, "variant=triton batch=1 length=512", 0.48);
        runs(all, "variant=flashinfer batch=32 length=2048", 12.8);
        runs(all, "variant=triton batch=32 length=2048", 14.2);
        assertThat(Matrix.of(List.of(all.done()), layout("ttft_p50")).statements())
                .containsExactly(
                        "flashinfer is ahead in 2 of 2 cells, by +11 to +14 %.",
                        "The lead of flashinfer falls from +14 % to +11 % as batch rises, but batch and length change"
                                + " together in this table, so it cannot tell which of them does it.");
    }

    @Test
    void workloadsByModels_haveTheChangeBetweenTwoFiles() {
        Named before = file("p8")
                .run("baseline", "model=llama", "itl_p50", 12)
                .run("baseline", "model=qwen3", "itl_p50", 15)
                .run("paged", "model=llama", "itl_p50", 44)
                .run("paged", "model=qwen3", "itl_p50", 44)
                .done();
        Named after = file("p9")
                .run("baseline", "model=llama", "itl_p50", 18)
                .run("baseline", "model=qwen3", "itl_p50", 23)
                .run("paged", "model=llama", "itl_p50", 44)
                .run("paged", "model=qwen3", "itl_p50", 80)
                .done();
        Matrix matrix = Matrix.of(List.of(before, after), layout("itl_p50"));
        assertThat(matrix.variants()).containsExactly("p8", "p9");
        assertThat(matrix.rows()).containsExactly("baseline", "paged");
        assertThat(change(matrix, "baseline", "model=llama")).isEqualTo("+50 %");
        assertThat(change(matrix, "baseline", "model=qwen3")).isEqualTo("+53 %");
        assertThat(change(matrix, "paged", "model=llama")).isEqualTo("0 %");
        assertThat(change(matrix, "paged", "model=qwen3")).isEqualTo("+82 %");
    }

    @Test
    void otherRequests_andUnknownSettings_areRefused() {
        Named mixed = file("a")
                .of("1111")
                .run("w", "variant=one batch=1", "ttft_p50", 1)
                .of("2222")
                .run("w", "variant=two batch=1", "ttft_p50", 1)
                .done();
        assertThatThrownBy(() -> Matrix.of(List.of(mixed), layout("ttft_p50")))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("were sent different requests");
        Named plain = file("a")
                .run("w", "kernel=one", "ttft_p50", 1)
                .run("w", "kernel=two", "ttft_p50", 1)
                .done();
        assertThatThrownBy(() -> Matrix.of(List.of(plain), layout("ttft_p50")))
                .hasMessageContaining("by --variant: they differ in kernel");
        assertThatThrownBy(() ->
                        Matrix.of(List.of(plain), new Layout("ttft_p50", Optional.of("colour"), List.of(), List.of())))
                .hasMessageContaining("do not differ in 'colour'; they differ in kernel");
        assertThatThrownBy(() -> Matrix.of(List.of(plain), layout("itl_p50")))
                .hasMessageContaining("they have ttft_p50");
    }

    private static String change(Matrix matrix, String row, String column) {
        return Percents.whole(matrix.cell(row, column)
                .orElseThrow()
                .lastAgainstFirst(matrix.variants())
                .orElseThrow()
                .share()
                .orElseThrow());
    }

    private static Matrix backends(double flashinfer, double triton) {
        Files all = file("backends");
        runs(all, "variant=flashinfer batch=1", flashinfer);
        runs(all, "variant=triton batch=1", triton);
        return Matrix.of(List.of(all.done()), layout("ttft_p50"));
    }

    /** Four runs that differ by half a percent. */
    private static void runs(Files all, String settings, double middle) {
        all.runs("prefill", settings, "ttft_p50", middle * 0.9975, middle, middle, middle * 1.0025);
    }

    private static Layout layout(String metric) {
        return new Layout(metric, Optional.empty(), List.of(), List.of());
    }

    private static Cell only(Matrix matrix) {
        assertThat(matrix.cells()).hasSize(1);
        return matrix.cells().values().iterator().next();
    }
}
