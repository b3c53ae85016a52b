package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.rules.engine.Speed;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class KvcachedOverheadTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final String GUIDE = """
        models:
          - name: llama-7b
            path: meta-llama/Llama-2-7b-hf
            port: 8001
          - name: qwen-7b
            path: Qwen/Qwen2-7B-Instruct
            port: 8002

        benchmark:
          request_rates: [1, 2, 4, 8, 16, 32]
          num_requests: 1000
          input_len: 512
          output_len: 128

        kvcached:
          gpu_utilization: 0.95
          page_size_mb: 2
        """;

    @TempDir
    Path folder;

    @Test
    void configurationOfTheGuide_isReadAsItStands() {
        BenchConfig config = BenchConfig.of("bench-config.yaml", GUIDE);
        assertThat(config.models())
                .containsExactly(
                        new BenchConfig.Model("llama-7b", "meta-llama/Llama-2-7b-hf", 8001),
                        new BenchConfig.Model("qwen-7b", "Qwen/Qwen2-7B-Instruct", 8002));
        assertThat(config.rates()).containsExactly(1.0, 2.0, 4.0, 8.0, 16.0, 32.0);
        assertThat(List.of(config.requests(), config.inputTokens(), config.outputTokens()))
                .containsExactly(1000, 512, 128);
        assertThat(config.gpuUtilization()).hasValue(0.95);
        assertThat(config.pageMegabytes()).hasValue(2);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "num_requests: 1000|num_request: 1000|unknown key 'benchmark.num_request'",
                "port: 8002|prot: 8002|unknown key 'models[1].prot'",
                "gpu_utilization: 0.95|gpu_utilization: 1.5|'kvcached.gpu_utilization' is a number above 0 and at most"
                        + " 1",
                "gpu_utilization: 0.95|gpu_utilization: 0|'kvcached.gpu_utilization' is a number above 0 and at most 1",
                "[1, 2, 4, 8, 16, 32]|[1, x]|'benchmark.request_rates[1]' is a number of requests a second",
                "port: 8001|port: 99999|'models[0].port' is a whole number from 1 to 65535",
                "page_size_mb: 2|page_size_mb: [|is no YAML"
            })
    void badConfiguration_isRefusedWithTheKeysPath(String good, String bad, String said) {
        assertThatThrownBy(() -> BenchConfig.of("bench-config.yaml", GUIDE.replace(good, bad)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining(said)
                .message()
                .endsWith(".")
                .doesNotContain("\n");
    }

    @Test
    void variants_differInKvcachedsVariablesAlone() {
        KvcachedOverhead overhead = overhead(1, 1000, Map.of("kvcached", Map.of("KVCACHED_LOG_LEVEL", "DEBUG")));
        StartedServer.Variant baseline = overhead.variant("baseline");
        assertThat(baseline.environment()).isEmpty();
        assertThat(baseline.unset())
                .containsExactlyInAnyOrder(
                        "ENABLE_KVCACHED", "KVCACHED_AUTOPATCH", "KVCACHED_GPU_UTILIZATION", "KVCACHED_PAGE_SIZE_MB");
        assertThat(overhead.variant("kvcached").environment())
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "ENABLE_KVCACHED",
                        "true",
                        "KVCACHED_AUTOPATCH",
                        "1",
                        "KVCACHED_GPU_UTILIZATION",
                        "0.95",
                        "KVCACHED_PAGE_SIZE_MB",
                        "2",
                        "KVCACHED_LOG_LEVEL",
                        "DEBUG"));
        assertThat(baseline.values()).containsExactly(Map.entry("model", "meta-llama/Llama-2-7b-hf"));
    }

    @Test
    void ownVariableOfKvcached_thatAUserGivesTheBaseline_isNotUnset() {
        StartedServer.Variant baseline = overhead(1, 10, Map.of("baseline", Map.of("KVCACHED_PAGE_SIZE_MB", "4")))
                .variant("baseline");
        assertThat(baseline.environment()).containsExactly(Map.entry("KVCACHED_PAGE_SIZE_MB", "4"));
        assertThat(baseline.unset()).hasSize(3).doesNotContain("KVCACHED_PAGE_SIZE_MB");
    }

    @Test
    void launchBlocking_isInBothVariantsOrInNone() {
        assertThatThrownBy(() -> overhead(1, 10, Map.of("baseline", Map.of("CUDA_LAUNCH_BLOCKING", "1"))))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("both have it alike or neither");
        assertThatThrownBy(() -> overhead(1, 10, Map.of("kvcached", Map.of("CUDA_LAUNCH_BLOCKING", "1"))))
                .hasMessageContaining("both have it alike or neither");
        assertThatThrownBy(() -> overhead(1, 10, Map.of("other", Map.of("A", "b"))))
                .hasMessage("There is no variant 'other'; there are baseline and kvcached.");
    }

    @Test
    void pairs_turnTheirOrderRound_withTheSameRequestsForBoth() {
        KvcachedOverhead overhead = overhead(2, 1000, Map.of());
        List<Suite.Leg> legs = overhead.legs(EngineFacts.unknown());
        assertThat(legs.stream().map(leg -> overhead.life(leg).name()).distinct())
                .as("each variant of each pair is a process of its own, though one follows itself")
                .hasSize(4);
        assertThat(legs).hasSize(24);
        List<String> order = legs.stream()
                .map(leg -> leg.settings().get("pair") + " " + leg.settings().get("variant"))
                .distinct()
                .toList();
        assertThat(order).hasSize(4);
        assertThat(order.get(0).substring(2)).isEqualTo(order.get(3).substring(2));
        assertThat(order.get(1).substring(2)).isEqualTo(order.get(2).substring(2));
        assertThat(order.get(0).substring(2)).isNotEqualTo(order.get(1).substring(2));
        legs.forEach(leg -> assertThat(legs)
                .filteredOn(other -> Objects.equals(
                        other.settings().get("rate"), leg.settings().get("rate")))
                .hasSize(4)
                .allMatch(other -> other.load().id().equals(leg.load().id())));
        DrawnLoad load = legs.getFirst().load();
        assertThat(load.requests())
                .hasSize(1000)
                .allMatch(request -> request.length() == 512 && request.maxTokens() == 128);
        double lasts = load.parts().getFirst().turns().getLast() / 1e9;
        assertThat(999 / lasts).isBetween(0.9, 1.1);
    }

    @Test
    void bothVariants_leaveTheirFile_andSaturatedRatesAreMarked() throws IOException {
        int requests = DEEP ? 1000 : 40;
        KvcachedOverhead overhead = overhead(1, requests, Map.of());
        // Reading takes 110 ms a request and stops all writing, so 32 a second are too many and 1 is not.
        VirtualPreset ran = VirtualPreset.run(
                overhead, VirtualPreset.server(400_000, 16, new Speed(200, 8_000, 500, 1)), folder.resolve("a"));
        assertThat(ran.outcome().files()).containsOnlyKeys("baseline.json", "kvcached.json");
        assertThat(ran.started())
                .extracting(StartedServer.Variant::environment)
                .extracting(Map::size)
                .containsExactlyInAnyOrder(0, 4);
        LoadLeg first = ran.legs().getFirst();
        assertThat(first.notes()).containsEntry("warmup_requests", "100").doesNotContainKey("cooldown_s");
        assertThat(ran.legs().get(1).notes()).containsEntry("cooldown_s", "10.000");
        assertThat(ran.legs()).allSatisfy(leg -> assertThat(leg.measured()).hasSize(requests));
        JsonNode root =
                new ObjectMapper().readTree(folder.resolve("a/baseline.json").toFile());
        List<LoadResult> kept = ResultFile.read(folder.resolve("a/baseline.json")).results().stream()
                .filter(result -> !result.settings().containsKey("saturated"))
                .toList();
        double seconds = kept.stream().mapToDouble(of(Metric.DURATION)).sum();
        double tokens = kept.stream()
                .mapToDouble(result -> of(Metric.DURATION).applyAsDouble(result)
                        * of(Metric.OUTPUT_THROUGHPUT).applyAsDouble(result))
                .sum();
        assertThat(root.path("throughput").asDouble())
                .as("of the rates that the server kept up with")
                .isCloseTo(tokens / seconds, within(1e-6));
        assertThat(root.path("ttft_p50").asDouble()).isBetween(100.0, 400.0);
        ResultFile baseline = ResultFile.read(folder.resolve("a/baseline.json"));
        ResultFile kvcached = ResultFile.read(folder.resolve("a/kvcached.json"));
        assertThat(baseline.results())
                .extracting(result -> result.id())
                .isEqualTo(
                        kvcached.results().stream().map(result -> result.id()).toList())
                .contains("rate1/pair1", "rate32/pair1");
        assertThat(baseline.results())
                .filteredOn(result -> result.settings().containsKey("saturated"))
                .extracting(result -> result.settings().get("rate"))
                .contains("32")
                .doesNotContain("1", "2", "4");
        assertThat(ran.outcome().lines()).anyMatch(line -> line.contains("overhead is not told"));
        Preset.Outcome uncounted = overhead.outcome(new Preset.Ended(
                ran.legs().stream().map(VirtualPreset::uncounted).toList(), ran.results(), EngineFacts.unknown(), "x"));
        JsonNode told = new ObjectMapper().readTree(uncounted.files().getOrDefault("baseline.json", ""));
        assertThat(told.has("ttft_p50")).isTrue();
        assertThat(told.has("throughput"))
                .as("what nobody counted is not there, and not 0")
                .isFalse();
        assertThat(Set.of("baseline.json", "kvcached.json", "plan.json", "legs"))
                .isEqualTo(Set.copyOf(names(folder.resolve("a"))));
    }

    private static ToDoubleFunction<LoadResult> of(Metric metric) {
        return result -> result.measures().of(metric).orElseThrow();
    }

    private static List<String> names(Path folder) throws IOException {
        try (var files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    private static KvcachedOverhead overhead(int pairs, int most, Map<String, Map<String, String>> environment) {
        BenchConfig config = BenchConfig.of("bench-config.yaml", GUIDE);
        List<String> values = new ArrayList<>(List.of("config=x", "pairs=" + pairs, "requests=" + most));
        environment.forEach((variant, variables) ->
                variables.forEach((name, value) -> values.add("variant-env=" + variant + ":" + name + "=" + value)));
        return new KvcachedOverhead(VirtualPreset.values("kvcached-overhead", values.toArray(String[]::new)), config);
    }
}
