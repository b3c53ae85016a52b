package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code compare}, {@code matrix} and {@code scaling} print, and what they end with. */
final class LoadtestCompareTest {
    @TempDir
    Path folder;

    @Test
    void twoNumbersOfAScript_areBetterOrWorseByTheirDirection() throws IOException {
        String baseline = script("baseline", 100, 100);
        String kvcached = script("kvcached", 103, 103);
        CommandRun told = CommandRun.by("loadtest", "compare", baseline, kvcached);
        assertThat(told.code()).isZero();
        assertThat(line(told, "throughput"))
                .contains("1.030")
                .contains("+3.00 %")
                .contains("better, single run");
        assertThat(line(told, "TTFT P50")).contains("+3.00 %").contains("worse, single run");
        assertThat(told.out()).contains("An interval needs 3 runs on each side");
    }

    @Test
    void markdown_hasBothValuesAndAWholePercent() {
        String p6 = suite("p6", rows("chunked_prefill", "output_throughput", 22.5, 16.8, 276.6));
        String p7 = suite("p7", rows("chunked_prefill", "output_throughput", 219.3, 148.1, 272.6));
        assertThat(CommandRun.by("loadtest", "compare", p6, p7, "--markdown").out())
                .contains("### chunked_prefill: p7 vs p6")
                .contains("| Metric | model=llama | model=qwen3 | model=gemma3 |")
                .contains("| output throughput | 22.5 tok/s → 219.3 tok/s (+875 %), better, single run |"
                        + " 16.8 tok/s → 148.1 tok/s (+782 %), better, single run |"
                        + " 276.6 tok/s → 272.6 tok/s (\u22121 %), worse, single run |")
                .contains("mixed signs, so nothing holds for all");
    }

    @Test
    void manyFiles_areRowsWithCostsBesideGains() {
        String p4 = suite("p4", List.of(row("paged", "", "output_throughput", 346.1, "itl_p50", 17)));
        String p5 = suite("p5", List.of(row("paged", "", "output_throughput", 400.0, "itl_p50", 30)));
        String p6 = suite("p6", List.of(row("paged", "", "output_throughput", 455.2, "itl_p50", 45)));
        String out =
                CommandRun.by("loadtest", "compare", p4, p5, p6, "--markdown").out();
        assertThat(out)
                .contains("|  | output throughput | change | ITL P50 | change |  |")
                .contains("| p4 | 346.1 tok/s |  | 17 ms |  | reference |")
                .contains("| p5 | 400.0 tok/s | +15.6 % + | 30 ms | +76.5 % - | single run |")
                .contains("| p6 | 455.2 tok/s | +31.5 % + | 45 ms | +164.7 % - | single run |");
    }

