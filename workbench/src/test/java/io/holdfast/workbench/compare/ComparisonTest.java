package io.holdfast.workbench.compare;

import static io.holdfast.workbench.compare.Files.file;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.compare.Change.Finding;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.compare.Comparison.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Figures are those of a published benchmark log and guides, or made so that the answer is known. */
final class ComparisonTest {
    private static final double MARGIN = Math.log(1.05);
    private static final List<String> MODELS = List.of("llama", "qwen3", "gemma3");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // Each: metric, what it was and what it became for three models, and the whole percents.
                "output_throughput | 22.5 16.8 276.6 | 219.3 148.1 272.6 | +875 % +782 % -1 %",
                "itl_p50 | 1384 1241 77 | 90 92 78 | -93 % -93 % +1 %",
                "itl_p99 | 1562 2203 119 | 209 207 103 | -87 % -91 % -13 %",
                "ttft_p50 | 39099 174046 1318 | 3464 15071 1525 | -91 % -91 % +16 %",
                "ttft_p99 | 285209 393755 12314 | 17975 32236 12708 | -94 % -92 % +3 %",
                // Another comparison of the same log.
                "output_throughput | 299.2 206.2 309.4 | 331.3 221.6 309.4 | +11 % +7 % 0 %",
                "ttft_p50 | 8092 18157 6787 | 5833 16059 6314 | -28 % -12 % -7 %",
                "itl_p99 | 163 170 96 | 87 92 90 | -47 % -46 % -6 %",
                "output_throughput | 346.1 271.0 289.1 | 455.2 317.4 325.2 | +32 % +17 % +12 %"
            })
    void wholePercents_areRoundedByOneRule(String metric, String before, String after, String percents) {
        Comparison comparison = models("w", metric, before, after);
        List<String> shown = new ArrayList<>();
        for (Row row : comparison.pairs()) {
            Change change = row.change(1, metric(metric)).orElseThrow();
            shown.add(Percents.whole(change.share().orElseThrow()));
        }
        assertThat(String.join(" ", shown)).isEqualTo(percents);
    }

    @Test
    void costs_haveOneDecimal_andSmallChangesTwo() {
        assertThat(Percents.signed(45 / 17.0 - 1)).isEqualTo("+164.7 %");
        assertThat(Percents.signed(44 / 22.0 - 1)).isEqualTo("+100.0 %");
        assertThat(Percents.signed(67 / 24.0 - 1)).isEqualTo("+179.2 %");
        assertThat(Percents.signed(0.03)).isEqualTo("+3.00 %");
        assertThat(Percents.whole(17.9 / 10.0 - 1)).isEqualTo("+79 %");
        assertThat(Percents.whole(31.6 / 12.9 - 1)).isEqualTo("+145 %");
        // Halves go up, whatever digit is before them.
        assertThat(Percents.whole(0.125)).isEqualTo("+13 %");
        assertThat(Percents.whole(-0.125)).isEqualTo("-13 %");
        assertThat(Percents.plain(0.1625)).isEqualTo("16.3 %");
        assertThat(Percents.signed(-0.00001)).isEqualTo("0.00 %");
    }

    @Test
    void sameRatio_isBetterOrWorseByTheMetricsDirection() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("baseline")
                                .run("load", "", "throughput", 100, "ttft_p50", 100)
                                .done(),
                        file("kvcached")
                                .run("load", "", "throughput", 103, "ttft_p50", 103)
                                .done()),
                Set.of());
        Row row = comparison.pairs().getFirst();
        Change throughput = row.change(1, Metric.THROUGHPUT).orElseThrow();
        Change ttft = row.change(1, metric("ttft_p50")).orElseThrow();
        assertThat(throughput.finding(MARGIN)).isEqualTo(Finding.BETTER);
        assertThat(ttft.finding(MARGIN)).isEqualTo(Finding.WORSE);
        assertThat(throughput.share().orElseThrow()).isCloseTo(0.03, within(1e-12));
        assertThat(ttft.repetitions()).isEqualTo("single run");
        assertThat(comparison.metrics(List.of("throughput"))).containsExactly(Metric.THROUGHPUT);
    }

    @Test
    void otherWorkload_underTheSameName_isRefused() {
        var phase4 = file("p4")
                .of("aaaa1111")
                .run("paged_attention", "", "output_throughput", 346.1)
                .done();
        var phase6 = file("p6")
                .of("bbbb2222")
                .run("paged_attention", "", "output_throughput", 455.2)
                .done();
        assertThatThrownBy(() -> Comparison.of(List.of(phase4, phase6), Set.of()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("paged_attention is not the same in p4 and p6 (ids aaaa1111 and bbbb2222)");
    }

    @Test
    void workloadThatIsOnlyPartlyTheSame_isRefused_andOneWithoutAnIdWarnedOf() {
        var both = file("a")
                .of("aaaa1111")
                .run("w", "", "ttft_p50", 1)
                .of("bbbb2222")
                .run("w", "", "ttft_p50", 2)
                .done();
        var one = file("b").of("aaaa1111").run("w", "", "ttft_p50", 1).done();
        var none = file("c").run("w", "", "ttft_p50", 1).done();
        assertThatThrownBy(() -> Comparison.of(List.of(both, one), Set.of()))
                .hasMessageContaining("w is not the same in a and b (ids aaaa1111 bbbb2222 and aaaa1111)");
        assertThat(Comparison.of(List.of(one, none), Set.of()).warnings())
                .containsExactly("That b and c sent the same requests as w is not known, for only one of them tells its"
                        + " workload's id.");
        assertThat(Comparison.of(List.of(none, none), Set.of()).warnings()).isEmpty();
    }

    /** A second run in a cache that the first one left warm looks like a faster server. */
    @Test
    void unequalSharesOfCachedTokens_areWarnedOf() {
        var cold = file("a").of("aaaa1111").run("w", "", "cached_share", 0.657).done();
        var warm = file("b").of("aaaa1111").run("w", "", "cached_share", 0.985).done();
        assertThat(Comparison.of(List.of(cold, warm), Set.of()).warnings())
                .singleElement()
                .asString()
                .startsWith("In a and b 65.7 % and 98.5 % of the prompts' tokens of w were cached: ")
                .endsWith("measure both from an empty one.");
        assertThat(Comparison.of(List.of(cold, cold), Set.of()).warnings()).isEmpty();
    }

    @Test
    void originThatOneSideAloneTells_isRefused() {
        var told = file("a").run("w", "origin=wall", "ttft_p50", 1).done();
        var silent = file("b").run("w", "", "ttft_p50", 1).done();
        assertThatThrownBy(() -> Comparison.of(List.of(told, silent), Set.of()))
                .hasMessageContaining("count from wall and an origin that is not told");
    }

    @Test
    void timesFromDifferentOrigins_areRefused() {
        var sent = file("a").run("staggered", "", "ttft_p50", 16.5).done();
        var turn = file("b").run("staggered", "", "ttft_scheduled_p50", 34).done();
        assertThatThrownBy(() -> Comparison.of(List.of(sent, turn), Set.of()))
                .hasMessageContaining("count from different moments")
                .hasMessageContaining("when its turn came");
        var alone = file("a").run("staggered", "origin=sent", "ttft_p50", 16.5).done();
        var wall = file("b").run("staggered", "origin=wall", "ttft_p50", 33.4).done();
        assertThatThrownBy(() -> Comparison.of(List.of(alone, wall), Set.of()))
                .hasMessageContaining("count from sent and wall");
    }

    /** One result has no more than one counterpart, so neither of two is compared with it by guess. */
    @Test
    void resultOfOtherSettingsAndId_isNoCounterpartOfTwo() {
        Named two = named("two", result("a", "rate", "1"), result("b", "rate", "2"));
        Named one = named("one", result("c", "rate", "3"));
        assertThatThrownBy(() -> Comparison.of(List.of(two, one), Set.of()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("The files have no workload with equal settings in common: two has");
        assertThat(Comparison.of(List.of(named("alone", result("a", "rate", "1")), one), Set.of())
                        .pairs())
                .hasSize(1);
    }

    private static LoadResult result(String id, String setting, String value) {
        return new LoadResult(
                id,
                "w",
                Optional.empty(),
                "test",
                Map.of(setting, value),
                48,
                Map.of(),
                new Measures(Map.of(metric("ttft_p50"), 1.0)));
    }

    private static Named named(String name, LoadResult... results) {
        return new Named(name, new ResultFile(name, "unknown", "now", Map.of(), List.of(results)));
    }

    @Test
    void switchThatChangesWhatIsMeasured_hasToBeAlike() {
        var plain = file("a").run("w", "", "ttft_p50", 1).done();
        var blocking = file("b")
                .environment("env.CUDA_LAUNCH_BLOCKING", "1")
                .run("w", "", "ttft_p50", 2)
                .done();
        assertThatThrownBy(() -> Comparison.of(List.of(plain, blocking), Set.of()))
                .hasMessageContaining("CUDA_LAUNCH_BLOCKING is not set and 1 in a and b");
        assertThat(Comparison.of(List.of(blocking, blocking), Set.of()).pairs()).hasSize(1);
    }

    @Test
    void unequalSettings_areWarnedOf() {
        Comparison whole = Comparison.of(
                List.of(
                        file("p7").run("w", "variant=base", "ttft_p50", 2).done(),
                        file("p8")
                                .run("w", "variant=1536-blocks", "ttft_p50", 1)
                                .done()),
                Set.of());
        assertThat(whole.warnings()).containsExactly("The files differ in variant: p7 base, p8 1536-blocks.");
        Comparison one = Comparison.of(
                List.of(
                        file("p7")
                                .run("w", "model=a blocks=0", "ttft_p50", 2)
                                .run("v", "model=b blocks=0", "ttft_p50", 2)
                                .done(),
                        file("p8")
                                .run("w", "model=a blocks=0", "ttft_p50", 2)
                                .run("v", "model=b blocks=1536", "ttft_p50", 1)
                                .done()),
                Set.of());
        assertThat(one.pairs()).hasSize(2);
        assertThat(one.warnings())
                .containsExactly("v blocks=0 model=b has unequal settings in p7 and p8: blocks is 0 and 1536.");
    }

    @Test
    void equalConfigurations_areRepetitions_andTheirSpreadIsTold() {
        var sweeps = file("sweeps")
                .run("poc", "arm=baseline memory=0.08", "ttft_mean", 69.89)
                .run("poc", "arm=baseline memory=0.08", "ttft_mean", 68.39)
                .run("poc", "arm=pinned memory=0.08", "ttft_mean", 55.65)
                .run("poc", "arm=pinned memory=0.08", "ttft_mean", 54.52)
                .run("poc", "arm=baseline memory=0.12", "ttft_mean", 66.0)
                .done();
        List<String> spreads = Comparison.of(List.of(sweeps), Set.of()).spreads(List.of(metric("ttft_mean")));
        assertThat(spreads)
                .containsExactly(
                        "sweeps, poc arm=baseline memory=0.08: 2 runs; largest over smallest TTFT mean +2.2 %",
                        "sweeps, poc arm=pinned memory=0.08: 2 runs; largest over smallest TTFT mean +2.1 %");
        assertThat(Figures.apart(new double[] {317.4, 318.1})).isCloseTo(0.0022, within(1e-4));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pass", "run", "repeat", "repetition", "life", "pair"})
    void settingThatCountsRepetitions_tellsNoConfigurationsApart(String count) {
        var counted = file("a")
                .run("w", "rate=8 " + count + "=1", "ttft_p50", 1)
                .run("w", "rate=8 " + count + "=2", "ttft_p50", 2)
                .done();
        assertThat(Group.of(counted.results()))
                .singleElement()
                .satisfies(group -> assertThat(group.runs()).hasSize(2));
    }

    @Test
    void threeRuns_giveStudentsInterval_andFewerNone() {
        double[] before = {100, 110, 121};
        double[] after = {200, 220, 242};
        Change change = Change.of(metric("ttft_p50"), before, after);
        assertThat(change.share().orElseThrow()).isCloseTo(1.0, within(1e-9));
        // Both deviations are ln 1.1, so the error is ln 1.1 * sqrt(2/3) with 4 degrees of freedom, and t is 2.776445.
        double half = 2.776445 * Math.log(1.1) * Math.sqrt(2.0 / 3);
        assertThat(change.interval().orElseThrow().halfWidth()).isCloseTo(half, within(1e-6));
        assertThat(change.finding(MARGIN)).isEqualTo(Finding.WORSE);
        assertThat(Change.of(metric("ttft_p50"), new double[] {100, 110}, after).interval())
                .isEmpty();
    }

    @Test
    void sameness_needsTheIntervalWithinTheMargin() {
        double[] still = {100, 100.4, 99.6, 100.1};
        double[] noisy = {80, 120, 95, 108};
        Metric metric = metric("ttft_p50");
        assertThat(Change.of(metric, still, new double[] {100.2, 99.9, 100.3, 100})
                        .finding(MARGIN))
                .isEqualTo(Finding.SAME);
        assertThat(Change.of(metric, still, noisy).finding(MARGIN)).isEqualTo(Finding.UNDECIDED);
        assertThat(Change.of(metric, new double[] {5}, new double[] {5}).finding(MARGIN))
                .isEqualTo(Finding.EQUAL);
    }

    @Test
    void sameness_isTheTestOfEquivalence_soItAsksTheNarrowInterval() {
        double[] before = {97, 100, 103, 100};
        Change change = Change.of(metric("ttft_p50"), before, new double[] {100, 97, 103, 100});
        double narrow = change.narrow().orElseThrow().high();
        double wide = change.interval().orElseThrow().high();
        assertThat(narrow).isLessThan(wide);
        assertThat(change.finding((narrow + wide) / 2)).isEqualTo(Finding.SAME);
        assertThat(change.finding(narrow / 2)).isEqualTo(Finding.UNDECIDED);
    }

    @Test
    void valueOfSeveralRuns_isTheirGeometricMean_asTheRatioIs() {
        Change change = Change.of(metric("ttft_p50"), new double[] {100, 400}, new double[] {50, 50});
        assertThat(change.from()).isCloseTo(200, within(1e-9));
        assertThat(change.to() / change.from()).isCloseTo(1 + change.share().orElseThrow(), within(1e-9));
    }

    @Test
    void regressionGate_asksTheIntervalWhereThereIsOne() {
        Metric metric = metric("output_throughput");
        double[] before = {100, 101, 99, 100};
        assertThat(Change.of(metric, before, new double[] {90, 91, 89, 90}).isWorseBy(0.05))
                .isTrue();
        // Worse by eight percent in the mean, and by less than five for all that is known.
        assertThat(Change.of(metric, before, new double[] {80, 104, 92, 93}).isWorseBy(0.05))
                .isFalse();
        assertThat(Change.of(metric, new double[] {100}, new double[] {92}).isWorseBy(0.05))
                .isTrue();
        assertThat(Change.of(metric, new double[] {100}, new double[] {110}).isWorseBy(0.05))
                .isFalse();
        assertThat(Change.of(Metric.ERRORS, new double[] {0}, new double[] {2}).isWorseBy(0.05))
                .isTrue();
    }

    @Test
    void largestRegressions_areTheTopThree_evenWhereNobodySpokeOfThem() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("p8")
                                .run(
                                        "cb",
                                        "model=llama",
                                        "ttft_p50",
                                        170,
                                        "ttft_p99",
                                        720,
                                        "itl_p50",
                                        34,
                                        "itl_p99",
                                        90)
                                .run(
                                        "cb",
                                        "model=qwen3",
                                        "ttft_p50",
                                        175,
                                        "ttft_p99",
                                        3490,
                                        "itl_p50",
                                        45,
                                        "itl_p99",
                                        128)
                                .done(),
                        file("p9")
                                .run(
                                        "cb",
                                        "model=llama",
                                        "ttft_p50",
                                        168,
                                        "ttft_p99",
                                        702,
                                        "itl_p50",
                                        47,
                                        "itl_p99",
                                        91)
                                .run(
                                        "cb",
                                        "model=qwen3",
                                        "ttft_p50",
                                        1215,
                                        "ttft_p99",
                                        11690,
                                        "itl_p50",
                                        80,
                                        "itl_p99",
                                        129)
                                .done()),
                Set.of());
        assertThat(comparison.regressions(comparison.metrics(List.of()), MARGIN))
                .extracting(placed ->
                        placed.row().label() + " " + placed.change().metric().name())
                .containsExactly("cb model=qwen3 ttft_p50", "cb model=qwen3 ttft_p99", "cb model=qwen3 itl_p50");
    }

    @Test
    void regressionFromNothing_comesBeforeAllThatHaveAShare() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("a")
                                .run("w", "", "ttft_p50", 10, "itl_p50", 10, "errors", 0)
                                .done(),
                        file("b")
                                .run("w", "", "ttft_p50", 90, "itl_p50", 20, "errors", 2)
                                .done()),
                Set.of());
        assertThat(comparison.regressions(comparison.metrics(List.of()), MARGIN))
                .extracting(placed -> placed.change().metric().name())
                .containsExactly("errors", "ttft_p50", "itl_p50");
    }

    @Test
    void mixedSignsOverModels_giveNoOverallStatement_andALoneRegressionItsName() {
        assertThat(statements("output_throughput", "220.7 148.8 276.0", "216.7 155.9 262.9"))
                .containsExactly("w, output throughput: mixed signs, so nothing holds for all (-1.8 % model=llama,"
                        + " +4.8 % model=qwen3, -4.7 % model=gemma3).");
        assertThat(statements("output_throughput", "477.0 325.3 315.7", "440.2 175.3 323.7"))
                .singleElement()
                .asString()
                .contains("-7.7 % model=llama, -46.1 % model=qwen3, +2.5 % model=gemma3")
                .endsWith("the regression is that of model=qwen3 alone.");
        assertThat(statements("output_throughput", "100 100 100", "110 112 109"))
                .isEmpty();
    }

    @Test
    void meanAndMedian_thatDisagree_areSaidSo() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("bl")
                                .run("poc", "", "ttft_mean", 68.39, "ttft_p50", 39.0)
                                .done(),
                        file("pin")
                                .run("poc", "", "ttft_mean", 54.52, "ttft_p50", 43.8)
                                .done()),
                Set.of());
        assertThat(comparison.statements(comparison.metrics(List.of()), MARGIN))
                .singleElement()
                .asString()
                .contains("mean and median of TTFT disagree (-20.3 % and +12.3 %)");
    }

    @Test
    void noise_isTheLargestChangeOfWhatNothingChanged() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("p7")
                                .run("baseline", "model=a", "output_throughput", 100)
                                .run("baseline", "model=b", "output_throughput", 47.2)
                                .run("prefix", "model=a", "output_throughput", 206.2)
                                .done(),
                        file("p8")
                                .run("baseline", "model=a", "output_throughput", 101.1)
                                .run("baseline", "model=b", "output_throughput", 64.6)
                                .run("prefix", "model=a", "output_throughput", 221.6)
                                .done()),
                Set.of());
        assertThat(comparison
                        .noiseFloor(Metric.OUTPUT_THROUGHPUT, Set.of("baseline"))
                        .orElseThrow())
                .isCloseTo(0.3686, within(1e-4));
    }

    @Test
    void noise_isASizeInEitherDirection() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("a")
                                .run("baseline", "model=a", "output_throughput", 100)
                                .run("baseline", "model=b", "output_throughput", 100)
                                .done(),
                        file("b")
                                .run("baseline", "model=a", "output_throughput", 102)
                                .run("baseline", "model=b", "output_throughput", 70)
                                .done()),
                Set.of());
        assertThat(comparison
                        .noiseFloor(Metric.OUTPUT_THROUGHPUT, Set.of("baseline"))
                        .orElseThrow())
                .isCloseTo(0.3, within(1e-9));
    }

    @Test
    void whatHasNoCounterpart_isNamed_andNothingInCommonRefused() {
        var both = file("a")
                .run("w", "model=x", "ttft_p50", 1)
                .run("v", "model=x", "ttft_p50", 1)
                .done();
        var one = file("b")
                .run("w", "model=x", "ttft_p50", 2)
                .run("u", "model=x", "ttft_p50", 2)
                .done();
        assertThat(Comparison.of(List.of(both, one), Set.of()).alone())
                .containsEntry("a", List.of("v"))
                .containsEntry("b", List.of("u"));
        assertThatThrownBy(() -> Comparison.of(List.of(both, one), Set.of("t")))
                .hasMessageContaining("The file a has no workload t; it has w, v.");
        var other = file("c")
                .run("t", "model=x", "ttft_p50", 2)
                .run("s", "model=x", "ttft_p50", 2)
                .done();
        assertThatThrownBy(() -> Comparison.of(List.of(both, other), Set.of()))
                .hasMessageContaining("no workload with equal settings in common");
        assertThatThrownBy(() -> Comparison.of(List.of(both, one), Set.of()).metrics(List.of("speed")))
                .hasMessageContaining("There is no metric 'speed'");
        assertThatThrownBy(() -> Comparison.of(List.of(both, one), Set.of()).metrics(List.of("itl_p50")))
                .hasMessageContaining("No result has itl_p50");
    }

    @Test
    void serverThatFallsBehindTheOfferedRate_isSaturated() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("a")
                                .run("w", "rate=16", "request_throughput", 15.9)
                                .run("w", "rate=32", "request_throughput", 21)
                                .done(),
                        file("b")
                                .run("w", "rate=16", "request_throughput", 15.8)
                                .run("w", "rate=32", "request_throughput", 22)
                                .done()),
                Set.of());
        assertThat(comparison.pairs()).extracting(Row::isSaturated).containsExactly(false, true);
    }

    @Test
    void serverOfTheOtherFileAlone_thatFallsBehind_isSaturatedToo() {
        Comparison comparison = Comparison.of(
                List.of(
                        file("a")
                                .run("w", "rate=16", "request_throughput", 15.9)
                                .done(),
                        file("b").run("w", "rate=16", "request_throughput", 11).done()),
                Set.of());
        assertThat(comparison.pairs()).extracting(Row::isSaturated).containsExactly(true);
    }

    private static List<String> statements(String metric, String before, String after) {
        return models("w", metric, before, after).statements(List.of(metric(metric)), MARGIN);
    }

    private static Comparison models(String workload, String metric, String before, String after) {
        Files old = file("before");
        Files fresh = file("after");
        for (int i = 0; i < MODELS.size(); i++) {
            old.run(workload, "model=" + MODELS.get(i), metric, Double.valueOf(before.split(" ", -1)[i]));
            fresh.run(workload, "model=" + MODELS.get(i), metric, Double.valueOf(after.split(" ", -1)[i]));
        }
        return Comparison.of(List.of(old.done(), fresh.done()), Set.of());
    }

    private static Metric metric(String name) {
        return Metric.named(name).orElseThrow();
    }
}
