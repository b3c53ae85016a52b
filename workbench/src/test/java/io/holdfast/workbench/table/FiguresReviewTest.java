package io.holdfast.workbench.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.TerminalRenderer;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.OwnFigures.Staggered;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.Settings;
import io.holdfast.workbench.table.Variants.Devices;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables of legs, variants, kernels and parts, reviewed by what their figures say about each other. */
class FiguresReviewTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void matrixOf198Legs_isCountedAndItsEmptyOnesFail() {
        PublishedTable table = Seeds.table(matrix(198, "108 + 90"));
        Outcomes outcomes = Outcomes.of(table);
        assertThat(outcomes.counts())
                .containsEntry("OK", 183)
                .containsEntry("EMPTY", 15)
                .hasSize(2);
        assertThat(183 + 15).isEqualTo(outcomes.done()).isEqualTo(198);
        assertThat(outcomes.remarks().getFirst().text())
                .isEqualTo("198 legs of 108 + 90 = 198 planned (100.0 %): 15 EMPTY, 183 OK.");
        assertThat(outcomes.remarks().getFirst().against()).isTrue();
        assertThat(Review.of(TableText.of("table", matrix(198, "108 + 90")), Settings.defaults())
                        .hasFailures())
                .isTrue();
    }

    @Test
    void failures_areGroupedByConfigurationWithTheirCommonFactors() {
        Outcomes outcomes = Outcomes.of(Seeds.table(matrix(198, "198 + 6")));
        assertThat(outcomes.failing())
                .containsExactlyInAnyOrder(
                        "b2/warm/streaming/1024tok",
                        "b2/warm/non-streaming/1024tok",
                        "b2/hot/streaming/1024tok",
                        "b2/hot/non-streaming/1024tok",
                        "b2/hot/non-streaming/2048tok");
        assertThat(outcomes.failing())
                .allSatisfy(
                        name -> assertThat(outcomes.configurations()).containsEntry(name, new Outcomes.Passes(3, 3)));
        assertThat(outcomes.commonFactors()).containsExactly("b2", "warm or hot", "1024tok or 2048tok");
        assertThat(outcomes.nearestPassing("b2/hot/non-streaming/2048tok"))
                .contains("b2/hot/streaming/2048tok", "b2/warm/non-streaming/2048tok", "b1/hot/non-streaming/2048tok")
                .doesNotContain("b2/warm/streaming/2048tok");
        assertThat(outcomes.nearestPassing("b2/warm/streaming/1024tok")).contains("b2/cold/streaming/1024tok");
        assertThat(outcomes.remarks().getFirst().text())
                .startsWith("PARTIAL: 198 legs of 198 + 6 = 204 planned (97.1 %)");
    }

    @Test
    void killedRun_isPartialWithItsShare() {
        Outcomes outcomes = Outcomes.of(Seeds.table(matrix(115, "198 + 6").replace(",0,0\n", ",8.1,900\n")));
        assertThat(outcomes.remarks().getFirst().text())
                .startsWith("PARTIAL: 115 legs of 198 + 6 = 204 planned (56.4 %): ");
        assertThat(outcomes.remarks().getFirst().against()).isTrue();
    }

    @Test
    void waits_haveMedianShareAtTheCapAndTheirHours() {
        CoolDown some = CoolDown.of(Seeds.table(waits(198, 72)));
        assertThat(some.median()).isEqualTo(19);
        assertThat(some.atCap()).isEqualTo(72);
        assertThat(some.text()).startsWith("Median 19 s; 72 of 198 waits (36 %) ended at the cap of 242 s");
        assertThat(some.firstOfThree()).isEqualTo(-1);
        CoolDown all = CoolDown.of(Seeds.table(waits(114, 114)));
        assertThat(all.hours()).isCloseTo(7.7, within(0.05));
        assertThat(all.text())
                .contains("114 of 114 waits (100 %)", "7.7 h in all")
                .contains("After leg 3, the third at the cap in a row, up to 7.5 h more were to be expected.");
    }

    @Test
    void staggeredUsers_waitEquallyLongOnceDecodingIsCounted() {
        PublishedTable table = Seeds.tables("s1/staggered.csv").getFirst();
        List<Place> modes = Place.of(table);
        Staggered sequential = Staggered.of(modes.getFirst());
        Staggered batched = Staggered.of(modes.getLast());
        assertThat(sequential).isEqualTo(new Staggered(16_877, 16_477, 38_982));
        assertThat(batched).isEqualTo(new Staggered(16_888, 34_067, 38_884));
        assertThat(sequential.withoutDecoding()).isEqualTo(33_354);
        assertThat(sequential.oneAfterTheOther()).isCloseTo(36_168, within(1e-6));
        assertThat(batched.after(2_000)).isEqualTo(36_067);
        assertThat(sequential.throughput(128)).isCloseTo(3.28, within(0.005));
        assertThat(batched.throughput(128)).isCloseTo(3.29, within(0.005));
        assertThat(OwnFigures.remarks(table))
                .singleElement()
                .satisfies(remark -> assertThat(remark.text()).contains("36.17 s", "33.35 s"));
        assertThat(new Staggered(0, 0, 12_800).throughput(2 * 64)).isEqualTo(10.0);
    }

    @Test
    void twoUsersWithFewerTokensThanOne_areNotPlausible() {
        String rows = "concurrency,context,System TPS (tok/s)\n1,4096,7\n2,4096,%s\n";
        assertThat(OwnFigures.remarks(Seeds.table(rows.formatted("3.3"))))
                .singleElement()
                .satisfies(remark -> {
                    assertThat(remark.topic()).isEqualTo(Topic.PLAUSIBILITY);
                    assertThat(remark.text()).isEqualTo("system tps is 3.3, less than the 7.0 of one user alone.");
                });
        assertThat(OwnFigures.remarks(Seeds.table(rows.formatted("8")))).isEmpty();
    }

    @Test
    void devices_haveSpeedUpsAndEfficiencyAgainstTheReference() {
        PublishedTable table = Seeds.tables("s4/expected_scaling.csv").getFirst();
        List<Devices> found = Variants.devices(table);
        assertThat(found.stream().map(Devices::text))
                .containsExactly(
                        "TTFT 1.89x, ITL 1.75x, total 1.81x, output throughput 1.79x; efficiency 89.6 %.",
                        "TTFT 3.19x, ITL 2.80x, total 2.80x, output throughput 2.78x; efficiency 69.4 %.",
                        "TTFT 2.57x, ITL 1.91x, total 1.93x, output throughput 1.92x; efficiency 47.9 %: AVOID, below"
                                + " 50 %.");
        assertThat(found.getLast().name()).isEqualTo("TP 4, cross-NUMA");
        // As they were printed, with one digit less.
        assertThat(Stream.of("185/98/1", "42/24/2", "185/58/1", "42/15/1", "185/72/1", "42/22/1")
                        .map(each -> each.split("/", -1))
                        .map(each -> new Change(new BigDecimal(each[1]), new BigDecimal(each[0]))
                                        .times(Integer.parseInt(each[2]))
                                        .orElseThrow()
                                + "x"))
                .containsExactly("1.9x", "1.75x", "3.2x", "2.8x", "2.6x", "1.9x");
        assertThatThrownBy(() -> Variants.remarks(Seeds.table("tp,throughput (tok/s),name\n4,1,a\n4,2,b\n")))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("no row is the reference");
    }

    @Test
    void throughputOverDevices_isDrawnWithItsNamesIn80Columns() {
        List<String> plot = TerminalRenderer.lines(Document.titled("")
                .add(Variants.plot(Seeds.tables("s4/expected_scaling.csv").getFirst())
                        .orElseThrow())
                .build());
        assertThat(plot).allMatch(line -> line.length() <= 80).containsExactlyElementsOf("""
            output throughput (tok/s)
            2000 │                                                           * NUMA 0
                 │
                 │
                 │
                 │                                                           * cross-NUMA
                 │                    * NVLink pair
                 │
                 │
                 │* one device
                 │
                 │
                 │
                 │
               0 │
                 └─────────────────────────────────────────────────────────────────────────
                  1                   2                                      4  TP
            """.lines()
                .toList());
    }

    @Test
    void backends_haveALeadAndNoWinnerInSingleRuns() {
        PublishedTable table = Seeds.tables("s4/expected_backends.csv").getFirst();
        List<Variants.Ahead> pairs = Variants.pairs(table);
        assertThat(pairs.stream().map(each -> Percents.whole(each.lead()))).containsExactly("+14 %", "+11 %", "+11 %");
        assertThat(pairs).allSatisfy(each -> {
            assertThat(each.better()).isEqualTo("FlashInfer");
            assertThat(each.hasWinner()).isFalse();
        });
        assertThat(pairs.getFirst().text()).isEqualTo("time: FlashInfer +14 % in single runs, so there is no winner.");
        assertThat(Variants.remarks(table).getLast().text())
                .isEqualTo("FlashInfer is ahead in all 3, by +11 to +14 %, and less with larger batches.");
    }

    @Test
    void repeatedBackends_haveAWinnerWhereTheIntervalExcludesZero() {
        assertThat(repeated(0.42, 0.43, 0.42, 0.44).text())
                .isEqualTo("time: A +12 %, the winner: its 95 % interval excludes 0.");
        assertThat(repeated(0.42, 0.60, 0.40, 0.55).text()).endsWith("within the noise, so there is no winner.");
        assertThat(repeated(0.48, 0.48, 0.48, 0.48).text()).isEqualTo("time: no winner, both are equal.");
    }

    @Test
    void backendWithMoreThroughput_isTheOneAhead() {
        Variants.Ahead only = Variants.pairs(Seeds.table("backend,batch,throughput (tok/s)\nA,8,100\nB,8,125\n"))
                .getFirst();
        assertThat(only.better()).isEqualTo("B");
        assertThat(only.text()).startsWith("output throughput: B +25 %");
    }

    @Test
    void kernels_haveTheirTopFiveAndTheirSum() {
        assertThat(OwnFigures.remarks(Seeds.tables("s4/expected_kernels.csv").getFirst()))
                .singleElement()
                .satisfies(remark -> assertThat(remark.text())
                        .isEqualTo("Top 5: flash_attention_fwd_sm80 45 %, cublas_gemm_fp16 32 %,"
                                + " flash_attention_decode_sm80 12 %, rms_norm 5 %, embedding 2 %; all shares add up"
                                + " to 96 %."));
        assertThat(OwnFigures.remarks(Seeds.tables("s4/expected_hits.csv").getFirst())
                        .getFirst()
                        .text())
                .endsWith("all shares add up to 100 %.");
        assertThat(OwnFigures.remarks(Seeds.table("kernel,share (%)\na,60\nb,60\n"))
                        .getFirst()
                        .against())
                .isTrue();
    }

    @Test
    void partsThatDoNotAddUp_areSaid() {
        assertThat(OwnFigures.remarks(Seeds.tables("s4/expected_story.csv").getFirst()))
                .singleElement()
                .satisfies(remark -> {
                    assertThat(remark.against()).isTrue();
                    assertThat(remark.text()).isEqualTo("The parts add up to 1150.6 ms, and the total is 1152.0.");
                });
        assertThat(OwnFigures.remarks(Seeds.table("name,time (ms)\na,1.5\nb,2.5\ntotal,4.1\n")))
                .isEmpty();
        // The mean of a line is that of its ends.
        assertThat(Figure.rounded((8.2 + 10.3) / 2, 2)).isEqualByComparingTo("9.25");
    }

    @Test
    void memory_isBoundAboveHalfOfItsPeak() {
        assertThat(OwnFigures.memoryBound(0.82)).endsWith("above 50 %: memory-bound.");
        assertThat(OwnFigures.memoryBound(0.45)).endsWith("not memory-bound.");
        assertThat(OwnFigures.memoryBound(Double.NaN)).isEqualTo("memory: not measured.");
        assertThat(OwnFigures.remarks(Seeds.tables("s4/expected_phases.md").getFirst()))
                .extracting(remark -> remark.where() + ": " + remark.text())
                .containsExactly(
                        "prefill: memory at 72 % of its peak, above 50 %: memory-bound.",
                        "decode: memory at 82 % of its peak, above 50 %: memory-bound.",
                        "unmeasured: memory: not measured.",
                        "prefill to decode: TC -17 points, HBM +10 points.");
    }

    @Test
    void transfersInOtherUnits_areSaidWithTheirFactor() {
        assertThat(OwnFigures.transferMillis(16_384, 300e9)).isCloseTo(5.5e-5, within(5e-7));
        assertThat(OwnFigures.remarks(Seeds.table("name,size (B),bandwidth (GB/s),time (ms)\nreduce,16384,300,0.05\n")))
                .singleElement()
                .satisfies(remark -> assertThat(remark.text())
                        .isEqualTo("16384 bytes at 300000000000 bytes a second are 5.5e-05 ms, and 0.05 ms is"
                                + " printed, 916 times as much."));
    }

    @Test
    void speedUps_areThoseOfTheirNumbers() {
        PublishedTable table = Seeds.table("""
            | scenario | prefill (ms) BL -> PIN |
            |---|---|
            | shared prompt | 38 -> 15 (2.5x) |
            | longer prompt | 22 -> 8.2 (2.7x) |
            | wrong | 30 -> 10 (2.5x) |
            """);
        assertThat(TableReview.arithmetic(table.comparisons()).getFirst().text())
                .startsWith("1 of 3 printed changes are not what the numbers give")
                .contains("printed 2.5x, and the numbers give 3.00x");
    }

    @Test
    void ledgerOfClaims_takesFiveWordsAndNoOther() throws IOException {
        Path file = folder.resolve("claims.md");
        Files.writeString(file, """
            | claim | status | evidence |
            |---|---|---|
            | pins hold what they are asked for | Confirmed | 11 tests; a code review |
            | the route answers | confirmed | POST /hicache/pin_blocks 200, pinned_count 213 |
            | 76 % at first | Invalid | other tokens than those that were pinned |
            | 20 to 30 % at 32 | Suspect | as large at memory fraction 0.40 |
            | 67 % at 64 | Directionally correct | both orders agree, the size does not |
            | less spread | Likely real | std 1 to 16 ms against 10 to 33 ms |
            """);
        List<Claim> claims = Claim.read(file);
        assertThat(claims)
                .extracting(claim -> claim.status().text())
                .containsExactly(
                        "Confirmed", "Confirmed", "Invalid", "Suspect", "Directionally correct", "Likely real");
        assertThat(claims.getFirst().evidence()).containsExactly("11 tests", "a code review");
        Files.writeString(file, "| claim | status | evidence |\n|---|---|---|\n| x | Probably | y |\n");
        assertThatThrownBy(() -> Claim.read(file))
                .hasMessageContaining("has the status 'Probably'; write one of Confirmed, Invalid, Suspect,");
        Files.writeString(file, "| claim | status | evidence |\n|---|---|---|\n| x | Suspect | |\n");
        assertThatThrownBy(() -> Claim.read(file)).hasMessageContaining("lacks one of them");
        Files.writeString(file, "| claim | status |\n|---|---|\n| x | Suspect |\n");
        assertThatThrownBy(() -> Claim.read(file)).hasMessageContaining("has no column 'evidence'");
    }

    @Test
    void criteria_areMetNotMetOrNotMeasured() throws IOException {
        Path file = folder.resolve("criteria.csv");
        Files.writeString(file, """
            criterion,state,evidence
            hit rate measured,met,radix report
            gap of backends quantified,not met,single runs
            stalls explained,not measured,no profiler
            """);
        assertThat(Criterion.read(file))
                .extracting(Criterion::state)
                .containsExactly(Criterion.State.MET, Criterion.State.NOT_MET, Criterion.State.NOT_MEASURED);
        Files.writeString(file, "criterion,state,evidence\nx,partly,y\n");
        assertThatThrownBy(() -> Criterion.read(file))
                .hasMessageContaining("has the state 'partly'; write one of met, not met, not measured.");
    }

    private static Variants.Ahead repeated(double... of) {
        StringBuilder table = new StringBuilder("backend,repetition,time (ms)\n");
        for (int i = 0; i < of.length; i++) {
            table.append("A,").append(i).append(',').append(of[i]).append('\n');
            table.append("B,").append(i).append(",0.48\n");
        }
        return Variants.pairs(Seeds.table(table.toString())).getFirst();
    }

    /** Legs of batch 1 with six contexts and of batch 2 with five; those that had no output are said to be a warning. */
    private static String matrix(int legs, String planned) {
        List<String> rows = new ArrayList<>();
        for (String batch : List.of("b1", "b2")) {
            for (String state : List.of("cold", "warm", "hot")) {
                for (String mode : List.of("streaming", "non-streaming")) {
                    for (int context : new int[] {1024, 2048, 4096, 8192, 16384, 512}) {
                        boolean empty = batch.equals("b2")
                                && ((context == 1024 && !state.equals("cold"))
                                        || (context == 2048 && state.equals("hot") && mode.equals("non-streaming")));
                        for (int pass = 1; pass <= 3 && (batch.equals("b1") || context != 512); pass++) {
                            rows.add(String.format(
                                    Locale.ROOT,
                                    "%s/%s/%s/%dtok/pass%d,%s",
                                    batch,
                                    state,
                                    mode,
                                    context,
                                    pass,
                                    empty ? "WARN,0,0" : "OK,8.1,900"));
                        }
                    }
                }
            }
        }
        return "# matrix\n# planned: " + planned + "\nleg,status,System TPS (tok/s),TTFT (ms)\n"
                + String.join("\n", rows.subList(0, legs)) + "\n";
    }

    private static String waits(int legs, int atCap) {
        StringBuilder table = new StringBuilder("# waits\n# cool-down cap: 242 s\nleg,cool-down (s)\n");
        int capped = 0;
        for (int i = 0; i < legs; i++) {
            boolean cap = atCap == legs || (capped < atCap && i % 2 == 1);
            capped += cap ? 1 : 0;
            table.append("leg")
                    .append(i)
                    .append(',')
                    .append(cap ? 241 + i % 3 : 19)
                    .append('\n');
        }
        return table.toString();
    }

    @Test
    void metricOfEveryKind_hasItsDirection() {
        assertThat(Column.value("FlashInfer time (ms)").orElseThrow().metric().better())
                .isEqualTo(Metric.Better.LOWER);
        assertThat(Column.value("HBM (%)").orElseThrow().metric().better()).isEqualTo(Metric.Better.NEITHER);
        assertThat(Column.value("system TPS (tok/s)").orElseThrow().metric().better())
                .isEqualTo(Metric.Better.HIGHER);
    }
}