    @Test
    void regressionGate_endsWithOne_andSaysWhat() throws IOException {
        String baseline = script("baseline", 100, 100);
        String slower = script("slower", 90, 100);
        CommandRun failed = CommandRun.by("loadtest", "compare", baseline, slower, "--fail-on-regression", "5%");
        assertThat(failed.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(failed.out()).contains("Worse than allowed").contains("100 → 90 (-10.0 %, single run)");
        assertThat(CommandRun.by("loadtest", "compare", baseline, slower, "--fail-on-regression", "12%")
                        .code())
                .isZero();
    }

    @Test
    void controlOrExpectationThatIsNone_isRefused() throws IOException {
        assertThat(CommandRun.by(
                                "loadtest",
                                "compare",
                                script("baseline", 100, 100),
                                script("slower", 90, 100),
                                "--control",
                                "nosuch")
                        .badInput())
                .endsWith("--control names 'nosuch', which is no workload of these files; there are load.");
        assertThat(CommandRun.by(
                                "loadtest",
                                "compare",
                                script("baseline", 100, 100),
                                script("slower", 90, 100),
                                "--expect",
                                "better")
                        .badInput())
                .contains("--expect is 'better', which is neither an expectation, such as");
    }

    @Test
    void everyRegressionBeyondTheGate_isListed() throws IOException {
        CommandRun failed = CommandRun.by(
                "loadtest",
                "compare",
                script("baseline", 100, 100),
                script("slower", 80, 140),
                "--fail-on-regression",
                "5%");
        assertThat(failed.out().substring(failed.out().indexOf("Worse than allowed")))
                .contains("throughput 100 → 80", "TTFT P50 100 ms → 140 ms");
    }

    @Test
    void gate_isNotPassedByWhatAFileDoesNotTell() throws IOException {
        String before = suite(
                "before",
                List.of(
                        row("w", "rate=8", "ttft_p50", 100),
                        row("v", "rate=8", "ttft_p50", 100),
                        row("u", "rate=8", "ttft_p50", 100)));
        String after = suite(
                "after", List.of(row("w", "rate=8", "ttft_p50", 100), row("v", "rate=8", "output_throughput", 0)));
        String[] gate = {"loadtest", "compare", before, after, "--metric", "ttft_p50", "--fail-on-regression", "5%"};
        CommandRun told = CommandRun.by(gate);
        assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(told.out())
                .contains("Not told, so it may be worse than allowed", "v has no TTFT P50 in after.", "u is in before")
                .doesNotContain("Worse than allowed");
        CommandRun ungated = CommandRun.by("loadtest", "compare", before, after, "--metric", "ttft_p50");
        assertThat(ungated.code()).as("without a gate nothing is asked").isZero();
        assertThat(ungated.out()).contains("Nothing of what is shown is in both files.");
        CommandRun json = CommandRun.by(
                Stream.concat(Stream.of(gate), Stream.of("--json")).toArray(String[]::new));
        assertThat(new ObjectMapper().readTree(json.out()).path("untold")).hasSize(2);
        assertThat(CommandRun.by("loadtest", "compare", before, before, "--fail-on-regression", "5%")
                        .code())
                .isZero();
    }

    @Test
    void regressionThatRepetitionsLeaveOpen_doesNotFail() {
        String before = suite("before", runs("w", "output_throughput", 100, 101, 99, 100));
        String after = suite("after", runs("w", "output_throughput", 80, 104, 92, 93));
        CommandRun told = CommandRun.by("loadtest", "compare", before, after, "--fail-on-regression", "5%");
        assertThat(told.code()).isZero();
        assertThat(line(told, "output throughput")).contains("undecided, 4 runs each");
        assertThat(told.out()).contains("4 runs; largest over smallest output throughput +30.0 %");
    }

    @Test
    void expectation_hasAnExitCodeForEachOutcome() {
        String before = suite("before", runs("w", "output_throughput", 100, 100.1, 99.9, 100));
        String near = suite("near", runs("w", "output_throughput", 98, 98.1, 97.9, 98));
        String far = suite("far", runs("w", "output_throughput", 90, 90.1, 89.9, 90));
        String wide = suite("wide", runs("w", "output_throughput", 98, 90, 105, 95));
        assertThat(expecting(before, near).code()).isZero();
        assertThat(expecting(before, far).code()).isEqualTo(ExitCode.CHECK_FAILED);
        CommandRun open = expecting(before, wide);
        assertThat(open.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(open.out()).contains("undecided: overhead(throughput)<=5%");
    }

    @Test
    void json_isOneDocumentWithWhatIsKnown() throws IOException {
        String before = suite("before", runs("w", "output_throughput", 100, 101, 99));
        String after = suite("after", runs("w", "output_throughput", 110, 111, 109));
        CommandRun told =
                CommandRun.by("loadtest", "compare", before, after, "--json", "--expect", "gain(throughput)>=5%");
        JsonNode root = new ObjectMapper().readTree(told.out());
        assertThat(root.path("format").asInt()).isEqualTo(1);
        JsonNode change = root.at("/rows/0/metrics/output_throughput/changes/0");
        assertThat(change.path("ratio").asDouble()).isBetween(1.09, 1.11);
        assertThat(change.path("finding").asText()).isEqualTo("BETTER");
        assertThat(change.path("interval95")).hasSize(2);
        assertThat(root.at("/rows/0/metrics/output_throughput/measuredBy/0").asText())
                .as("the tool that measured")
                .isEqualTo("test");
        assertThat(root.at("/expectations/0/outcome").asText()).isEqualTo("MET");
    }

    @Test
    void interval_hasItsLowerEndFirst_inTextAndJson() throws IOException {
        String before = suite("before", runs("w", "output_throughput", 100, 101, 99));
        String after = suite("after", runs("w", "output_throughput", 110, 111, 109));
        assertThat(line(CommandRun.by("loadtest", "compare", before, after), "output throughput"))
                .containsPattern("1\\.100 +\\+10\\.0 % +\\+7\\.\\d to \\+12\\.\\d % .*better, 3 runs each");
        JsonNode change = new ObjectMapper()
                .readTree(CommandRun.by("loadtest", "compare", before, after, "--json")
                        .out())
                .at("/rows/0/metrics/output_throughput/changes/0");
        assertThat(change.path("change").asDouble()).isBetween(0.0999, 0.1001);
        assertThat(change.path("interval95").path(0).asDouble()).isBetween(0.07, 0.08);
        assertThat(change.path("interval95").path(1).asDouble()).isBetween(0.12, 0.13);
    }

    @Test
    void margin_isAShareAndNotALogarithm() {
        String before = suite("before", runs("w", "output_throughput", 100, 101, 99));
        assertThat(line(CommandRun.by("loadtest", "compare", before, before), "output throughput"))
                .contains("the same within ±5.0 %, 3 runs each");
    }

    @Test
    void whatIsNotEqual_isToldInTextAndMarkdown() {
        String before = suite("before", List.of(row("w", "variant=base", "ttft_p50", 2)));
        String after = suite("after", List.of(row("w", "variant=new", "ttft_p50", 2)));
        for (String form : new String[] {"--margin=5%", "--markdown"}) {
            assertThat(CommandRun.by("loadtest", "compare", before, after, form).out())
                    .contains("Not equal", "The files differ in variant: before base, after new.");
        }
    }

    @Test
    void filesOfOneName_areToldApart_andEachHasItsNotes() throws IOException {
        Path other = Files.createDirectory(folder.resolve("other"));
        String first = script("load", 100, 100);
        String second = Files.copy(Path.of(first), other.resolve("load.json")).toString();
        String third = script("third", 100, 100);
        assertThat(CommandRun.by("loadtest", "compare", first, second, third).out())
                .contains("load (a script): Times are taken", "load-2 (a script): Times are taken")
                .contains("third (a script): Times are taken");
    }

    @Test
    void matrix_namesAWinnerOnlyWhereRepetitionsShowOne() {
        List<LoadResult> results = new ArrayList<>();
        for (int batch : new int[] {1, 32}) {
            for (double times : new double[] {0.998, 1, 1.002}) {
                results.add(row("prefill", "variant=flashinfer batch=" + batch, "ttft_p50", 100 * times));
                results.add(
                        row("prefill", "variant=triton batch=" + batch, "ttft_p50", (batch == 1 ? 114 : 100) * times));
            }
        }
        CommandRun told = CommandRun.by("loadtest", "matrix", suite("b", results), "--metric", "ttft_p50");
        assertThat(told.code()).isZero();
        assertThat(told.out())
                .contains("│ batch=1", "flashinfer +14 %", "no winner (0 %)")
                .contains("flashinfer is ahead in 1 of 2 cells, by +14 %.");
        CommandRun change = CommandRun.by(
                "loadtest", "matrix", suite("c", results), "--metric", "ttft_p50", "--show", "change", "--markdown");
        assertThat(change.out())
                .contains("### TTFT P50, triton against flashinfer")
                .contains("+14 %", "(0 %)", "Less is better.");
    }

    @Test
    void variantThatDidNotStart_isACellWithItsReason() {
        List<LoadResult> results = new ArrayList<>();
        results.add(row("w", "variant=one tp=1", "output_throughput", 100));
        results.add(new LoadResult(
                "w/two",
                "w",
                Optional.empty(),
                "test",
                Map.of("variant", "two", "tp", "1"),
                32,
                Map.of("did not start: out of memory", 32),
                new Measures(Map.of(Metric.ERRORS, 32.0))));
        assertThat(CommandRun.by("loadtest", "matrix", suite("s", results)).out())
                .contains("two: did not start: out of memory");
    }

    @Test
    void scaling_printsTableRuleAndPlotOf80Columns() {
        List<LoadResult> results = List.of(
                row("w", "tp=1", "output_throughput", 720, "ttft_p50", 185),
                row("w", "tp=2 numa=local", "output_throughput", 1290, "ttft_p50", 98),
                row("w", "tp=4 numa=local", "output_throughput", 2000, "ttft_p50", 58),
                row("w", "tp=4 numa=cross", "output_throughput", 1380, "ttft_p50", 72));
        CommandRun told = CommandRun.by("loadtest", "scaling", suite("tp", results));
        assertThat(told.code()).isZero();
        assertThat(line(told, "tp=2 numa=local")).contains("1.79x", "1.89x", "89.6 %");
        assertThat(line(told, "tp=4 numa=cross")).contains("47.9 %", "AVOID");
        List<String> plot = told.out()
                .lines()
                .dropWhile(each -> !each.equals("output throughput"))
                .takeWhile(each -> !each.isEmpty())
                .toList();
        assertThat(plot).allMatch(each -> each.length() <= 80);
        assertThat(String.join("\n", plot)).isEqualTo("""
            output throughput
            2000 │                                                          o 2000.0 tok/s
                 │
                 │
                 │
                 │                                                          + 1380.0 tok/s
                 │                   o 1290.0 tok/s
                 │
                 │
                 │* 720.0 tok/s
                 │
                 │
                 │
                 │
               0 │
                 └─────────────────────────────────────────────────────────────────────────
                  1                  2                                      4  tp
                  * reference
                  o numa=local
                  + numa=cross\
            """);
    }

    @Test
    void imported_filesOfEqualSettings_areRepetitionsOfOneAnother() throws IOException {
        String first = script("first", 100, 80);
        String second = script("second", 101, 81);
        String third = script("third", 99, 79);
        Path joined = folder.resolve("joined.json");
        CommandRun told = CommandRun.by(
                "loadtest", "import", first, second, third, "--out", joined.toString(), "--set", "variant=kvcached");
        assertThat(told.code()).isZero();
        assertThat(ResultFile.read(joined).results())
                .extracting(LoadResult::id, each -> each.settings().get("variant"))
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple("load/run1", "kvcached"),
                        org.assertj.core.groups.Tuple.tuple("load/run2", "kvcached"),
                        org.assertj.core.groups.Tuple.tuple("load/run3", "kvcached"));
        assertThat(CommandRun.by("loadtest", "compare", joined.toString()).out())
                .contains("3 runs; largest over smallest throughput +2.0 %");
        assertThat(CommandRun.by("loadtest", "import", first, "--out", joined.toString())
                        .badInput())
                .contains("is there already");
    }

    @Test
    void badInput_isOneSentence() throws IOException {
        String good = script("good", 100, 100);
        Path odd = Files.writeString(folder.resolve("odd.json"), "{}");
        assertThat(CommandRun.by("loadtest", "compare", good, odd.toString()).badInput())
                .contains("is of no tool that is known here");
        assertThat(CommandRun.by("loadtest", "compare", good, good, "--expect", "fast()")
                        .badInput())
                .contains("is not understood");
        assertThat(CommandRun.by("loadtest", "compare", good, good, "--fail-on-regression", "much")
                        .badInput())
                .contains("--fail-on-regression is 'much'; write a percentage such as 5%");
        assertThat(CommandRun.by("loadtest", "compare", good, "--fail-on-regression", "5%")
                        .badInput())
                .contains("need two files");
        assertThat(CommandRun.by("loadtest", "compare", good, good, "--json", "--markdown")
                        .badInput())
                .contains("write one of them");
        assertThat(CommandRun.by("loadtest", "scaling", good).badInput()).contains("No result has a number for");
        assertThat(CommandRun.by("loadtest", "matrix", good).badInput()).contains("--variant");
    }

    private static CommandRun expecting(String before, String after) {
        return CommandRun.by("loadtest", "compare", before, after, "--expect", "overhead(throughput)<=5%");
    }

    private static String line(CommandRun told, String first) {
        return told.out()
                .lines()
                .filter(each -> each.strip().startsWith(first))
                .reduce(String::concat)
                .orElseThrow();
    }

    private String script(String name, double throughput, double ttft) throws IOException {
        return Files.writeString(
                        folder.resolve(name + ".json"),
                        "{\"throughput\": " + throughput + ", \"ttft_p50\": " + ttft + "}")
                .toString();
    }

    private String suite(String name, List<LoadResult> results) {
        Path file = folder.resolve(name + ".json");
        new ResultFile(name, "unknown", "now", Map.of(), results).write(file);
        return file.toString();
    }

    private static List<LoadResult> rows(String workload, String metric, double llama, double qwen, double gemma) {
        return List.of(
                row(workload, "model=llama", metric, llama),
                row(workload, "model=qwen3", metric, qwen),
                row(workload, "model=gemma3", metric, gemma));
    }

    private static List<LoadResult> runs(String workload, String metric, double... values) {
        List<LoadResult> all = new ArrayList<>();
        for (double value : values) {
            all.add(row(workload, "rate=8", metric, value));
        }
        return all;
    }

    private static LoadResult row(String workload, String settings, Object... metrics) {
        Map<String, String> all = new LinkedHashMap<>();
        for (String each : settings.isEmpty() ? new String[0] : settings.split(" ", -1)) {
            all.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        Map<Metric, Double> values = new LinkedHashMap<>();
        for (int i = 0; i < metrics.length; i += 2) {
            values.put(Metric.named((String) metrics[i]).orElseThrow(), ((Number) metrics[i + 1]).doubleValue());
        }
        return new LoadResult(workload, workload, Optional.empty(), "test", all, 32, Map.of(), new Measures(values));
    }
}
