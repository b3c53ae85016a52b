package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.LoadRun;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.Pace;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ServingTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));

    private static final String ALL = "all";

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "baseline, 10, 256, 256, 256, 256, 1, 0",
        "continuous_batching, 32, 64, 512, 64, 256, 32, 250",
        "paged_attention, 48, 128, 384, 128, 256, 48, 0",
        "chunked_prefill, 48, 64, 2048, 64, 256, 48, -1",
        "prefix_caching, 48, 1056, 1152, 256, 256, 48, 125"
    })
    void workload_hasItsNumbers(
            String name, int requests, int least, int most, int leastAnswer, int mostAnswer, int lanes, int gap) {
        Suite.Leg leg =
                serving(name, Integer.MAX_VALUE).legs(EngineFacts.unknown()).getFirst();
        DrawnLoad.Drawn warm = leg.load().parts().getFirst();
        assertThat(warm.part().measured()).isFalse();
        assertThat(warm.requests()).hasSize(2);
        DrawnLoad.Drawn load = leg.load().parts().getLast();
        assertThat(load.requests()).hasSize(requests).allSatisfy(request -> {
            assertThat(request.length()).isBetween(least, most);
            assertThat(request.maxTokens()).isBetween(leastAnswer, mostAnswer);
        });
        assertThat(load.lanes()).isEqualTo(lanes);
        for (int i = 0; gap >= 0 && i < load.turns().size(); i++) {
            assertThat(load.turns().get(i)).isEqualTo(1_000_000L * gap * i);
        }
    }

    @Test
    void longAndShortPrompts_are36And12_atTimesDrawnOnce() {
        DrawnLoad load = load("chunked_prefill");
        List<LoadRequest> requests = load.parts().getLast().requests();
        assertThat(requests).filteredOn(request -> request.length() >= 1024).hasSize(36);
        assertThat(requests).filteredOn(request -> request.length() <= 128).hasSize(12);
        assertThat(load.parts().getLast().turns())
                .isEqualTo(load("chunked_prefill").parts().getLast().turns());
    }

    /** The largest distance to the exponential distribution stays below the bound of 1 % for so many draws. */
    @Test
    void poissonArrivals_haveExponentialGaps() {
        int draws = 10_000;
        Recipe recipe = new Recipe(
                "poisson",
                "",
                42,
                Map.of(),
                List.of(Recipe.Part.of("load", draws, Range.of(1), Range.of(1), "poisson:6")));
        List<Long> turns = DrawnLoad.of(recipe).parts().getFirst().turns();
        List<Double> gaps = new ArrayList<>();
        for (int i = 1; i < turns.size(); i++) {
            gaps.add((turns.get(i) - turns.get(i - 1)) / 1e9);
        }
        gaps.sort(Double::compare);
        double distance = 0;
        for (int i = 0; i < gaps.size(); i++) {
            double expected = 1 - Math.exp(-6 * gaps.get(i));
            distance = Math.max(distance, Math.abs((i + 1.0) / gaps.size() - expected));
        }
        assertThat(distance).isLessThan(1.63 / Math.sqrt(gaps.size()));
    }

    @Test
    void workloads_haveNoTextInCommon() {
        Set<List<Integer>> beginnings = new HashSet<>();
        int requests = 0;
        for (Suite.Leg leg : serving(ALL, Integer.MAX_VALUE).legs(EngineFacts.unknown())) {
            for (LoadRequest request : leg.load().requests()) {
                if (request.length() <= 1024) {
                    int[] tokens = request.tokens();
                    beginnings.add(List.of(tokens[0], tokens[1], tokens[2], tokens[3]));
                    requests++;
                }
            }
        }
        assertThat(beginnings).hasSize(requests);
    }

    @Test
    void allWorkloads_leaveTheirTables() {
        int most = DEEP ? Integer.MAX_VALUE : 12;
        VirtualPreset ran =
                VirtualPreset.run(serving(ALL, most), VirtualPreset.server(65_536, 16), folder.resolve("a"));
        assertThat(ran.legs())
                .extracting(LoadLeg::id)
                .containsExactly(
                        "baseline", "continuous_batching", "paged_attention", "chunked_prefill", "prefix_caching");
        assertThat(ran.outcome().files()).containsOnlyKeys("serving_a-model_20261122_101112.json", "report.md");
        String report = ran.outcome().files().getOrDefault("report.md", "");
        assertThat(report.lines().filter(line -> line.startsWith("| Errors | 0 |")))
                .hasSize(5);
        assertThat(report)
                .contains("## a model, all workloads", "| chunked_prefill | ", "TTFT P95 (ms)", "ITL P95 (ms)")
                .containsPattern("Requests under way in the middle of each tenth of its time, as the client sees them:"
                        + " \\d+(, \\d+){9}\\.");
        assertThat(ResultFile.read(folder.resolve("a/serving_a-model_20261122_101112.json")))
                .isEqualTo(ran.results());
    }

    @Test
    void baseline_hasOneRequestUnderWay() {
        List<RequestRecord> records = VirtualPreset.run(
                        serving("baseline", 5), VirtualPreset.server(65_536, 16), folder.resolve("a"))
                .leg("baseline")
                .measured();
        for (int i = 1; i < records.size(); i++) {
            assertThat(records.get(i).sent())
                    .isGreaterThanOrEqualTo(records.get(i - 1).done());
        }
    }

    @Test
    void lateAnswers_delayNoRequest_andBurstIsUnderWayBeforeTheFirstAnswer() {
        Speed slow = new Speed(40, 2_000_000, 20_000, 1);
        VirtualPreset stream = VirtualPreset.run(
                serving("continuous_batching", 32), VirtualPreset.server(65_536, 16, slow), folder.resolve("a"));
        List<RequestRecord> records = stream.leg("continuous_batching").measured();
        for (int i = 0; i < records.size(); i++) {
            assertThat(records.get(i).scheduled() - records.getFirst().scheduled())
                    .isEqualTo(i * 250_000_000L);
        }
        VirtualPreset burst = VirtualPreset.run(
                serving("paged_attention", 48), VirtualPreset.server(65_536, 16, slow), folder.resolve("b"));
        List<RequestRecord> all = burst.leg("paged_attention").measured();
        long first = all.stream()
                .mapToLong(request -> request.firstToken().orElseThrow())
                .min()
                .orElseThrow();
        assertThat(all).hasSize(48).allMatch(request -> request.sent() <= first);
    }

    @Test
    void sharedPrefix_isFoundBy47Of48_andByFewerInABurst() {
        VirtualPreset ran = VirtualPreset.run(
                serving("prefix_caching", 48), VirtualPreset.server(131_072, 16), folder.resolve("a"));
        PrefixHits hits = PrefixHits.of(
                        load("prefix_caching"),
                        ran.leg("prefix_caching"),
                        VirtualPreset.server(64, 16).engine().facts())
                .orElseThrow();
        assertThat(hits).isEqualTo(new PrefixHits(48, 47, 0, 47 * 1024, 1024));
        assertThat(ran.outcome().lines()).anyMatch(line -> line.contains("47 of 48 requests found"));

        Recipe burst = load("prefix_caching").recipe();
        burst = burst.withParts(burst.parts().stream()
                .map(part -> new Recipe.Part(
                        part.name(),
                        part.measured(),
                        part.requests(),
                        part.prefix(),
                        part.own(),
                        part.answer(),
                        "burst",
                        part.repeats(),
                        part.messages(),
                        part.flush(),
                        part.pause()))
                .toList());
        DrawnLoad load = DrawnLoad.of(burst);
        var server = VirtualPreset.server(131_072, 16);
        LoadLeg leg = new LoadRun(server.engine(), server.clock()).run("x", load, Map.of());
        PrefixHits fewer = PrefixHits.of(load, leg, server.engine().facts()).orElseThrow();
        assertThat(fewer.requests()).isEqualTo(48);
        assertThat(fewer.hits()).isBetween(1, 46);
        assertThat(leg.measured().stream()
                        .filter(request -> request.cachedTokens().orElse(0) >= 1024))
                .hasSize(fewer.hits());
    }

    @Test
    void serverThatCannotEvictForDecode_hasItsFailuresUnderOneMessage_andInNoLatency() {
        var broken = VirtualServer.sglang(
                SglangSettings.defaults().withSizes(8_192, 1, 4_096),
                new Speed(40, 10_000, 1_000, 1),
                1,
                new CacheFault.DecodeCannotEvict());
        VirtualPreset ran = VirtualPreset.run(serving("chunked_prefill", 48), broken, folder.resolve("a"));
        LoadResult result = ran.results().results().getFirst();
        assertThat(result.failures()).hasSize(1);
        assertThat(result.failures().keySet().iterator().next()).contains("Cannot allocate 1 blocks: only 0 free");
        assertThat(result.answered()).isBetween(1, 47);
        assertThat(result.measures().of(Metric.ERRORS)).hasValue(48.0 - result.answered());
    }

    @Test
    void serverThatIsFarBehind_isToldOfToTheEnd() {
        VirtualPreset ran = VirtualPreset.run(
                serving("chunked_prefill", 48),
                VirtualPreset.server(65_536, 16, new Speed(3_000, 10_000, 30_000, 1)),
                folder.resolve("a"));
        LoadResult result = ran.results().results().getFirst();
        assertThat(result.failures()).isEmpty();
        assertThat(result.measures().of(Metric.percentile(Quantity.E2E, 99)).orElseThrow())
                .isGreaterThan(120_000);
        assertThat(ran.outcome().lines()).anyMatch(line -> line.startsWith("chunked_prefill: SATURATED: "));
        assertThat(serving("chunked_prefill", 48).definition().requestTimeout()).isGreaterThan(Duration.ofMinutes(10));
    }

    @Test
    void server_isBegunAnewForAWorkloadWithSettingsOfItsOwn() {
        Preset serving =
                VirtualPreset.preset("serving", "requests=2", "phase=paged", "workload-set=prefix_caching:blocks=1536");
        assertThat(serving.needsToStart()).isTrue();
        VirtualPreset ran = VirtualPreset.run(
                serving,
                VirtualPreset.server(65_536, 16),
                folder.resolve("a"),
                3,
                new Pace.Limits(Duration.ofSeconds(10), Optional.empty()));
        assertThat(ran.started()).hasSize(2);
        assertThat(ran.started().getLast().values()).containsExactly(Map.entry("blocks", "1536"));
        assertThat(ran.leg("prefix_caching").settings()).containsEntry("server.blocks", "1536");
        assertThat(ran.leg("baseline").notes())
                .containsEntry("warmup_requests", "3")
                .doesNotContainKey("cooldown_s");
        assertThat(ran.leg("paged_attention").notes()).containsEntry("cooldown_s", "10.000");
        assertThat(ran.outcome().files().get("report.md")).startsWith("# Serving: paged\n");
    }

    @Test
    void timeIsUp_leavesWhatIsOver_andTheRestRunsLater() {
        Preset serving = serving(ALL, 2);
        var server = VirtualPreset.server(65_536, 16);
        LoadFolder begun = LoadFolder.create(folder.resolve("a"), VirtualPreset.plan(serving, server));
        VirtualPreset.go(
                serving,
                server,
                begun,
                0,
                new Pace.Limits(Duration.ZERO, Optional.of(Duration.ofMillis(100))),
                new ArrayList<>());
        assertThat(LoadFolder.open(folder.resolve("a")).missing()).hasSize(4);
    }

    @ParameterizedTest
    @CsvSource({"84.7, 3.016, false", "47.2, 3.944, true", "86.0, 2.974, false", "64.6, 3.940, false"})
    void throughputThatTheMedianLatencyDoesNotGive_isFlagged(double throughput, double seconds, boolean flagged) {
        assertThat(LoadFlags.disagreement(throughput, 256, seconds).isPresent()).isEqualTo(flagged);
    }

    @ParameterizedTest
    @CsvSource({"640, 254, true", "640, 349, true", "2048, 331, true", "300, 300, false", "314, 300, false"})
    void offeredAboveServed_isSaturated(double offered, double served, boolean saturated) {
        assertThat(LoadFlags.isSaturated(offered, served)).isEqualTo(saturated);
    }

    @ParameterizedTest
    @CsvSource({"constant, 0.5, false", "constant, 3, true", "poisson, 0.5, false", "poisson, 6, true"})
    void serverAskedForMoreThanItCan_isSaturated(String arrivals, double load, boolean saturated) {
        // Of times drawn by chance one draw has no burst, and another one has it at the end.
        for (int seed = 0; seed < (arrivals.equals("poisson") ? 40 : 1); seed++) {
            // Alone a request takes 100 ms to read and 64 x 5 ms to write, and reading stops all writing: some 2.4 a
            // second.
            var server = VirtualPreset.server(65_536, 16, new Speed(400, 1_000, 5_000, 1));
            Recipe recipe = new Recipe(
                    "rate",
                    "",
                    seed,
                    Map.of(),
                    List.of(Recipe.Part.of("load", 60, Range.of(1000), Range.of(64), arrivals + ":" + 2.4 * load)));
            LoadLeg leg = new LoadRun(server.engine(), server.clock()).run("rate", DrawnLoad.of(recipe), Map.of());
            assertThat(LoadFlags.saturated(DrawnLoad.of(recipe), leg).isPresent())
                    .as("seed %d: %s", seed, LoadFlags.saturated(DrawnLoad.of(recipe), leg))
                    .isEqualTo(saturated);
            assertThat(LoadFlags.saturated(DrawnLoad.of(recipe), VirtualPreset.uncounted(leg))
                            .isPresent())
                    .as("of a server that counts no tokens, seed %d", seed)
                    .isEqualTo(saturated);
        }
    }

    @Test
    void cells_areRoundedAsTheTablesAre() {
        Map<Metric, Double> values = new LinkedHashMap<>();
        values.put(Metric.OUTPUT_THROUGHPUT, 88.46);
        values.put(Metric.percentile(Quantity.TTFT, 50), 85.5);
        values.put(Metric.percentile(Quantity.E2E, 50), 2890.4);
        values.put(Metric.ERRORS, 0.0);
        LoadResult result = new LoadResult(
                "baseline", "baseline", Optional.empty(), "test", Map.of(), 10, Map.of(), new Measures(values));
        assertThat(ServingReport.cells(result)).containsExactly("88.5", "86", "-", "-", "-", "-", "-", "2.890", "0");
        assertThat(ServingReport.of(
                        List.of(
                                new ResultFile("serving", "a", "", Map.of(), List.of(result)),
                                new ResultFile("serving", "b", "", Map.of(), List.of())),
                        Map.of(),
                        Optional.empty()))
                .contains("| Metric | a | b |", "| Throughput (tok/s) | 88.5 | - |");
    }

    @Test
    void columnsOfDifferentLoads_areSaidNotToBeCompared() {
        assertThat(ServingReport.of(List.of(model("a", "1f"), model("b", "1f")), Map.of(), Optional.empty()))
                .contains("Workload id 1f.");
        assertThat(ServingReport.of(List.of(model("a", "1f"), model("b", "2e")), Map.of(), Optional.empty()))
                .contains("The columns are of different workloads (1f, 2e) and are not to be compared.");
    }

    private static ResultFile model(String name, String workloadId) {
        return new ResultFile(
                "serving",
                name,
                "",
                Map.of(),
                List.of(new LoadResult(
                        "baseline",
                        "baseline",
                        Optional.of(workloadId),
                        "test",
                        Map.of(),
                        1,
                        Map.of(),
                        new Measures(Map.of(Metric.ERRORS, 0.0)))));
    }

    @Test
    void unknownWorkload_isRefusedWithThoseThereAre() {
        assertThatThrownBy(() -> serving("chunked", 1))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("There is no workload 'chunked'; there are all, baseline, continuous_batching,"
                        + " paged_attention, chunked_prefill, prefix_caching.");
    }

    private static DrawnLoad load(String workload) {
        return serving(workload, Integer.MAX_VALUE)
                .legs(EngineFacts.unknown())
                .getFirst()
                .load();
    }

    private static Preset serving(String workload, int most) {
        return VirtualPreset.preset("serving", "workload=" + workload, "requests=" + most);
    }
}
