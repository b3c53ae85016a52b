package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.VirtualEngine;
import io.holdfast.loadtest.run.VirtualRules;
import io.holdfast.loadtest.run.VirtualTime;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.LoadRequest.Message;
import io.holdfast.loadtest.workload.PinSharedPrompt;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.compare.Matrix;
import io.holdfast.workbench.imports.Imported;
import io.holdfast.workbench.imports.ToolResults;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pin benchmark in virtual time, all seven steps; smaller in a slice. */
final class PinPocRunTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final PinSharedPrompt.Sizes SIZES =
            DEEP ? PinSharedPrompt.Sizes.USUAL : new PinSharedPrompt.Sizes(80, 248, 200, 4);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long SEED = 42;

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    private void run(PinPoc.Step step, Fault... faults) {
        VirtualTime time = new VirtualTime(SEED + step.number(), 20);
        SglangSettings engine =
                SglangSettings.defaults().withSizes(22_016, 16, 2_048).withVariant(SglangSettings.Variant.PIN_GPU);
        try (VirtualEngine tested = new VirtualEngine(
                        VirtualRules.sglang(engine), new Speed(40, 10_000, 1_000, 1), List.of(faults), time);
                ArmSwitch arms = Arms.pinRoute(tested)) {
            RunEnvironment environment = new RunEnvironment(tested, arms, time);
            Workload workload = PinPoc.workload(step, SEED, SIZES);
            LoadTestPlan settings = PinPoc.settings(step, SEED, true, 0);
            Path journal = folder.resolve(step.journal());
            if (step.kind() == PinPoc.Kind.AA_CONTROL) {
                LoadTestRun.controls(environment, workload, settings, journal, Progress.silent());
            } else {
                LoadTestRun.run(environment, workload, settings, journal, Progress.silent());
            }
        }
    }

    private PinPocFiles all(int pairs, Fault... faults) {
        List<PinPoc.Step> steps = PinPoc.steps(pairs);
        steps.forEach(step -> run(step, faults));
        return PinPocFiles.of(folder, steps);
    }

    private JsonNode read(String file) {
        try {
            return JSON.readTree(Files.readString(folder.resolve("out").resolve(file)));
        } catch (IOException e) {
            throw new AssertionError(file, e);
        }
    }

    @Test
    void steps_areThoseOfTheBenchmark() {
        assertThat(PinPoc.steps(1))
                .extracting(step -> step.number() + " " + step.name() + " " + step.pairs())
                .containsExactly(
                        "1 aa_control_conc32 1",
                        "2 aa_control_conc64 1",
                        "3 normal_order_conc32 1",
                        "4 normal_order_conc64 1",
                        "5 reversed_order_conc32 1",
                        "6 reversed_order_conc64 1",
                        "7 multi_rep_conc64 3");
    }

    @Test
    void workload_sharesOneSystemPromptAndNothingMore() {
        Workload workload = PinSharedPrompt.workload(SEED, PinSharedPrompt.Sizes.USUAL, 64);
        List<LoadRequest> requests = workload.requests(1);
        assertThat(requests).hasSize(130);
        Message system = requests.getFirst().messages().getFirst();
        assertThat(requests)
                .allSatisfy(request -> assertThat(request.messages().getFirst()).isEqualTo(system));
        assertThat(requests.subList(0, 2))
                .extracting(request -> request.messages().getLast().content() + " " + request.maxTokens())
                .containsExactly("Warmup 0. Reply briefly. 16", "Warmup 1. Reply briefly. 16");
        List<LoadRequest> load = requests.subList(2, 130);
        assertThat(load).allSatisfy(request -> {
            assertThat(request.role()).isEqualTo(Role.PROBE);
            assertThat(request.length()).isEqualTo(448);
            assertThat(request.maxTokens()).isEqualTo(64);
        });
        assertThat(load.stream().map(request -> request.tokens()[248]).distinct())
                .hasSize(128);
        assertThat(workload.touch().messages()).containsExactly(system);
        assertThat(workload.facts().prefixTokens() + workload.facts().pressureTokens())
                .isEqualTo(13_048);
        assertThat(workload.id())
                .isEqualTo(PinSharedPrompt.workload(SEED, PinSharedPrompt.Sizes.USUAL, 32)
                        .id());
    }

    @Test
    void allSteps_leaveTheEightFilesAndNothingElse() throws IOException {
        all(1).write(folder.resolve("out"));
        try (Stream<Path> files = Files.list(folder.resolve("out"))) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "aa_control_conc32.json",
                            "aa_control_conc64.json",
                            "normal_order_conc32.json",
                            "normal_order_conc64.json",
                            "reversed_order_conc32.json",
                            "reversed_order_conc64.json",
                            "multi_rep_conc64.json",
                            "cache_hit_analysis.json");
        }
        JsonNode control = read("aa_control_conc32.json");
        assertThat(control.path("run_a").path("ttft_avg").asDouble()).isPositive();
        assertThat(control.path("run_b").path("count").asInt()).isEqualTo(SIZES.requests());
        JsonNode reversed = read("reversed_order_conc64.json");
        assertThat(reversed.path("pinned").path("position").asText()).isEqualTo("first");
        assertThat(reversed.path("baseline").path("position").asText()).isEqualTo("second");
        assertThat(reversed.path("blocks_pinned").asInt()).isEqualTo(248 / 16);
        JsonNode repeated = read("multi_rep_conc64.json");
        assertThat(repeated.path("repetitions")).hasSize(3);
        assertThat(repeated.path("baseline").path("std").asDouble()).isNotNegative();
        assertThat(repeated.path("note").asText()).startsWith("3 per order cannot decide");
        JsonNode hits = read("cache_hit_analysis.json");
        assertThat(hits.path("source").asText()).isEqualTo("usage of the answers");
        assertThat(hits.path("pinned").path("total_cached").asLong()).isPositive();
    }

    @Test
    void leg_takesTheStepsOfTheBenchmarkAndWaitsEquallyLongInBothArms() {
        run(PinPoc.steps(1).get(2));
        List<LegRecord> legs =
                Journal.read(folder.resolve("3-normal_order_conc32.jsonl")).legs();
        assertThat(legs).hasSize(3).allSatisfy(leg -> {
            assertThat(leg.steps())
                    .extracting(step -> step.kind().name())
                    .containsExactly("FLUSH", "PAUSE", "CONNECT", "PRIME", "HOLD", "PROBE", "RELEASE");
            assertThat((leg.steps().get(1).ended() - leg.steps().get(1).began()) / 1e9)
                    .isCloseTo(1, within(0.05));
            assertThat((leg.steps().get(4).ended() - leg.steps().get(4).began()) / 1e9)
                    .isCloseTo(2, within(0.05));
        });
    }

    @Test
    void sweepsAndSingleRun_leaveThreeFilesMore() throws IOException {
        List<PinPoc.Step> more = PinPoc.with(List.of(), true, List.of(PinPoc.Sweep.values()));
        assertThat(more).hasSize(11);
        List<PinPoc.Step> some = List.of(more.getFirst(), more.get(1), more.get(5), more.get(10));
        some.forEach(step -> run(step));
        PinPocFiles.of(folder, some).write(folder.resolve("out"));
        assertThat(read("single_run.json").path("blocks_pinned").asInt()).isPositive();
        JsonNode byConcurrency = read("concurrency_sweep.json").path("results");
        assertThat(byConcurrency.properties().stream().map(Map.Entry::getKey)).containsExactly("4", "64");
        assertThat(byConcurrency.path("64").path("naive_demand_tokens").asInt()).isEqualTo(28_672);
        assertThat(byConcurrency.path("64").path("demand_tokens").asInt()).isEqualTo(13_048);
        assertThat(byConcurrency.path("64").path("capacity_tokens").asInt()).isEqualTo(22_016);
        assertThat(read("memory_pressure_sweep.json")
                        .path("results")
                        .path("0.40")
                        .path("pressure")
                        .asDouble())
                .isPositive();
        for (String name : List.of("single_run.json", "concurrency_sweep.json", "memory_pressure_sweep.json")) {
            Imported imported = ToolResults.read(folder.resolve("out").resolve(name));
            assertThat(imported.kind()).isEqualTo("pin benchmark");
            assertThat(imported.results().results())
                    .hasSize(name.startsWith("concurrency") ? 4 : 2)
                    .allSatisfy(result -> {
                        assertThat(result.settings()).containsKeys("arm", "concurrency");
                        assertThat(result.requests()).isEqualTo(SIZES.requests());
                        assertThat(result.measures()
                                        .of(Metric.mean(Quantity.TTFT))
                                        .orElseThrow())
                                .isPositive();
                    });
        }
        Matrix byLevel = Matrix.of(
                List.of(new Named(
                        "sweep",
                        ToolResults.read(folder.resolve("out").resolve("concurrency_sweep.json"))
                                .results())),
                new Matrix.Layout("ttft_mean", Optional.of("arm"), List.of(), List.of()));
        assertThat(byLevel.rows()).containsExactly("concurrency=4", "concurrency=64");
        assertThat(byLevel.variants()).containsExactly("baseline", "pinned");
    }

    @Test
    void promptThatIsAlwaysInFlight_isNoExposureAtBothConcurrencies() {
        PinPocFiles files = all(4);
        for (int concurrency : files.concurrencies()) {
            Result result = files.verdict(concurrency).orElseThrow();
            assertThat(result.verdict().finding()).as("%s", result.verdict()).isEqualTo(Finding.NO_EXPOSURE);
            assertThat(result.warnings()).anyMatch(warning -> warning.startsWith("The orders ran one after the other"));
        }
        files.write(folder.resolve("out"));
        assertThat(read("normal_order_conc64.json")
                        .path("level_verdict")
                        .path("headline")
                        .asText())
                .startsWith("NO_EXPOSURE");
    }

    @Test
    void oneOrderOnAWarmingEngine_claimsAGainThatTheControlHasToo() {
        all(1, new GpuFault.Warming(1 + 2 * (2 + SIZES.requests()))).write(folder.resolve("out"));
        double naive = read("normal_order_conc32.json")
                .path("naive_claim")
                .path("ttft_avg_change_percent")
                .asDouble();
        double bias = read("aa_control_conc32.json").path("order_bias_percent").asDouble();
        assertThat(read("aa_control_conc32.json").path("inside_suspected_band").asBoolean())
                .isEqualTo(bias >= -25 && bias <= -15);
        assertThat(naive).isLessThan(-5);
        assertThat(bias).isCloseTo(naive, within(3.0));
    }

    @Test
    void legWithoutItsFigure_leavesNoFile() throws IOException {
        List<PinPoc.Step> steps = List.of(PinPoc.steps(1).getFirst());
        run(steps.getFirst());
        Path journal = folder.resolve(steps.getFirst().journal());
        Files.writeString(
                journal,
                Files.readString(journal)
                        .replaceAll("\"firstToken\":\\d+", "\"firstToken\":null")
                        .replaceAll("\"sentTokens\":\\d+", "\"sentTokens\":null"));
        PinPocFiles files = PinPocFiles.of(folder, steps);
        assertThatThrownBy(() -> files.write(folder.resolve("out")))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("ttft_avg is missing")
                .hasMessageContaining("no file was written");
        assertThat(folder.resolve("out")).doesNotExist();
    }

    /** What was asked for is no proof, and neither is what the engine says it did. */
    @Test
    void engineThatPinsAHalf_hasThatHalfInItsFile() throws IOException {
        List<PinPoc.Step> steps = PinPoc.steps(1).stream()
                .filter(step -> step.name().equals("reversed_order_conc64"))
                .toList();
        run(steps.getFirst());
        try (Stream<Path> files = Files.list(folder)) {
            Path journal = files.filter(file -> file.toString().endsWith(".jsonl"))
                    .findFirst()
                    .orElseThrow();
            Files.writeString(
                    journal,
                    Files.readString(journal)
                            .lines()
                            .map(line -> line.contains("\"arm\":\"PINNED\"")
                                    ? line.replaceAll("\"cachedTokens\":240", "\"cachedTokens\":112")
                                    : line)
                            .collect(Collectors.joining("\n", "", "\n")));
        }
        PinPocFiles.of(folder, steps).write(folder.resolve("out"));
        JsonNode reversed = read("reversed_order_conc64.json");
        assertThat(reversed.path("blocks_asked").asInt()).isEqualTo(15);
        assertThat(reversed.path("blocks_pinned").asInt()).isEqualTo(7);
    }

    @Test
    void filesMadeAgainFromJournals_areTheSameBytes() throws IOException {
        List<PinPoc.Step> steps = PinPoc.steps(1).subList(0, 2);
        steps.forEach(step -> run(step));
        PinPocFiles.of(folder, steps).write(folder.resolve("out"));
        byte[] before = Files.readAllBytes(folder.resolve("out/aa_control_conc32.json"));
        Files.delete(folder.resolve("out/aa_control_conc32.json"));
        PinPocFiles.of(folder, steps).write(folder.resolve("out"));
        assertThat(Files.readAllBytes(folder.resolve("out/aa_control_conc32.json")))
                .isEqualTo(before);
    }

    @Test
    void spreadOfThree_isTheSampleOne() {
        PinPocFiles.Spread spread = PinPocFiles.Spread.of(10, 12, 17);
        assertThat(spread.mean()).isCloseTo(13, within(1e-12));
        assertThat(spread.std()).isCloseTo(Math.sqrt(13), within(1e-12));
        assertThat(PinPocFiles.Spread.of(10).std()).isZero();
    }
}
