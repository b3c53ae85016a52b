package io.holdfast.workbench.compare;

import static io.holdfast.workbench.compare.Files.file;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.workbench.compare.Scaling.Row;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The figures are those of a published plan of tensor parallelism. */
final class ScalingTest {
    private static final Metric THROUGHPUT = Metric.OUTPUT_THROUGHPUT;
    private static final Metric TTFT = Metric.percentile(Quantity.TTFT, 50);
    private static final Metric ITL = Metric.percentile(Quantity.ITL, 50);

    @Test
    void speedUpAndEfficiency_areAgainstTheReferenceRow() {
        List<Row> rows = plan(true).rows();
        assertThat(rows)
                .extracting(row -> row.label("tp"))
                .containsExactly("tp=1", "tp=2 numa=local", "tp=4 numa=cross", "tp=4 numa=local");
        Row two = rows.get(1);
        assertThat(two.speedUp(TTFT).orElseThrow()).isCloseTo(1.9, within(0.05));
        assertThat(two.speedUp(ITL).orElseThrow()).isCloseTo(1.75, within(1e-9));
        assertThat(two.speedUp(THROUGHPUT).orElseThrow()).isCloseTo(1.79, within(0.005));
        assertThat(Percents.plain(two.efficiency(THROUGHPUT).orElseThrow())).isEqualTo("89.6 %");
        Row cross = rows.get(2);
        assertThat(cross.speedUp(TTFT).orElseThrow()).isCloseTo(2.6, within(0.05));
        assertThat(Percents.plain(cross.efficiency(THROUGHPUT).orElseThrow())).isEqualTo("47.9 %");
        Row local = rows.get(3);
        assertThat(local.speedUp(TTFT).orElseThrow()).isCloseTo(3.2, within(0.05));
        assertThat(local.speedUp(ITL).orElseThrow()).isCloseTo(2.8, within(1e-9));
        assertThat(Percents.plain(local.efficiency(THROUGHPUT).orElseThrow())).isEqualTo("69.4 %");
    }

    @Test
    void recommendation_followsFromTheRule_whichIsPrinted() {
        Scaling scaling = plan(true);
        assertThat(scaling.rows())
                .extracting(row -> row.isToAvoid(THROUGHPUT).orElseThrow())
                .containsExactly(false, false, true, false);
        assertThat(scaling.recommendations())
                .containsExactly(
                        "Most efficient: tp=2 numa=local with 89.6 %.",
                        "AVOID tp=4 numa=cross: efficiency 47.9 %, below 50 %, single run.",
                        "Rule: efficiency is the ratio of throughput over the ratio of tp to the reference row (tp=1);"
                                + " below 50 % avoid it.");
    }

    @Test
    void efficiencyAroundTheLimit_isUndecidedByItsInterval() {
        Scaling scaling = Scaling.of(
                List.of(file("a")
                        .runs("w", "tp=1", "output_throughput", 100, 101, 99)
                        .runs("w", "tp=2", "output_throughput", 97, 105, 94)
                        .runs("w", "tp=4", "output_throughput", 120, 121, 119)
                        .done()),
                "tp",
                1,
                List.of());
        assertThat(scaling.rows().get(1).isToAvoid(THROUGHPUT)).isEmpty();
        assertThat(scaling.rows().get(2).isToAvoid(THROUGHPUT)).contains(true);
        assertThat(scaling.recommendations()).anyMatch(line -> line.startsWith("Undecided whether to avoid tp=2"));
    }

    @Test
    void referenceOfSeveralDevices_isWorthAsMany() {
        Scaling scaling = Scaling.of(
                List.of(file("a")
                        .run("w", "tp=2", "output_throughput", 100)
                        .run("w", "tp=4", "output_throughput", 180)
                        .done()),
                "tp",
                2,
                List.of());
        assertThat(Percents.plain(
                        scaling.rows().getLast().efficiency(THROUGHPUT).orElseThrow()))
                .isEqualTo("90.0 %");
    }

    @Test
    void tableWithoutAReferenceRow_isRefused() {
        assertThatThrownBy(() -> plan(false))
                .hasMessageContaining("There is no row with tp=1 to compare with")
                .hasMessageContaining("the results have tp=2, 4");
        assertThatThrownBy(() -> Scaling.of(
                        List.of(file("a")
                                .run("w", "batch=1", "output_throughput", 1)
                                .done()),
                        "tp",
                        1,
                        List.of()))
                .hasMessageContaining("No result has a number for the setting 'tp'");
        assertThatThrownBy(() -> Scaling.of(
                        List.of(file("a").run("w", "tp=1", "ttft_p50", 1).done()), "tp", 1, List.of()))
                .hasMessageContaining("The reference row has no throughput");
    }

    private static Scaling plan(boolean reference) {
        Files rows = file("tp");
        if (reference) {
            rows.run("w", "tp=1", "ttft_p50", 185, "itl_p50", 42, "e2e_p50", 5600, "output_throughput", 720);
        }
        rows.run("w", "tp=2 numa=local", "ttft_p50", 98, "itl_p50", 24, "e2e_p50", 3100, "output_throughput", 1290)
                .run("w", "tp=4 numa=local", "ttft_p50", 58, "itl_p50", 15, "e2e_p50", 2000, "output_throughput", 2000)
                .run("w", "tp=4 numa=cross", "ttft_p50", 72, "itl_p50", 22, "e2e_p50", 2900, "output_throughput", 1380);
        return Scaling.of(List.of(rows.done()), "tp", 1, List.of());
    }
}
