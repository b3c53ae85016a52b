package io.holdfast.workbench.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.workbench.table.Column.Side;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PublishedTableTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "TTFT p50 (ms)|ttft_p50||ms",
                "TTFT avg [ms]|ttft_mean||ms",
                "**TTFT P99**, ms|ttft_p99||ms",
                "Baseline TTFT avg (ms)|ttft_mean|BASELINE|ms",
                "PIN p99 TTFT (s)|ttft_p99|TREATMENT|s",
                "TTFT std (ms)|ttft_std||ms",
                "TTFT avg (ms) BL -> PIN|ttft_mean||ms",
                "TTFT avg BL → PIN (ms)|ttft_mean||ms",
                "Time to first token, median (ms)|ttft_p50||ms",
                "inter-token latency P99 (ms)|itl_p99||ms",
                "latency P50 (s)|e2e_p50||s",
                "throughput (tok/s)|output_throughput||tok/s",
                "tok/s|output_throughput||tok/s",
                "req/s|request_throughput||req/s",
                "System TPS (tok/s)|system_tps||tok/s",
                "prefill (ms)|prefill||ms",
                "TTFT|ttft||",
                "errors|errors||",
                "hit rate (%)|cached_share||%",
                "baseline cached tokens|cached_tokens|BASELINE|",
            })
    void numberColumn_hasItsMetricArmAndUnit(String header, String metric, Side side, String unit) {
        Column.Value value = Column.of(header).flatMap(Column::value).orElseThrow();
        assertThat(value.unit()).isEqualTo(Optional.ofNullable(unit).orElse(""));
        assertThat(value.side()).isEqualTo(Optional.ofNullable(side));
        assertThat(value.metric().name()).isEqualTo(metric);
    }

    @ParameterizedTest
    @CsvSource({
        "mem_fraction,LEVEL memory fraction",
        "capacity (tokens),LEVEL capacity",
        "Concurrency,LEVEL concurrency",
        "rate (req/s),LEVEL rate",
        "batch,LEVEL batch",
        "seq len,LEVEL length",
        "TP,LEVEL tp",
        "model,LABEL model",
        "Δ (%),STATED",
        "TTFT change (%),STATED",
        "change,STATED",
        "order,ORDER",
        "rep,REPETITION",
        "Status,STATUS",
        "arm,ARM",
        "Metric,METRIC",
        "notes,NOTE",
    })
    void otherColumn_isRecognisedByName(String header, String column) {
        assertThat(Column.of(header)
                        .filter(is -> is.value().isEmpty())
                        .map(is -> (is.kind() + " " + is.name()).strip()))
                .contains(column);
    }

    @Test
    void sameNumbersInTwoLayouts_giveTheSameComparisons() {
        List<PublishedTable> markdown = Seeds.tables("s0/sweeps.md");
        List<PublishedTable> published = Seeds.tablesOf(Seeds.document("S0-pin-review.md"));
        for (int i = 0; i < 2; i++) {
            assertThat(markdown.get(i).comparisons().stream().map(Comparison::text))
                    .containsExactlyInAnyOrderElementsOf(published.get(i).comparisons().stream()
                            .map(Comparison::text)
                            .toList());
        }
        assertThat(markdown).extracting(PublishedTable::name).containsExactly("Memory sweep", "Concurrency sweep");
        assertThat(Sweep.of(markdown.getFirst()).getFirst().axis()).isEqualTo("memory fraction");
        assertThat(Sweep.of(published.getLast()).getFirst().axis()).isEqualTo("concurrency");
        assertThat(published.getLast().settings())
                .containsEntry("memory fraction", "0.08")
                .containsEntry("requests", "128")
                .as("of the other table, at that memory fraction")
                .containsEntry("capacity", "~22K tok");
    }

    @Test
    void bareStatistic_isOfWhatTheOtherColumnsAre() {
        PublishedTable table = Seeds.table("concurrency,TTFT avg (ms),p99\n4,20,30\n");
        assertThat(table.observations())
                .extracting(each -> each.metric().name())
                .containsExactly("ttft_mean", "ttft_p99");
        assertThat(table.notes()).containsExactly("'p99': taken as TTFT, which the other columns are.");
        assertThatThrownBy(() -> Seeds.table("concurrency,TTFT avg (ms),ITL avg (ms),p99\n4,20,9,30\n"))
                .as("one of two")
                .hasMessageContaining("has a column 'p99' that is not understood");
    }

    @Test
    void changesAlone_areKeptForWhoKnowsTheNumbers() {
        PublishedTable table = Seeds.table("metric,Llama\nThroughput,+25%\nTTFT P50,-55%\n");
        assertThat(table.observations()).isEmpty();
        assertThat(table.stated())
                .extracting(each -> each.metric().name() + " " + each.figure().text())
                .containsExactly("output_throughput 25", "ttft_p50 -55");
    }

    @Test
    void documentWithOneTableThatIsUnderstood_keepsThatOne() {
        PublishedDocument document = PublishedDocument.of(TableText.of("d.md", """
            | a | b |
            |---|---|
            | 1 | 2 |

            | concurrency | TTFT p50 (ms) |
            |---|---|
            | 4 |

            | concurrency | TTFT p50 (ms) |
            |---|---|
            | 4 | 20 |
            """), Map.of());
        assertThat(document.tables()).hasSize(1);
        assertThat(document.skipped())
                .satisfiesExactlyInAnyOrder(
                        torn -> assertThat(torn).startsWith("Line 7 has 1 cell, where its table has 2 columns"),
                        unknown -> assertThat(unknown).startsWith("The table at line 1 has a column 'a' that is not"));
    }

    @Test
    void metricsInRows_areReadByColumnOfModelOrArm() {
        PublishedTable table = Seeds.table("""
            ### chunked_prefill
            | Metric | Llama | Qwen3 |
            |---|---|---|
            | Throughput (tok/s) | 22.5 -> 219.3 (+874 %) | 16.8 |
            | latency P50 (s) | 294.249 | 332.746 |
            """);
        assertThat(table.comparisons()).hasSize(1);
        Comparison only = table.comparisons().getFirst();
        assertThat(only.where()).containsEntry("model", "Llama");
        assertThat(only.text()).isEqualTo("22.5 -> 219.3 (+874.7 %)");
        assertThat(only.wrongStatement()).contains("printed +874 %, and the numbers give +874.7 %");
        assertThat(table.observations().stream()
                        .filter(each -> each.metric().equals(Metric.percentile(Quantity.E2E, 50)))
                        .mapToDouble(Observation::value))
                .containsExactly(294_249.0, 332_746.0);
        assertThat(Seeds.table("""
            | Metric | baseline | pinned |
            |---|---|---|
            | TTFT p50 (ms) | 20 | 10 |
            """).comparisons())
                .extracting(Comparison::percent)
                .containsExactly("-50.0 %");
    }

    @Test
    void orderAndPair_sayWhichArmRanFirst() {
        PublishedTable table = Seeds.table("""
            | pair | order | arm | TTFT p50 (ms) |
            |---|---|---|---|
            | 1 | first | baseline | 20 |
            | 1 | second | pinned | 10 |
            | 2 | first | pinned | 11 |
            | 2 | second | baseline | 19 |
            | 3 | first | baseline | 20 |
            | 3 | second | baseline | 18 |
            """);
        assertThat(table.comparisons())
                .extracting(each -> each.order().orElseThrow())
                .containsExactly(PairOrder.BP, PairOrder.PB, PairOrder.AA);
        assertThat(table.comparisons())
                .extracting(Comparison::percent)
                .containsExactly("-50.0 %", "-42.1 %", "-10.0 %");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "c,TTFT p50\\n4,20;has a column 'c' that is not understood; name a metric with its unit",
                "concurrency,TTFT p50\\n"
                        + "4,20;has 'TTFT p50' without a unit; write it behind the name, as 'TTFT p50 (ms)'",
                "concurrency,TTFT p50 (ms)\\n4;has 1 cell, where its table has 2 columns",
                "concurrency,TTFT p50 (ms)\\n4,fast;has 'fast' for TTFT p50 (ms) in the row '4', which is no number",
                "concurrency,TTFT p50 (ms);has no rows",
                "concurrency,TTFT p50 (ms)\\n4,-2;has '-2' for TTFT p50 (ms), and no time, rate or count is below 0",
                "concurrency,note\\n4,x;has no number of which it says what it is",
                "arm,TTFT p50 (ms)\\na,1\\nb,2\\nc,3;has 3 arms (a, b, c) and does not say which is the baseline",
                "arm,TTFT p50 (ms)\\nBL,1\\nPIN,2\\nPIN,3;has 3 numbers for TTFT P50 at the same place",
                "concurrency,\\n4,1;has a column without a name",
                "metric,a\\nspeed,1;has a metric 'speed' that is not understood",
                "concurrency,\"x\\n4,1;opens a quote that does not end there",
            })
    void tableThatIsNotUnderstood_isRefusedInASentence(String lines, String sentence) {
        assertThatThrownBy(() -> Seeds.table(lines.replace("\\n", "\n")))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(sentence)
                .hasMessageEndingWith(".");
    }

    @Test
    void unitsInCells_count() {
        PublishedTable table = Seeds.table("concurrency,TTFT p50\n4,20 ms\n8,30 ms\n");
        assertThat(table.observations()).extracting(Observation::value).containsExactly(20.0, 30.0);
        assertThat(Seeds.table("concurrency,step\n4,0.5 s\n")
                        .observations()
                        .getFirst()
                        .value())
                .isEqualTo(500);
    }

    @Test
    void unitOfACell_standsAboveThatOfItsColumn() {
        PublishedTable table = Seeds.table("concurrency,TTFT p50 (ms)\n4,20\n8,0.5 s\n16,900 us\n");
        assertThat(table.observations()).extracting(Observation::value).containsExactly(20.0, 500.0, 0.9);
        assertThat(Seeds.table("concurrency,TTFT p50 (µs)\n4,900\n")
                        .observations()
                        .getFirst()
                        .value())
                .isEqualTo(0.9);
    }

    @Test
    void halves_areRoundedUpBySize_whateverDigitIsBeforeThem() {
        assertThat(change("1000", "1125").text(0)).isEqualTo("+13 %");
        assertThat(change("1000", "875").text(0)).isEqualTo("-13 %");
        assertThat(change("10000", "10225").text(1)).isEqualTo("+2.3 %");
        assertThat(change("1000", "1125").times(2).orElseThrow()).hasToString("1.13");
    }

    private static Change change(String from, String to) {
        return new Change(new BigDecimal(from), new BigDecimal(to));
    }

    @Test
    void observationAtAnotherPlace_isTheSameOtherwise() {
        Observation other = new Observation(
                        Map.of(),
                        Optional.of(Side.TREATMENT),
                        Optional.of("first"),
                        Optional.of("3"),
                        Metric.percentile(Quantity.TTFT, 50),
                        Figure.of("20 ms").orElseThrow(),
                        20,
                        "ms")
                .at(Map.of(Column.MODEL, "llama"));
        assertThat(other.model()).isEqualTo("llama");
        assertThat(other.side()).contains(Side.TREATMENT);
        assertThat(other.order()).contains("first");
        assertThat(other.repetition()).contains("3");
        assertThat(other.ranFirst()).isTrue();
    }
}
