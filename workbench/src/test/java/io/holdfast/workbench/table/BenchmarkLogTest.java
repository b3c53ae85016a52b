package io.holdfast.workbench.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.table.BenchmarkLog.Appended;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.Section;
import io.holdfast.workbench.table.Review.Settings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A published log of six phases, five workloads and three models, kept by this class from its numbers. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BenchmarkLogTest {
    private static final Set<String> CONTROLS_OF_8 =
            Set.of("baseline", "continuous_batching", "paged_attention", "chunked_prefill");
    private static final String ID = "0".repeat(64);

    @TempDir
    private Path folder = Path.of("");

    private Path log = Path.of("");

    /** The log once all phases are in it. */
    private byte[] whole = {};

    @BeforeAll
    void keep(@TempDir Path own) throws IOException {
        Path file = own.resolve("LOG.md");
        for (int phase = 4; phase <= 9; phase++) {
            BenchmarkLog.open(file).append(Integer.toString(phase), List.of(Seeds.file("s3/phase" + phase + ".csv")));
        }
        whole = Files.readAllBytes(file);
    }

    @BeforeEach
    void lay() throws IOException {
        log = folder.resolve("LOG.md");
        Files.write(log, whole);
    }

    @Test
    void allThirtyResultRows_areReadBackUnchanged() throws IOException {
        TableText.Contents contents = TableText.read(log);
        for (int phase = 4; phase <= 9; phase++) {
            String name = "Phase " + phase;
            List<PublishedTable> kept = contents.tables().stream()
                    .filter(table ->
                            table.headings().contains(name) && !table.header().contains("better"))
                    .map(table -> PublishedTable.of(table, PublishedTable.Told.nothing()))
                    .toList();
            assertThat(kept).hasSize(5);
            List<String> back = kept.stream()
                    .flatMap(table -> table.observations().stream()
                            .map(each -> table.name() + " " + each.where().get("model") + " "
                                    + each.metric().name() + " " + each.figure().text() + " " + each.unit()))
                    .toList();
            List<String> given = Seeds.tables("s3/phase" + phase + ".csv").getFirst().observations().stream()
                    .map(each ->
                            each.where().get("workload") + " " + each.where().get("model") + " "
                                    + each.metric().name() + " " + each.figure().text() + " " + each.unit())
                    .toList();
            assertThat(back).containsExactlyInAnyOrderElementsOf(given).hasSize(15 * 7 - 3);
        }
        assertThat(Files.readString(log))
                .contains(
                        "| output throughput (tok/s) | 88.5 | 67.4 | 91.9 |",
                        "| E2E P50 (s) | 2.890 | 3.767 | 2.748 |");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "4|5|continuous_batching|output_throughput|0|+25 +26 +8",
                "4|5|continuous_batching|ttft_p50|0|-55 -45 -30",
                "4|5|continuous_batching|ttft_p99|0|-55 -44 -33",
                "4|5|continuous_batching|itl_p50|0|+24 +22 +22",
                "4|5|continuous_batching|itl_p99|0|+205 +163 +38",
                "4|5|baseline|ttft_p50|1|-59.3 -53.8 -66.7",
                "4|5|continuous_batching|output_throughput|1|+24.8 +25.7 +7.8",
                "4|6|paged_attention|output_throughput|1|+31.5 +17.1 +12.5",
                "4|6|paged_attention|ttft_p50|0|-66 -41 -62",
                "4|6|paged_attention|itl_p50|1|+164.7 +100.0 +179.2",
                "4|5|chunked_prefill|output_throughput|1|+31.2 +42.3 +14.9",
                "4|5|chunked_prefill|itl_p99|1|+288.9 +144.9 +120.7",
                "4|5|prefix_caching|output_throughput|1|-14.5 -51.1 -9.1",
                "5|6|continuous_batching|ttft_p50|1|-92.7 -94.4 -95.1",
                "5|6|chunked_prefill|output_throughput|1|-88.6 -87.8 +15.1",
                "6|7|baseline|output_throughput|1|+0.7 -25.0 +0.7",
                "6|7|baseline|itl_p99|1|0.0 +85.0 -6.7",
                "6|7|continuous_batching|output_throughput|1|+1.6 +1.9 +1.8",
                "6|7|paged_attention|output_throughput|1|+3.0 +1.3 +0.6",
                "6|7|chunked_prefill|output_throughput|1|+874.7 +781.5 -1.4",
                "6|7|chunked_prefill|output_throughput|0|+875 +782 -1",
                "6|7|chunked_prefill|itl_p50|1|-93.5 -92.6 +1.3",
                "6|7|chunked_prefill|itl_p50|0|-93 -93 +1",
                "6|7|chunked_prefill|itl_p99|0|-87 -91 -13",
                "6|7|chunked_prefill|ttft_p50|0|-91 -91 +16",
                "6|7|chunked_prefill|ttft_p99|0|-94 -92 +3",
                "6|7|prefix_caching|output_throughput|1|+18.2 +608.6 -0.1",
                "7|8|baseline|output_throughput|1|+2.0 +36.9 +0.9",
                "7|8|continuous_batching|output_throughput|1|+0.8 +0.5 -2.5",
                "7|8|continuous_batching|ttft_p50|1|-8.6 0.0 +10.0",
                "7|8|paged_attention|output_throughput|1|+1.6 +1.1 -3.5",
                "7|8|paged_attention|itl_p99|1|-2.3 -8.9 +12.8",
                "7|8|chunked_prefill|output_throughput|1|+0.6 +0.4 +1.2",
                "7|8|prefix_caching|output_throughput|1|+10.7 +7.5 0.0",
                "7|8|prefix_caching|ttft_p50|0|-28 -12 -7",
                "7|8|prefix_caching|ttft_p99|0|-16 -10 -1",
                "7|8|prefix_caching|itl_p50|1|-2.9 0.0 +1.4",
                "7|8|prefix_caching|itl_p99|0|-47 -46 -6",
                "8|9|baseline|output_throughput|1|-37.7 -34.7 -42.3",
                "8|9|continuous_batching|output_throughput|0|-16 -41 -5",
                "8|9|paged_attention|output_throughput|1|-7.7 -46.1 +2.5",
                "8|9|chunked_prefill|output_throughput|1|-1.8 +4.8 -4.7",
                "8|9|prefix_caching|output_throughput|1|-0.3 -14.2 +2.0",
                "8|9|baseline|itl_p50|0|+50 +53 +82",
                "8|9|continuous_batching|itl_p50|0|+38 +78 +6",
                "8|9|paged_attention|itl_p50|0|0 +82 -3",
                "8|9|chunked_prefill|itl_p50|0|0 -12 0",
                "8|9|prefix_caching|itl_p50|0|-1 +16 -3",
                "8|9|continuous_batching|ttft_p50|1|+43.6 +594.3 +3.2",
                "8|9|continuous_batching|ttft_p99|1|+240.8 +235.0 +34.1",
            })
    void changesBetweenPhases_areReproducedToTheLastDigit(
            int from, int to, String workload, String metric, int decimals, String percents) {
        assertThat(changes(from, to, workload).stream()
                        .filter(each -> each.metric().name().equals(metric))
                        .map(each -> each.change().text(decimals).replace(" %", ""))
                        .collect(Collectors.joining(" ")))
                .isEqualTo(percents);
    }

    @Test
    void printedChanges_areAllReproducedExceptThreeThatWereRoundedOtherwise() {
        PublishedDocument published =
                PublishedDocument.of(TableText.read(Seeds.document("S3-serving-log.md")), Map.of());
        Phases phases = Phases.of(published.tables(), published.prose());
        List<String> found = published.tables().stream()
                .flatMap(table -> phases.arithmetic(table).stream())
                .map(Remark::text)
                .toList();
        assertThat(found)
                .containsExactly(
                        "All 15 printed changes are what the numbers give.",
                        "All 3 printed changes are what the numbers give.",
                        "3 of 15 printed changes are not what the numbers give, rounded half up: model Llama, output"
                                + " throughput: printed +874 %, and the numbers give +874.7 %; model Llama, ITL P50:"
                                + " printed -94 %, and the numbers give -93.5 %; model Gemma3, ITL P50: printed 0 %,"
                                + " and the numbers give +1.3 %.",
                        "All 15 printed changes are what the numbers give.",
                        "All 15 printed changes are what the numbers give.",
                        "All 15 printed changes are what the numbers give.");
    }

    @Test
    void tablesOfALog_areResultsThatTheNumbersOfThePublishedOneEqual() throws IOException {
        List<String> notes = new ArrayList<>();
        List<Named> published =
                BenchmarkLog.results(Seeds.document("S3-serving-log.md"), List.of("4", "Phase 6", "9"), notes);
        List<Named> own = BenchmarkLog.results(log, List.of("4", "6", "9"), new ArrayList<>());
        assertThat(published).extracting(Named::name).containsExactly("Phase 4", "Phase 6", "Phase 9");
        for (int i = 0; i < own.size(); i++) {
            assertThat(published.get(i).results().results().stream()
                            .collect(Collectors.toMap(LoadResult::id, LoadResult::measures)))
                    .isEqualTo(own.get(i).results().results().stream()
                            .collect(Collectors.toMap(LoadResult::id, LoadResult::measures)))
                    .hasSize(15);
        }
        assertThat(notes)
                .contains("Phase 6, prefix_caching, Qwen3: Qwen3 ran with blocks 1536 here and with blocks 1024"
                        + " elsewhere in this phase.");
        assertThatThrownBy(() -> BenchmarkLog.results(log, List.of("3"), notes))
                .hasMessageContaining("There is no phase '3' in ")
                .hasMessageContaining("there are 'Phase 4', 'Phase 5'");
    }

    @Test
    void tableOfChanges_saysWhichDirectionIsBetter() throws IOException {
        assertThat(Files.readString(log))
                .contains("Against Phase 4, single runs both:")
                .contains("| metric | better | Llama | Qwen3 | Gemma3 |")
                .contains("212.9 -> 104.2 (-51.1 %, worse)")
                .contains("| TTFT P50 (ms) | lower | 86 -> 35 (-59.3 %, better) |")
                .contains("| errors | lower | 0 -> 0 | 0 -> 0 | 0 -> 0 |");
    }

    @Test
    void modelWithOtherSettingsInOneWorkload_isNamedBelowItsTable() throws IOException {
        assertThat(Files.readString(log))
                .contains("| blocks | 2048 | 1536 | 2048 |")
                .contains("* Qwen3 ran with blocks 1536 here and with blocks 1024 elsewhere in this phase.");
    }

    @Test
    void whatWasInTheFile_staysByteForByte() throws IOException {
        for (String before : List.of(
                "# Mine\r\n\r\nText | with bars, no newline at its end",
                "# Mine\n\n## Phase 1\n\nNothing.\n\n| a | b |\n|---|---|\n| x | y |\n\n\n",
                "\u00e4\u2192 \n")) {
            Path own = folder.resolve("own.md");
            Files.writeString(own, before);
            BenchmarkLog.open(own).append("2", List.of(Seeds.file("s3/phase4.csv")));
            byte[] first = Files.readAllBytes(own);
            assertThat(new String(first, StandardCharsets.UTF_8)).startsWith(before);
            BenchmarkLog.open(own).append("3", List.of(Seeds.file("s3/phase5.csv")));
            assertThat(Files.readAllBytes(own)).startsWith(first);
            assertThat(TableText.read(own).tables()).hasSizeGreaterThanOrEqualTo(15);
            assertThat(folder.resolve("own.md.next")).doesNotExist();
            Files.delete(own);
        }
    }

    @Test
    void logThatSomebodyElseChangedMeanwhile_isLeftAsItIs() throws IOException {
        BenchmarkLog open = BenchmarkLog.open(log);
        Files.writeString(log, Files.readString(log) + "\nA line by hand.\n");
        byte[] theirs = Files.readAllBytes(log);
        assertThatThrownBy(() -> open.append("10", List.of(Seeds.file("s3/phase9.csv"))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("changed meanwhile; do it again");
        assertThat(Files.readAllBytes(log)).isEqualTo(theirs);
    }

    @Test
    void redefinedWorkload_isRefusedAndTheLogStays() throws IOException {
        byte[] before = Files.readAllBytes(log);
        String csv = Files.readString(Seeds.file("s3/phase5.csv"));
        Path other = folder.resolve("other.csv");
        Files.writeString(other, csv.replaceAll("paged_attention,[0-9a-f]{64}", "paged_attention," + ID));
        assertThatThrownBy(() -> BenchmarkLog.open(log).append("10", List.of(other)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(
                        "The workload 'paged_attention' was redefined: in Phase 9 its requests had the id")
                .hasMessageContaining("and now 000000000000");
        assertThat(Files.readAllBytes(log)).isEqualTo(before);
    }

    @Test
    void resultsWithoutIdOrWithTwo_areRefused() throws IOException {
        Path results = folder.resolve("results.csv");
        Files.writeString(results, "workload,model,throughput (tok/s)\na,m,1\n");
        assertThatThrownBy(() -> BenchmarkLog.open(log).append("10", List.of(results)))
                .hasMessageContaining("has no id; add a column 'workload id' with the SHA-256");
        Files.writeString(
                results, "workload,id,model,throughput (tok/s)\na," + ID + ",m,1\na," + "1".repeat(64) + ",n,1\n");
        assertThatThrownBy(() -> BenchmarkLog.open(log).append("10", List.of(results)))
                .hasMessageContaining("has 2 ids in these results");
        Files.writeString(
                results,
                "workload,id,model,throughput (tok/s)\na," + ID + ",m,1\n\nworkload,id,model,speed\nb," + ID
                        + ",m,1\n");
        assertThatThrownBy(() -> BenchmarkLog.open(log).append("10", List.of(results)))
                .as("one of two tables")
                .hasMessageContaining("are not all understood. The table at line 4 has a column 'speed'");
        assertThatThrownBy(() -> BenchmarkLog.open(log).append("9", List.of(Seeds.file("s3/phase9.csv"))))
                .hasMessageContaining("has a 'Phase 9' already");
        assertThatThrownBy(() -> BenchmarkLog.open(log).append(" ", List.of(results)))
                .hasMessageContaining("has no name");
    }

    @Test
    void resultFileOfAPreset_isAppendedWithItsMetrics() throws IOException {
        Map<Metric, Double> values = new LinkedHashMap<>();
        values.put(Metric.ERRORS, 1.0);
        values.put(Metric.OUTPUT_THROUGHPUT, 88.46);
        values.put(Metric.percentile(Quantity.TTFT, 50), 85.5);
        values.put(Metric.percentile(Quantity.TTFT, 95), 87.2);
        values.put(Metric.percentile(Quantity.E2E, 50), 2890.4);
        Path json = folder.resolve("serving.json");
        new ResultFile(
                        "serving",
                        "Tiny",
                        "2026-11-25T07:00:00Z",
                        Map.of(),
                        List.of(new LoadResult(
                                "baseline",
                                "baseline",
                                Optional.of(ID),
                                "holdfast",
                                Map.of("concurrency", "1"),
                                10,
                                Map.of("timeout", 1),
                                new Measures(values))))
                .write(json);
        Path own = folder.resolve("own.md");
        Appended appended = BenchmarkLog.open(own).append("A", List.of(json));
        assertThat(appended.models()).containsExactly("Tiny");
        assertThat(Files.readString(own))
                .startsWith("# Benchmark log\n\n## Phase A\n")
                .contains("concurrency: 1, workload id: " + ID)
                .contains("| output throughput (tok/s) | 88.5 |")
                .contains("| TTFT P50 (ms) | 86 |", "| TTFT P95 (ms) | 87 |")
                .contains("| E2E P50 (s) | 2.890 |")
                .contains("| errors | 1 |");
        assertThat(Phases.of(Seeds.tablesOf(own), List.of()).phases().getFirst().workloads())
                .containsExactly("baseline");
    }

    @Test
    void appended_namesWhatBecameWorseWorstFirst() {
        Path own = folder.resolve("own.md");
        BenchmarkLog.open(own).append("4", List.of(Seeds.file("s3/phase4.csv")));
        Appended appended = BenchmarkLog.open(own).append("5", List.of(Seeds.file("s3/phase5.csv")));
        assertThat(appended.workloads()).hasSize(5).containsEntry("baseline", Optional.of("Phase 4"));
        assertThat(appended.models()).containsExactly("Llama", "Qwen3", "Gemma3");
        assertThat(appended.worse().getFirst()).isEqualTo("prefix_caching, Qwen3 ITL P99 40 -> 191 (+377.5 %)");
        assertThat(appended.worse().stream()
                        .filter(each -> each.startsWith("prefix_caching") && each.contains("throughput")))
                .containsExactly(
                        "prefix_caching, Qwen3 output throughput 212.9 -> 104.2 (-51.1 %)",
                        "prefix_caching, Llama output throughput 300.0 -> 256.4 (-14.5 %)",
                        "prefix_caching, Gemma3 output throughput 283.7 -> 258.0 (-9.1 %)");
    }

    @Test
    void singleRuns_areCalledSoInLogAndReview() throws IOException {
        assertThat(Files.readString(log).lines().filter("Single runs: no figure here has an interval."::equals))
                .hasSize(6);
        assertThat(section("Phase 6 against Phase 5").remarks()).anySatisfy(remark -> {
            assertThat(remark.topic()).isEqualTo(Topic.REPETITIONS);
            assertThat(remark.against()).isTrue();
        });
    }

    @Test
    void throughputAgainstMedianLatency_disagreesForQwen3OfPhase7Alone() {
        List<String> found = review().sections().stream()
                .flatMap(section -> section.remarks().stream()
                        .filter(remark -> remark.topic() == Topic.CONSISTENCY)
                        .map(remark -> section.name() + ": " + remark.where() + ": " + remark.text()))
                .toList();
        assertThat(found)
                .singleElement()
                .asString()
                .startsWith("Phase 7 against Phase 6: baseline, Qwen3: ")
                .contains("47.2 tok/s", "256 tokens in the median latency of 3.944 s are 64.9 (-27.3 %)");
    }

    @Test
    void longTails_areNamedForQwen3AndGemma3OfPhase6() {
        assertThat(section("Phase 6 against Phase 5").remarks().stream()
                        .filter(remark ->
                                remark.topic() == Topic.TAIL && remark.where().startsWith("continuous_batching"))
                        .map(Remark::where))
                .containsExactly("continuous_batching, Qwen3", "continuous_batching, Gemma3");
    }

    @Test
    void controlsOfPhase7_stayWithinMarginsExceptQwen3Baseline() {
        Section found = section("Phase 7 against Phase 6", "baseline", "continuous_batching", "paged_attention");
        String moved = SweepReviewTest.texts(found, Topic.CONTROLS).getFirst();
        assertThat(moved)
                .contains("baseline, Qwen3 output throughput 62.9 -> 47.2 (-25.0 %)")
                .contains("baseline, Qwen3 ITL P99 20 -> 37 (+85.0 %)")
                .doesNotContain("continuous_batching, Llama output throughput")
                .doesNotContain("paged_attention, Gemma3 output throughput");
    }

    @Test
    void gainOfPhase8_standsBesideWhatTheControlsDid() {
        Section found = section("Phase 8 against Phase 7", CONTROLS_OF_8.toArray(String[]::new));
        List<String> texts = SweepReviewTest.texts(found, Topic.CONTROLS);
        assertThat(texts.getFirst())
                .contains("baseline, Qwen3 output throughput 47.2 -> 64.6 (+36.9 %)")
                .contains("continuous_batching, Gemma3 TTFT P50 140 -> 154 (+10.0 %)")
                .contains("paged_attention, Gemma3 ITL P99 86 -> 97 (+12.8 %)");
        assertThat(texts)
                .contains("output throughput 206.2 -> 221.6 (+7.5 %), and the controls changed by up to +36.9 %"
                        + " (baseline): above the others (+1.1 %) only if that one is explained.")
                .contains("output throughput 299.2 -> 331.3 (+10.7 %), and the controls changed by up to +2.0 %"
                        + " (baseline): above that.");
    }

    @Test
    void controlsThatStay_areUndecidedAsSingleRuns() {
        List<Comparison> changes = changes(6, 7, "continuous_batching").stream()
                .filter(each -> each.metric().equals(Metric.OUTPUT_THROUGHPUT))
                .toList();
        assertThat(new PhaseReview(changes, Set.of(), List.of(), Set.of("continuous_batching")).remarks())
                .filteredOn(remark -> remark.topic() == Topic.CONTROLS)
                .singleElement()
                .satisfies(remark -> assertThat(remark.text())
                        .startsWith("All 3 controls stayed within 5 %; as single runs that leaves undecided"));
    }

    @Test
    void regressionsNobodyCommented_areListedWorstFirst() throws IOException {
        Files.writeString(
                log,
                Files.readString(log)
                        .replace("## Phase 9\n", "## Phase 9\n\nOn paged_attention Qwen3 is hit hardest.\n"));
        String listed = SweepReviewTest.texts(section("Phase 9 against Phase 8"), Topic.REGRESSIONS)
                .getFirst();
        String[] worst = listed.replaceFirst(".*first: ", "").split("; ", -1);
        assertThat(worst[0]).isEqualTo("continuous_batching, Qwen3 TTFT P50 175 -> 1215 (+594.3 %) not commented");
        assertThat(worst[2]).isEqualTo("continuous_batching, Qwen3 TTFT P99 3490 -> 11690 (+235.0 %) not commented");
        assertThat(listed).contains("paged_attention, Qwen3 TTFT P50 7915 -> 14887 (+88.1 %);");
    }

    @Test
    void signsThatDifferOverModels_allowNoStatement() {
        Map<String, String> found = section("Phase 9 against Phase 8").remarks().stream()
                .filter(remark -> remark.topic() == Topic.MIXED_SIGNS)
                .collect(Collectors.toMap(Remark::where, Remark::text, (a, b) -> a + " " + b));
        assertThat(found.get("chunked_prefill"))
                .startsWith("Output throughput: Llama -1.8 %, Qwen3 +4.8 %, Gemma3 -4.7 %. The signs differ");
        assertThat(found.get("paged_attention")).contains("Mostly Qwen3 became slower (-46.1 %)");
        assertThat(found.get("prefix_caching")).contains("Mostly Qwen3 became slower (-14.2 %)");
        assertThat(found).doesNotContainKey("baseline");
    }

    @Test
    void gainAndCost_standTogether() {
        assertThat(section("Phase 5 against Phase 4").remarks())
                .filteredOn(remark ->
                        remark.topic() == Topic.TRADE_OFF && remark.where().equals("chunked_prefill, Qwen3"))
                .singleElement()
                .satisfies(remark -> assertThat(remark.text())
                        .contains("output throughput 96.5 -> 137.3 (+42.3 %)")
                        .contains("Worse: ITL P50 43 -> 51 (+18.6 %), ITL P99 78 -> 191 (+144.9 %)"));
    }

    @Test
    void blocksThatDiffer_areSaidBesideTheChange() throws IOException {
        Files.writeString(
                log, Files.readString(log).replaceFirst("\\| blocks \\| 2048 \\| 1024", "| blocks | 2048 | 512"));
        assertThat(section("Phase 7 against Phase 6").remarks())
                .filteredOn(remark -> remark.text().startsWith("The settings differ"))
                .singleElement()
                .satisfies(remark -> {
                    assertThat(remark.where()).contains("Qwen3");
                    assertThat(remark.text()).contains("blocks 512 -> 1024");
                });
    }

    @Test
    void workloadRedefinedInSomebodysLog_isNotCompared() throws IOException {
        String text = Files.readString(log);
        int phase5 = text.indexOf("## Phase 5");
        Files.writeString(
                log,
                text.substring(0, phase5)
                        + text.substring(phase5).replaceFirst("(### paged_attention\n\nworkload id: )\\w+", "$1" + ID));
        Section found = section("Phase 5 against Phase 4");
        assertThat(found.changes()).noneSatisfy(row -> assertThat(row.where()).startsWith("paged_attention"));
        assertThat(SweepReviewTest.texts(found, Topic.SETTINGS).getFirst()).startsWith("It was redefined");
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 5, 6, 8, 9})
    void throughputOfOneAfterTheOther_isThatOfItsMedianWithin3Percent(int phase) {
        List<Observation> results =
                Seeds.tables("s3/phase" + phase + ".csv").getFirst().observations();
        assertThat(Place.of(results, List.of()))
                .isNotEmpty()
                .allSatisfy(place -> assertThat(OwnFigures.inconsistent(place)).isEmpty());
    }

    private Review review(String... controls) {
        return Review.of(log, new Settings(Set.of(controls), List.of(), "http://127.0.0.1:1"));
    }

    private Section section(String name, String... controls) {
        return review(controls).sections().stream()
                .filter(section -> section.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private List<Comparison> changes(int from, int to, String workload) {
        return Phases.changes(results(from, workload), results(to, workload), new Remarks());
    }

    private static List<Observation> results(int phase, String workload) {
        return Seeds.tables("s3/phase" + phase + ".csv").getFirst().observations().stream()
                .filter(each -> workload.equals(each.where().get("workload")))
                .toList();
    }
}
