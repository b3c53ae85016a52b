package io.holdfast.workbench.imports;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.testing.Legs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The files were written by the tools themselves, 12 requests of 16 tokens by 4 clients at an emulated engine. */
final class ToolResultsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "vllm.json, vllm bench serve",
        "vllm-detailed.json, vllm bench serve",
        "vllm-chat.json, vllm bench serve",
        "sglang.jsonl, sglang.bench_serving",
        "sglang-details.jsonl, sglang.bench_serving",
        "aiperf.json, aiperf 0.13.0",
        "aiperf-records.jsonl, aiperf",
        "guidellm.json, guidellm 0.8.1"
    })
    void fileOfATool_isRecognisedByItsContent(String name, String source) throws IOException {
        // Under a name that says nothing.
        Path file = Files.copy(resource(name), folder.resolve("results.txt"));
        LoadResult result = one(file);
        assertThat(result.source()).isEqualTo(source);
        assertThat(result.requests()).isEqualTo(12);
        assertThat(result.answered()).isEqualTo(12);
        assertThat(value(result, "completion_tokens_mean")).isEqualTo(16);
        assertThat(result.measures().of(Metric.ERRORS)).hasValue(0);
        // Of 8 ms a token, whatever the tool calls it; nothing here is seconds or includes the first token.
        for (String metric : new String[] {"tpot_p50", "itl_p50", "icl_p50"}) {
            assertThat(value(result, metric))
                    .as(metric)
                    .satisfiesAnyOf(
                            absent -> assertThat(absent).isNaN(),
                            known -> assertThat(known).isBetween(2.0, 60.0));
        }
        assertThat(value(result, "e2e_p50") + value(result, "stream_p50"))
                .satisfiesAnyOf(
                        both -> assertThat(both).isGreaterThan(200),
                        one -> assertThat(one).isNaN());
    }

    @Test
    void vllmList_givesTheFiguresThatVllmItselfComputes() {
        LoadResult result = one(resource("vllm-detailed.json"));
        JsonNode told = json("vllm-detailed.json");
        assertThat(value(result, "ttft_mean"))
                .isCloseTo(told.path("mean_ttft_ms").asDouble(), within(1e-6));
        assertThat(value(result, "ttft_p99")).isCloseTo(told.path("p99_ttft_ms").asDouble(), within(1e-6));
        assertThat(value(result, "tpot_p50"))
                .isCloseTo(told.path("median_tpot_ms").asDouble(), within(1e-6));
        // Each chunk had one token, so gaps between chunks are gaps between tokens.
        assertThat(value(result, "icl_p50"))
                .isCloseTo(told.path("median_itl_ms").asDouble(), within(1e-6));
        assertThat(value(result, "itl_p50")).isEqualTo(value(result, "icl_p50"));
        assertThat(value(result, "e2e_max")).isCloseTo(1e3 * max(told.path("latencies")), within(1e-6));
        assertThat(result.settings()).containsEntry("concurrency", "4").doesNotContainKey("rate");
    }

    @Test
    void vllmSummary_callsGapsBetweenChunksSo_andAChatsFirstChunkToo() {
        LoadResult plain = one(resource("vllm.json"));
        assertThat(value(plain, "itl_p50")).isNaN();
        assertThat(value(plain, "icl_p50")).isPositive();
        assertThat(value(plain, "ttft_p50")).isPositive();
        LoadResult chat = one(resource("vllm-chat.json"));
        assertThat(value(chat, "ttft_p50")).isNaN();
        assertThat(value(chat, "tpot_p50")).isNaN();
        assertThat(value(chat, "first_chunk_p50")).isPositive();
        assertThat(ToolResults.read(resource("vllm-chat.json")).notes()).anyMatch(note -> note.contains("role alone"));
    }

    @Test
    void sglangsLatency_isToTheEndOfTheStream_andE2eFollowsFromItsLists() {
        LoadResult summary = one(resource("sglang.jsonl"));
        assertThat(value(summary, "e2e_p50")).isNaN();
        assertThat(value(summary, "tpot_p50")).isNaN();
        assertThat(value(summary, "stream_p50")).isPositive();
        LoadResult listed = one(resource("sglang-details.jsonl"));
        assertThat(value(listed, "e2e_mean")).isPositive().isLessThanOrEqualTo(value(listed, "stream_mean"));
        assertThat(value(listed, "tpot_mean")).isPositive();
    }

    @Test
    void aiperfsItl_isOurTpot_andOnlyOverTokensThatTheServerCounted() throws IOException {
        LoadResult summary = one(resource("aiperf.json"));
        // Its tokenizer counted 43 tokens where the server had made 16.
        assertThat(value(summary, "itl_p50")).isNaN();
        assertThat(value(summary, "tpot_p50")).isNaN();
        assertThat(ToolResults.read(resource("aiperf.json")).notes()).anyMatch(note -> note.contains("42.8 an answer"));
        LoadResult listed = one(resource("aiperf-records.jsonl"));
        assertThat(value(listed, "tpot_mean")).isPositive();
        assertThat(value(listed, "ttft_p50")).isCloseTo(value(summary, "ttft_p50"), within(1e-6));
        assertThat(value(summary, "output_throughput")).isBetween(12 * 16 / 3.0, 12 * 16 / 0.3);

        ObjectNode agreeing = (ObjectNode) json("aiperf.json");
        ((ObjectNode) agreeing.path("output_sequence_length")).put("avg", 16.0);
        Path file = Files.writeString(folder.resolve("agreeing.json"), agreeing.toString());
        assertThat(value(one(file), "tpot_p50"))
                .isEqualTo(agreeing.path("inter_token_latency").path("p50").asDouble());
    }

    @Test
    void guidellmsItl_isOurTpot_andItsOwnTpotIsNothingOfOurs() {
        LoadResult result = one(resource("guidellm.json"));
        JsonNode first = json("guidellm.json").path("benchmarks").path(0);
        double[] own = new double[12];
        int at = 0;
        for (JsonNode request : first.path("requests").path("successful")) {
            own[at++] = request.path("inter_token_latency_ms").asDouble();
        }
        assertThat(value(result, "tpot_mean"))
                .isCloseTo(java.util.Arrays.stream(own).average().orElseThrow(), within(1e-3));
        assertThat(value(result, "itl_mean")).isNaN();
        assertThat(value(result, "e2e_mean")).isLessThan(value(result, "stream_mean"));
        assertThat(result.settings()).containsEntry("concurrency", "4");
    }

    @Test
    void requestThatFailed_isInNoLatencyOfAList() throws IOException {
        ObjectNode document = (ObjectNode) json("vllm-detailed.json");
        LoadResult sound = one(resource("vllm-detailed.json"));
        ArrayNode firsts = (ArrayNode) document.path("ttfts");
        ArrayNode errors = document.putArray("errors");
        firsts.forEach(any -> errors.add(""));
        firsts.set(0, firsts.numberNode(0.0));
        firsts.set(1, firsts.numberNode(90.0));
        errors.set(1, errors.textNode("Connection reset\nand a traceback"));
        LoadResult result = one(Files.writeString(folder.resolve("failed.json"), document.toString()));
        assertThat(result.failures()).containsEntry("no token came", 1).containsEntry("Connection reset", 1);
        assertThat(value(result, "errors")).isEqualTo(2);
        assertThat(result.answered()).isEqualTo(10);
        assertThat(value(result, "ttft_min")).isPositive();
        assertThat(value(result, "ttft_max")).isLessThanOrEqualTo(value(sound, "ttft_max"));
        assertThat(value(result, "e2e_max")).isLessThanOrEqualTo(value(sound, "e2e_max"));
    }

    @Test
    void requestThatFailed_isCountedWhereNoListTellsOfIt() throws IOException {
        ObjectNode vllm = (ObjectNode) json("vllm.json");
        vllm.put("completed", 9);
        assertThat(one(Files.writeString(folder.resolve("vllm.json"), vllm.toString()))
                        .failures())
                .containsEntry("failed", 3);
        ObjectNode guidellm = (ObjectNode) json("guidellm.json");
        ObjectNode totals =
                (ObjectNode) guidellm.path("benchmarks").path(0).path("metrics").path("request_totals");
        totals.put("errored", 2).put("incomplete", 1);
        Path file = Files.writeString(folder.resolve("guidellm.json"), guidellm.toString());
        assertThat(one(file).failures()).containsEntry("failed", 2);
        assertThat(one(file).requests()).isEqualTo(14);
        assertThat(ToolResults.read(file).notes())
                .contains("Requests that were under way when a benchmark ended are in no figure.");
    }

    @Test
    void aiperfsWarmUpAndErrors_areInNoFigureOfARequest() throws IOException {
        LoadResult sound = one(resource("aiperf-records.jsonl"));
        List<String> lines = Files.readAllLines(resource("aiperf-records.jsonl"));
        ObjectNode first = (ObjectNode) JSON.readTree(lines.getFirst());
        ((ObjectNode) first.path("metrics").path("time_to_first_token")).put("value", 9e6);
        ObjectNode failed = first.deepCopy();
        failed.putObject("error").put("message", "503 from the server");
        ((ObjectNode) first.path("metadata")).put("benchmark_phase", "warmup");
        Path file = Files.writeString(
                folder.resolve("more.jsonl"), first + "\n" + String.join("\n", lines) + "\n" + failed + "\n");
        LoadResult result = one(file);
        assertThat(result.requests()).isEqualTo(13);
        assertThat(result.failures()).containsExactly(Map.entry("503 from the server", 1));
        assertThat(value(result, "ttft_max")).isEqualTo(value(sound, "ttft_max"));
        assertThat(value(result, "completion_tokens_mean")).isEqualTo(16);
    }

    @Test
    void timesInAnotherUnit_areNotTakenForMilliseconds() throws IOException {
        ObjectNode seconds = (ObjectNode) json("aiperf.json");
        ((ObjectNode) seconds.path("time_to_first_token")).put("unit", "sec");
        LoadResult result = one(Files.writeString(folder.resolve("seconds.json"), seconds.toString()));
        assertThat(value(result, "ttft_p50")).isNaN();
        assertThat(value(result, "e2e_p50")).isPositive();
    }

    @Test
    void medianOfASummary_isItsMedian() throws IOException {
        ObjectNode document = (ObjectNode) json("vllm.json");
        document.put("median_ttft_ms", 41.5).put("mean_ttft_ms", 77.5).put("p99_ttft_ms", 300.5);
        LoadResult result = one(Files.writeString(folder.resolve("skewed.json"), document.toString()));
        assertThat(value(result, "ttft_p50")).isEqualTo(41.5);
        assertThat(value(result, "ttft_mean")).isEqualTo(77.5);
        assertThat(value(result, "ttft_p99")).isEqualTo(300.5);
    }

    @Test
    void journal_hasARepetitionOfItsArmForEachMeasuredLegThatWentThrough() {
        List<LegRecord> legs = new ArrayList<>(Legs.run(10, 5));
        LegRecord broken = legs.stream()
                .filter(leg -> leg.isMeasured() && leg.arm() == Arm.PINNED)
                .findFirst()
                .orElseThrow();
        legs.set(legs.indexOf(broken), Legs.withSteps(broken, broken.steps(), Optional.of("the server ended")));
        Path file = folder.resolve("run.jsonl");
        try (Journal journal = Journal.create(file, Legs.header())) {
            legs.forEach(journal::append);
        }
        Imported imported = ToolResults.read(file);
        assertThat(imported.kind()).isEqualTo("holdfast journal");
        Map<String, Long> arms = imported.results().results().stream()
                .collect(Collectors.groupingBy(
                        result -> result.settings().getOrDefault("arm", ""), TreeMap::new, Collectors.counting()));
        // Of 12 lives with two measured legs each 4 have the baseline in both.
        assertThat(arms).containsExactly(Map.entry("baseline", 16L), Map.entry("pinned", 7L));
        assertThat(imported.results().results())
                .allSatisfy(result -> assertThat(value(result, "ttft_p50"))
                        .isCloseTo("pinned".equals(result.settings().get("arm")) ? 5 : 10, withinPercentage(1)));
    }

    @Test
    void legOfAJournal_thatFailedAGate_isLeftOutAndSaid() {
        List<LegRecord> legs = new ArrayList<>(Legs.run(10, 5));
        LegRecord first =
                legs.stream().filter(LegRecord::isMeasured).findFirst().orElseThrow();
        Optional<ClientHealth> busy = Optional.of(new ClientHealth(100_000_000, 95_000_000, 0, 0, 0, 0, 0));
        legs.set(legs.indexOf(first), first.withClient(busy));
        Path file = folder.resolve("run.jsonl");
        try (Journal journal = Journal.create(file, Legs.header())) {
            legs.forEach(journal::append);
        }
        Imported imported = ToolResults.read(file);
        assertThat(imported.results().results()).hasSize(23);
        assertThat(imported.notes())
                .anySatisfy(note -> assertThat(note)
                        .startsWith("1 of 24 legs failed a gate and are left out, the first because: ")
                        .contains("the client was saturated"));
    }

    @Test
    void settingThatIsSaidOnImport_standsInPlaceOfTheFiles() {
        Imported joined =
                ToolResults.joined(List.of(ToolResults.read(resource("vllm.json"))), Map.of("concurrency", "64"));
        assertThat(joined.results().results().getFirst().settings()).containsEntry("concurrency", "64");
    }

    @Test
    void runsAppendedToOneFile_areResultsOfTheirOwn() throws IOException {
        String line = Files.readString(resource("sglang.jsonl"));
        Path file = Files.writeString(folder.resolve("two.jsonl"), line + line);
        assertThat(ToolResults.read(file).results().results())
                .extracting(LoadResult::id)
                .containsExactly("random-ids/run1", "random-ids/run2");
    }

    @Test
    void nullsEverywhere_areRefusedByName() throws IOException {
        ObjectNode nulls = (ObjectNode) json("aiperf.json");
        nulls.properties().stream()
                .filter(entry -> entry.getValue().has("unit"))
                .forEach(entry -> ((ObjectNode) entry.getValue())
                        .properties()
                        .forEach(each -> each.setValue(com.fasterxml.jackson.databind.node.NullNode.instance)));
        nulls.putObject("request_throughput").put("unit", "requests/sec").putNull("avg");
        Path file = Files.writeString(folder.resolve("nulls.json"), nulls.toString());
        assertThatThrownBy(() -> ToolResults.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("has no figure: request_throughput.avg is null")
                .hasMessageContaining("run it again");
    }

    @Test
    void missingFigure_staysAbsent_andWrongOneIsNamed() throws IOException {
        ObjectNode some = (ObjectNode) json("vllm.json");
        some.putNull("median_ttft_ms").remove("mean_ttft_ms");
        some.put("mean_ttft_ms", Double.NaN).put("p99_ttft_ms", 0);
        String text = some.toString().replace("\"NaN\"", "NaN");
        LoadResult result = one(Files.writeString(folder.resolve("some.json"), text));
        assertThat(value(result, "ttft_p50")).isNaN();
        assertThat(value(result, "ttft_mean")).isNaN();
        assertThat(value(result, "ttft_p99")).isNaN();
        assertThat(value(result, "icl_p99")).isPositive();
        some.put("output_throughput", "fast");
        Path wrong = Files.writeString(folder.resolve("wrong.json"), some.toString());
        assertThatThrownBy(() -> ToolResults.read(wrong))
                .hasMessageContaining("output_throughput no number but 'fast'");
    }

    @Test
    void scriptsTwoNumbers_andOurOwnSuite_areRead() throws IOException {
        Path simple = Files.writeString(folder.resolve("baseline.json"), "{\"throughput\": 100, \"ttft_p50\": 80.5}");
        assertThat(value(one(simple), "throughput")).isEqualTo(100);
        assertThat(value(one(simple), "ttft_p50")).isEqualTo(80.5);
        assertThat(ToolResults.read(simple).notes())
                .containsExactly("Times are taken for milliseconds, as the file does not tell its units.");
        assertThat(one(simple).measures().of(Metric.ERRORS))
                .as("of requests that nobody counted")
                .isEmpty();
        Files.writeString(simple, "{\"throughput\": 100, \"errors\": 3, \"requests\": 10}");
        assertThat(one(simple).measures().of(Metric.ERRORS)).hasValue(3);
        LoadResult imported = one(resource("vllm.json"));
        ResultFile suite = new ResultFile("a suite", "m", "now", Map.of(), List.of(imported));
        suite.write(folder.resolve("suite_m.json"));
        assertThat(ToolResults.read(folder.resolve("suite_m.json")).results()).isEqualTo(suite);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"a\": 1} | is of no tool that is known",
                "{\"a\": | is not JSON (line 1)",
                "'' | is empty",
                "[] | is empty",
                "{\"throughput\": null} | has no figure: throughput is null",
                "{\"suite\": \"x\", \"format\": 1, \"results\": []} | no 'model'"
            })
    void otherFile_isRefusedInASentence(String content, String sentence) throws IOException {
        Path file = Files.writeString(folder.resolve("bad.json"), Objects.requireNonNullElse(content, ""));
        assertThatThrownBy(() -> ToolResults.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(sentence);
    }

    @Test
    void noFile_andFolderWithoutResults_areSaidSo() {
        assertThatThrownBy(() -> ToolResults.read(folder.resolve("none"))).hasMessageContaining("There is no file");
        assertThatThrownBy(() -> ToolResults.read(folder)).hasMessageContaining("has 0 files with results");
    }

    private static double max(JsonNode list) {
        double max = 0;
        for (JsonNode each : list) {
            max = Math.max(max, each.asDouble());
        }
        return max;
    }

    private static LoadResult one(Path file) {
        return ToolResults.read(file).results().results().getFirst();
    }

    private static double value(LoadResult result, String metric) {
        return result.measures()
                .of(Optional.of(metric).flatMap(Metric::named).orElseThrow())
                .orElse(Double.NaN);
    }

    private static JsonNode json(String name) {
        try {
            return JSON.readTree(resource(name).toFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path resource(String name) {
        try {
            return Path.of(Objects.requireNonNull(ToolResultsTest.class.getResource("/imports/" + name))
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
