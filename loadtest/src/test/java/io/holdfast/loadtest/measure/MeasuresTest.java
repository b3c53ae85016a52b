package io.holdfast.loadtest.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.workload.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MeasuresTest {
    private static final long MILLI = 1_000_000;

    @TempDir
    Path folder;

    @Test
    void throughput_isOfThoseThatWereAnswered() {
        List<RequestRecord> requests = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            requests.add(answered(i, 0, 100, 10_000, 50));
            requests.add(failed(100 + i));
        }
        Measures measures = Measures.of(requests);
        assertThat(measures.of(Metric.REQUEST_THROUGHPUT)).hasValue(10.0);
        assertThat(measures.of(Metric.OUTPUT_THROUGHPUT)).hasValue(500.0);
        assertThat(measures.of(Metric.ERRORS)).hasValue(100);
        assertThat(measures.of(Metric.percentile(Quantity.TTFT, 50))).hasValue(100);
    }

    /** Two requests that each waited in the client, one after the other, and one that was refused long after. */
    @Test
    void eachNumber_isThatOfItsDefinition() {
        Measures measures = Measures.of(
                List.of(answered(0, 0, 100, 300, 1_100, 9), answered(1, 1_000, 1_500, 1_600, 2_100, 3), failed(2)));
        Map<String, Double> expected = new LinkedHashMap<>();
        expected.put("duration", 2.0);
        expected.put("request_throughput", 1.0);
        expected.put("output_throughput", 6.0);
        expected.put("total_throughput", 70.0);
        expected.put("concurrency_mean", 0.8);
        expected.put("ttft_mean", 150.0);
        expected.put("ttft_std", 70.71068);
        expected.put("ttft_scheduled_mean", 450.0);
        expected.put("e2e_mean", 800.0);
        expected.put("e2e_scheduled_mean", 1_100.0);
        expected.put("tpot_mean", 175.0);
        expected.put("schedule_lag_max", 500.0);
        expected.put("prompt_tokens_mean", 64.0);
        expected.put("completion_tokens_mean", 6.0);
        expected.put("errors", 1.0);
        expected.forEach((name, value) -> assertThat(
                        measures.of(Metric.named(name).orElseThrow()).orElseThrow())
                .as(name)
                .isCloseTo(value, within(1e-5)));
    }

    /** Of 1 to 100 ms, as {@code numpy.percentile} tells them. */
    @Test
    void percentiles_lieBetweenValues() {
        Map<Metric, Double> values = Measures.of(
                Quantity.TTFT,
                IntStream.rangeClosed(1, 100).mapToDouble(i -> 101 - i).toArray());
        assertThat(values.get(Metric.percentile(Quantity.TTFT, 50))).isCloseTo(50.5, within(1e-9));
        assertThat(values.get(Metric.percentile(Quantity.TTFT, 90))).isCloseTo(90.1, within(1e-9));
        assertThat(values.get(Metric.percentile(Quantity.TTFT, 99))).isCloseTo(99.01, within(1e-9));
        assertThat(values.get(Metric.min(Quantity.TTFT))).isEqualTo(1);
        assertThat(values.get(Metric.max(Quantity.TTFT))).isEqualTo(100);
    }

    @Test
    void cachedShare_isOfThePromptsAlone_andUnknownWhereOneDoesNotTell() {
        RequestRecord half = cached(0, 32);
        assertThat(Measures.of(List.of(half, cached(1, 0), failed(2))).of(Metric.CACHED_SHARE))
                .hasValue(0.25);
        assertThat(Measures.of(List.of(half, answered(1, 0, 100, 500, 10))).of(Metric.CACHED_SHARE))
                .isEmpty();
    }

    @Test
    void endOfTheStream_isNotInAnyLatency() {
        Measures measures = Measures.of(List.of(answered(0, 0, 100, 500, 10)));
        assertThat(measures.of(Metric.max(Quantity.E2E))).hasValue(500);
        assertThat(measures.of(Metric.std(Quantity.E2E))).hasValue(0);
    }

    @Test
    void whatNoRequestTells_isNotThere() {
        Measures measures = Measures.of(List.of(answered(0, 0, 100, 500, 10)));
        assertThat(measures.of(Metric.CACHED_SHARE)).isEmpty();
        assertThat(Measures.of(List.of(failed(0))).values()).containsOnlyKeys(Metric.ERRORS);
    }

    @Test
    void goodput_countsWhatKeptAllLimits() {
        List<RequestRecord> requests = List.of(
                answered(0, 0, 100, 1_000, 11),
                answered(1, 0, 300, 1_000, 11),
                answered(2, 0, 100, 2_000, 11),
                failed(3));
        Measures measures = Measures.of(requests, List.of(50.0), Optional.of(Slo.of("ttft=0.2s, tpot=100ms")));
        assertThat(measures.of(Metric.GOOD_SHARE)).hasValue(0.25);
        assertThat(measures.of(Metric.GOODPUT).getAsDouble()).isCloseTo(0.5, within(1e-9));
    }

    @ParameterizedTest
    @CsvSource({
        "ttft_p50, ms, LOWER",
        "e2e_p99.9, ms, LOWER",
        "request_throughput, req/s, HIGHER",
        "output_throughput, tok/s, HIGHER",
        "total_throughput, tok/s, HIGHER",
        "goodput, req/s, HIGHER",
        "good_share, '', HIGHER",
        "cached_share, '', HIGHER",
        "duration, s, LOWER",
        "errors, '', LOWER"
    })
    void metric_byItsName_hasUnitAndDirection(String name, String unit, Metric.Better better) {
        Metric metric = Metric.named(name).orElseThrow();
        assertThat(metric.name()).isEqualTo(name);
        assertThat(metric.unit().text()).isEqualTo(unit);
        assertThat(metric.better()).isEqualTo(better);
    }

    @ParameterizedTest
    @CsvSource({"ttft_p50, 33.4, 33 ms", "e2e_p50, 13528, 13.528 s", "output_throughput, 455.23, 455.2 tok/s"})
    void value_isShownAsTablesHaveIt(String name, double value, String shown) {
        assertThat(Metric.named(name).orElseThrow().shown(value)).isEqualTo(shown);
    }

    @Test
    void limitThatIsNotUnderstood_isRefused() {
        assertThatThrownBy(() -> Slo.of("ttft<200"))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("ttft=200ms");
    }

    @Test
    void results_readBack_areTheSame() {
        ResultFile results = new ResultFile(
                "serving",
                "org/Model-3B",
                "2026-01-02T03:04:05Z",
                Map.of("gpu", "unknown"),
                List.of(new LoadResult(
                        "baseline",
                        "baseline",
                        Optional.of("abc"),
                        "holdfast",
                        Map.of("concurrency", "1"),
                        3,
                        Map.of("timed out", 1),
                        Measures.of(List.of(answered(0, 0, 100, 500, 10))))));
        Instant begun = Instant.parse("2026-01-02T03:04:05Z");
        Path first = ResultFile.freeName(folder, "serving", "org/Model-3B", begun, ".json");
        results.write(first);
        assertThat(first.getFileName()).hasToString("serving_model-3b_20260102_030405.json");
        assertThat(ResultFile.freeName(folder, "serving", "org/Model-3B", begun, ".json"))
                .isNotEqualTo(first);
        assertThat(ResultFile.read(first)).isEqualTo(results);
        assertThat(results.results().getFirst().answered()).isEqualTo(2);
        assertThatThrownBy(() -> results.write(first)).hasMessageContaining("is there already");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "{\"results\": 1}; has no 'results'",
                "{\"results\": [], \"format\": 9}; its format is 9",
                "{; it is not JSON (line 1)",
                "{\"format\":1,\"results\":[{\"id\":\"a\"}]}; 'a' has no measure"
            })
    void fileOfSomethingElse_isRefusedInASentence(String text, String why) throws IOException {
        Path file = Files.writeString(folder.resolve("other.json"), text);
        assertThatThrownBy(() -> ResultFile.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(why)
                .hasMessageContaining("other.json");
    }

    private static RequestRecord answered(int number, long sent, long first, long last, int tokens) {
        return answered(number, sent, sent, first, last, tokens);
    }

    private static RequestRecord answered(int number, long turn, long sent, long first, long last, int tokens) {
        return answered(number, turn, sent, first, last, tokens, OptionalInt.empty());
    }

    private static RequestRecord cached(int number, int tokens) {
        return answered(number, 0, 0, 100, 500, 10, OptionalInt.of(tokens));
    }

    private static RequestRecord answered(
            int number, long turn, long sent, long first, long last, int tokens, OptionalInt cached) {
        return new RequestRecord(
                number,
                Role.PROBE,
                1,
                RequestStatus.OK,
                turn * MILLI,
                sent * MILLI,
                OptionalLong.of(first * MILLI),
                OptionalLong.of(first * MILLI),
                OptionalLong.of(last * MILLI),
                (last + 1_000) * MILLI,
                OptionalInt.of(64),
                OptionalInt.of(tokens),
                cached,
                "");
    }

    private static RequestRecord failed(int number) {
        return new RequestRecord(
                number,
                Role.PROBE,
                1,
                RequestStatus.HTTP_ERROR,
                0,
                0,
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                20_000 * MILLI,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                "status 500");
    }
}
