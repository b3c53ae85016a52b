package io.holdfast.workbench.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Judge;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.MeanInterval;
import io.holdfast.evidence.Shortfall;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.workbench.compare.Figures;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.Claim.Status;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.Judged;
import io.holdfast.workbench.table.Review.Section;
import io.holdfast.workbench.table.Review.Settings;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Two published sweeps of one order each, and tables made for one rule. */
class SweepReviewTest {
    private static final Metric MEAN = Metric.mean(Quantity.TTFT);
    private static final Metric P50 = Metric.percentile(Quantity.TTFT, 50);
    private static final Metric P99 = Metric.percentile(Quantity.TTFT, 99);
    private static final double DELTA = Math.log(1.05);

    private final List<PublishedTable> sweeps = Seeds.tables("s0/sweeps.md");
    private final Sweep memory = Sweep.of(sweeps.getFirst()).getFirst();
    private final Sweep load = Sweep.of(sweeps.getLast()).getFirst();
    private final Review review = Review.of(Seeds.file("s0/sweeps.md"), Settings.defaults());

    @Test
    void memorySweep_allTenChangesAreReproduced() {
        assertThat(changes(sweeps.getFirst(), MEAN))
                .containsExactly("-22.4 %", "-20.4 %", "-26.0 %", "-30.5 %", "-24.6 %");
        assertThat(changes(sweeps.getFirst(), P99))
                .containsExactly("-45.1 %", "-36.8 %", "-40.2 %", "-49.0 %", "-37.6 %");
        assertThat(texts(review.sections().getFirst(), Topic.ARITHMETIC))
                .containsExactly("All 10 printed changes are what the numbers give.");
    }

    @Test
    void concurrencySweep_allFifteenChangesAreReproduced() {
        assertThat(changes(sweeps.getLast(), MEAN))
                .containsExactly("-5.7 %", "-10.9 %", "-20.8 %", "-20.3 %", "-66.8 %");
        assertThat(changes(sweeps.getLast(), P50)).containsExactly("-0.4 %", "+1.6 %", "-3.9 %", "+12.3 %", "-32.4 %");
        assertThat(changes(sweeps.getLast(), P99))
                .containsExactly("-68.4 %", "-68.8 %", "-58.7 %", "-42.6 %", "-73.2 %");
        assertThat(texts(review.sections().getLast(), Topic.ARITHMETIC))
                .containsExactly("All 15 printed changes are what the numbers give.");
    }

    @Test
    void logRatiosOfBothSweeps_areReproduced() {
        assertThat(logRatios(memory, MEAN)).containsExactly(-0.2534, -0.2278, -0.3016, -0.3644, -0.2824);
        assertThat(logRatios(load, MEAN)).containsExactly(-0.0590, -0.1154, -0.2333, -0.2267, -1.1025);
        assertThat(logRatios(load, P50)).containsExactly(-0.0041, 0.0159, -0.0398, 0.1163, -0.3912);
        assertThat(logRatios(load, P99)).containsExactly(-1.1508, -1.1662, -0.8834, -0.5552, -1.3180);
        MeanInterval naive = memory.naive(MEAN).orElseThrow();
        assertThat(naive.mean()).isCloseTo(-0.285934, within(1e-6));
        assertThat(naive.sd()).isCloseTo(0.052068, within(1e-6));
        assertThat(texts(review.sections().getFirst(), Topic.EFFECT_DOSE).getLast())
                .contains("-24.9 % (95 % interval -29.6 % to -19.9 %)");
    }

    @Test
    void baselineOverMemory_hasTheWrongSign() {
        LinearFit line = memory.baselineOverMemory(MEAN).orElseThrow();
        assertThat(line.slope()).isCloseTo(0.0321, within(5e-5));
        assertThat(line.slopeSe()).isCloseTo(0.0072, within(5e-5));
        assertThat(line.pTwoSided()).isCloseTo(0.021, within(5e-4));
        assertThat(against(review.sections().getFirst(), Topic.BASELINE_DOSE))
                .singleElement()
                .asString()
                .contains("0.0321 (standard error 0.0072, p 0.021)", "wrong sign for eviction");
    }

    @Test
    void effectOverMemory_isFlatAndSpeaksAgainstIt() {
        LinearFit line = memory.effectOverMemory(MEAN).orElseThrow();
        assertThat(line.slope()).isCloseTo(-0.0330, within(5e-5));
        assertThat(line.slopeSe()).isCloseTo(0.0316, within(5e-5));
        assertThat(line.pTwoSided()).isCloseTo(0.373, within(5e-4));
        assertThat(against(review.sections().getFirst(), Topic.EFFECT_DOSE))
                .singleElement()
                .asString()
                .contains("would shrink with more memory");
    }

    @Test
    void placeboWithMostMemory_showsTheSameEffectAndFails() {
        Sweep.Placebo placebo = memory.placebo(MEAN).orElseThrow();
        assertThat(placebo.logRatio()).isCloseTo(-0.2824, within(5e-5));
        assertThat(placebo.fails(DELTA)).isTrue();
        assertThat(placebo.place().where()).containsEntry("memory fraction", "0.40");
        assertThat(against(review.sections().getFirst(), Topic.PLACEBO))
                .singleElement()
                .asString()
                .contains("-24.6 %", "outside -4.8 % to +5.0 %");
    }

    @Test
    void sweepThatFollowsMemory_passesDoseAndPlacebo() {
        StringBuilder table = new StringBuilder("""
            # sweep
            # shared tokens: 1000, unique tokens: 0, concurrency: 8
            capacity,repetition,baseline TTFT p50 (ms),pinned TTFT p50 (ms)
            """);
        double[] capacities = {500, 700, 1_000, 1_400, 4_000};
        SplittableRandom random = new SplittableRandom(1);
        for (double capacity : capacities) {
            for (int repetition = 1; repetition <= 5; repetition++) {
                double noise = 1 + 0.004 * random.nextDouble();
                double lost = capacity == 4_000 ? 0 : 80 * 1_000 / capacity;
                table.append(String.format(
                        Locale.ROOT, "%.0f,%d,%.2f,%.2f%n", capacity, repetition, (40 + lost) * noise, 40 / noise));
            }
        }
        Review found = review(table.toString());
        assertThat(against(found, Topic.BASELINE_DOSE)).isEmpty();
        assertThat(against(found, Topic.EFFECT_DOSE)).isEmpty();
        assertThat(against(found, Topic.PLACEBO)).isEmpty();
        assertThat(texts(found.sections().getFirst(), Topic.PLACEBO))
                .singleElement()
                .asString()
                .contains("as it must");
        assertThat(found.verdict().orElseThrow().headline()).isEqualTo("INCONCLUSIVE(design)");
        assertThat(found.claims()).isEmpty();
    }

    @Test
    void placeboInsideTheMargins_isNoProofAsASingleRun() {
        Review found = review("""
            capacity,baseline TTFT p50 (ms),pinned TTFT p50 (ms)
            1000,40,20
            2000,30,20
            4000,20,20
            """);
        assertThat(against(found, Topic.PLACEBO)).singleElement().asString().contains("nothing tells how sure");
    }

    @Test
    void baselineTail_isAColdStartFrom4To32AndNoneWith64() {
        double[] baseline = {94.57, 108.43, 100.80, 126.73, 391.87};
        double[] pinned = {29.92, 33.78, 41.67, 72.74, 104.89};
        MeanInterval found = Sweep.coldStart(Arrays.copyOf(baseline, 4), Arrays.copyOf(pinned, 4))
                .orElseThrow();
        assertThat(found.mean()).isCloseTo(107.6, within(0.05));
        assertThat(found.sd()).isCloseTo(13.9, within(0.05));
        assertThat(found.sd() / found.mean()).isCloseTo(0.13, within(0.005));
        assertThat(Sweep.coldStart(baseline, pinned)).isEmpty();
        assertThat(Sweep.coldStart(Arrays.copyOf(baseline, 4), Arrays.copyOf(baseline, 4)))
                .isEmpty();
        assertThat(against(review.sections().getLast(), Topic.COLD_START))
                .singleElement()
                .asString()
                .contains("at concurrency 4 to 32 (mean 107.6 ms, standard deviation 13.9, 0.13 of the mean)");
        double[] median = {26.89, 28.12, 41.30, 55.69};
        assertThat(new double[] {
                    baseline[0] / median[0], baseline[1] / median[1], baseline[2] / median[2], baseline[3] / median[3]
                })
                .usingComparatorWithPrecision(0.05)
                .containsExactly(3.5, 3.9, 2.4, 2.3);
    }

    @Test
    void meanAndMedian_disagreeAt8And32Alone() {
        assertThat(review.sections().getLast().remarks().stream()
                        .filter(remark -> remark.topic() == Topic.MIXED)
                        .map(Remark::where))
                .containsExactly("concurrency 8", "concurrency 32");
        assertThat(texts(review.sections().getLast(), Topic.MIXED).getLast())
                .contains("TTFT mean changes by -20.3 %, and TTFT P50 by +12.3 %");
    }

    @Test
    void firstWave_explainsTheMeanByAboutOneWaveOfRequests() {
        assertThat(load.places().stream().map(Place::firstWave))
                .usingComparatorForType((a, b) -> Math.abs(a - b) < 0.05 ? 0 : Double.compare(a, b), Double.class)
                .containsExactly(3.1, 5.7, 21.3, 25.0, 72.3);
        assertThat(texts(review.sections().getLast(), Topic.FIRST_WAVE).getFirst())
                .contains(
                        "concurrency 4: 3.1 (0.78 waves); concurrency 8: 5.7 (0.71 waves); concurrency 16: 21.3 (1.33");
    }

    @Test
    void equalConfigurationsInTwoTables_areReplicates() {
        List<Replicate> found = Replicate.in(sweeps);
        assertThat(found).hasSize(1);
        assertThat(found.getFirst().text())
                .contains(
                        "69.89 -> 55.65", "68.39 -> 54.52", "the baseline differs by 2.2 %", "the other arm by 2.1 %");
        List<PublishedTable> other = List.of(
                sweeps.getFirst(),
                Seeds.table("concurrency: 32, memory fraction: 0.08, capacity: 22K, requests: 129, shared tokens: 248,"
                        + " unique tokens: 200\n\n| TTFT avg (ms) |\n|---|\n| 68.39 -> 54.52 |\n"));
        assertThat(Replicate.in(other)).as("another number of requests").isEmpty();
    }

    @Test
    void demand_countsWhatIsSharedOnce() {
        Place at64 = load.places().getLast();
        Demand demand = Demand.of(at64).orElseThrow();
        assertThat(demand.tokens()).isEqualTo(13_048);
        assertThat(demand.countedEachTime()).isEqualTo(28_672);
        assertThat(demand.pressure()).isCloseTo(13_048 / 22_000.0, within(1e-9));
        assertThat(texts(review.sections().getLast(), Topic.DEMAND))
                .singleElement()
                .asString()
                .contains("13,048 tokens", "28,672 if it is counted for each", "pressure is 0.59");
    }

    @Test
    void biasThatSomebodyNames_isAFigureAndNoCorrection() {
        Review found = Review.of(Seeds.file("s0/sweeps.md"), new Settings(Set.of(), List.of(15.0, 20.0), "http://a:1"));
        assertThat(found.sections().getLast().remarks().stream()
                        .filter(remark -> remark.topic() == Topic.ORDER_BIAS)
                        .filter(remark -> remark.where().equals("concurrency 64"))
                        .map(Remark::text))
                .satisfiesExactly(
                        fifteen -> assertThat(fifteen).contains("-64.5 % would be left; only an A/A tells"),
                        twenty -> assertThat(twenty).contains("-63.7 % would be left"));
    }

    @Test
    void whatIsTrueOfEveryTable_isSaidOnce() {
        assertThat(review.remarks())
                .extracting(Remark::topic)
                .containsExactly(Topic.ORDER, Topic.ORDER, Topic.EXPOSURE, Topic.TAIL, Topic.REPLICATES);
        assertThat(review.sections()).allSatisfy(section -> {
            assertThat(texts(section, Topic.ORDER)).isEmpty();
            assertThat(texts(section, Topic.EXPOSURE)).isEmpty();
            assertThat(texts(section, Topic.REPETITIONS)).hasSize(1);
        });
    }

    @Test
    void verdictOfARun_givesTheStatusOfItsClaim() {
        CrossoverData data = CrossoverData.of(
                new double[] {-0.20, -0.23, -0.21, -0.24},
                new double[] {-0.22, -0.20, -0.25, -0.21},
                new double[] {-0.21, -0.24, -0.19, -0.22});
        Experiment artefact = Experiment.of(
                data,
                new CacheProof(
                        Optional.of(new Interval(0.9, 1)),
                        Optional.of(new Interval(0.9, 1)),
                        CacheProof.FINEST_THRESHOLD));
        assertThat(Status.of(Judge.judge(artefact, Criteria.standard()))).contains(Status.SUSPECT);
        assertThat(Status.of(Judge.judge(
                        Experiment.of(
                                CrossoverData.of(
                                        new double[] {0, 0.01, -0.01, 0.005},
                                        new double[] {0.30, 0.31, 0.29, 0.30},
                                        new double[] {-0.30, -0.31, -0.29, -0.30}),
                                CacheProof.unknown()),
                        Criteria.standard())))
                .as("a gain that is a loss")
                .contains(Status.SUSPECT);
        assertThat(Status.of(Judge.judge(
                        artefact.withFailedGates(List.of("Warm-up and load sent other prompts.")),
                        Criteria.standard())))
                .contains(Status.INVALID);
        assertThat(Status.of(Judge.judge(
                        Experiment.of(
                                CrossoverData.of(
                                        new double[] {0, 0.01, -0.01},
                                        new double[] {-1.1, -0.7, -0.9},
                                        new double[] {0.6, 0.0, 0.3}),
                                CacheProof.unknown()),
                        Criteria.standard())))
                .contains(Status.DIRECTIONALLY_CORRECT);
    }

    @Test
    void everyLevel_isInconclusiveByDesignAndNeverReal() {
        List<Judged> all = review.sections().stream()
                .flatMap(section -> section.verdicts().stream())
                .toList();
        assertThat(all).hasSize(10);
        assertThat(all).allSatisfy(judged -> {
            assertThat(judged.verdict().finding()).isEqualTo(Finding.INCONCLUSIVE);
            assertThat(judged.verdict().shortfall()).contains(Shortfall.DESIGN);
        });
        assertThat(review.isUndecided()).isTrue();
        List<Judged> byLoad = review.sections().getLast().verdicts();
        assertThat(byLoad)
                .filteredOn(judged -> judged.signs().contains("the median did not fall by 5 %"))
                .extracting(Judged::where)
                .containsExactly("concurrency 4", "concurrency 8", "concurrency 16", "concurrency 32");
        assertThat(review.sections().getFirst().verdicts())
                .allSatisfy(judged -> assertThat(judged.signs()).contains("as large with memory to spare"));
    }

    @Test
    void tableWithBothOrdersAndEnoughPairs_isJudgedAndStillNotReal() {
        double[] bias = {-0.20, -0.23, -0.21, -0.24};
        StringBuilder artefact = new StringBuilder("pair,order,arm,TTFT p50 (ms)\n");
        StringBuilder real = new StringBuilder("pair,order,arm,TTFT p50 (ms)\n");
        for (int i = 0; i < 4; i++) {
            for (String kind : List.of("AA", "BP", "PB")) {
                for (int leg = 1; leg <= 2; leg++) {
                    boolean pinned = !kind.equals("AA") && kind.charAt(leg - 1) == 'P';
                    String arm = pinned ? "pinned" : "baseline";
                    double order = leg == 2 ? Math.exp(bias[i]) : 1;
                    artefact.append(String.format(Locale.ROOT, "%s%d,%d,%s,%.4f%n", kind, i, leg, arm, 100 * order));
                    real.append(String.format(
                            Locale.ROOT, "%s%d,%d,%s,%.4f%n", kind, i, leg, arm, (pinned ? 40 : 100) * order));
                }
            }
        }
        Review byOrder = review(artefact.toString());
        assertThat(byOrder.verdict().orElseThrow().finding()).isEqualTo(Finding.ORDER_ARTEFACT);
        assertThat(texts(byOrder.sections().getFirst(), Topic.ORDER_BIAS))
                .singleElement()
                .asString()
                .contains("-19.7 %", "15 to 25 %");
        assertThat(review(real.toString()).verdict().orElseThrow().headline()).startsWith("INCONCLUSIVE(unmeasured)");
    }

    @Test
    void tableOfThroughput_isJudgedByItsOwnDirection() {
        assertThat(review(throughputs(150)).verdict().orElseThrow().headline()).startsWith("INCONCLUSIVE(unmeasured)");
        assertThat(review(throughputs(70)).verdict().orElseThrow().finding()).isEqualTo(Finding.HARMFUL);
    }

    /** Pairs of both orders and A/A, of 100 tokens a second without a hold. */
    private static String throughputs(double pinned) {
        StringBuilder table = new StringBuilder("pair,order,arm,throughput (tok/s)\n");
        for (int i = 0; i < 4; i++) {
            for (String kind : List.of("AA", "BP", "PB")) {
                for (int leg = 1; leg <= 2; leg++) {
                    boolean held = !kind.equals("AA") && kind.charAt(leg - 1) == 'P';
                    table.append(String.format(
                            Locale.ROOT,
                            "%s%d,%d,%s,%.4f%n",
                            kind,
                            i,
                            leg,
                            held ? "pinned" : "baseline",
                            (held ? pinned : 100) * (1 + 0.002 * ((i + leg) % 3))));
                }
            }
        }
        return table.toString();
    }

    @Test
    void armsInOneOrderOnly_areSaidWithTheOneThatRanFirst() {
        String rows =
                "pair,order,arm,TTFT p50 (ms)\n1,first,%1$s,100\n1,second,%2$s,60\n2,first,%1$s,99\n2,second,%2$s,61\n";
        assertThat(against(review(rows.formatted("baseline", "pinned")), Topic.ORDER))
                .anySatisfy(text -> assertThat(text).startsWith("The arms ran in one order only (baseline first)"));
        assertThat(against(review(rows.formatted("pinned", "baseline")), Topic.ORDER))
                .anySatisfy(text -> assertThat(text).startsWith("The arms ran in one order only (treatment first)"));
    }

    @Test
    void orderBiasOfAFifth_isPrintedInPercent() {
        Review found = review("""
            pair,order,arm,TTFT p50 (ms)
            1,first,baseline,100
            1,second,baseline,81.873
            2,first,baseline,100
            2,second,pinned,60
            """);
        assertThat(texts(found.sections().getFirst(), Topic.ORDER_BIAS))
                .singleElement()
                .asString()
                .contains("by -18.1 %", "within the 15 to 25 %");
    }

    @Test
    void threeRepetitions_haveMeanAndDeviationAndCannotDecide() {
        Review found = review("""
            repetition,BL TTFT avg (ms),PIN TTFT avg (ms)
            1,200,80
            2,210,82
            3,220,84
            """);
        assertThat(against(found, Topic.REPETITIONS))
                .singleElement()
                .asString()
                .contains(
                        "across 3 repetitions: baseline mean 210.00, standard deviation 10.00; treatment mean 82.00,"
                                + " standard deviation 2.00.",
                        "cannot decide; 4 can.");
    }

    @Test
    void spread_isTabledByArmAndPositionAndTested() {
        String header = "pair,order,arm,TTFT p50 (ms),TTFT std (ms)\n";
        StringBuilder narrower = new StringBuilder(header);
        StringBuilder equal = new StringBuilder(header);
        for (int pair = 1; pair <= 6; pair++) {
            boolean reversed = pair % 2 == 0;
            double jitter = 1 + 0.02 * pair;
            narrower.append(
                    String.format(Locale.ROOT, "%d,%d,baseline,50,%.2f%n", pair, reversed ? 2 : 1, 20 * jitter));
            narrower.append(String.format(Locale.ROOT, "%d,%d,pinned,50,%.2f%n", pair, reversed ? 1 : 2, 5 / jitter));
            equal.append(String.format(Locale.ROOT, "%d,%d,baseline,50,%.2f%n", pair, reversed ? 2 : 1, 20 * jitter));
            equal.append(String.format(
                    Locale.ROOT, "%d,%d,pinned,50,%.2f%n", pair, reversed ? 1 : 2, reversed ? 22.0 : 19.0));
        }
        PublishedTable table = Seeds.table(narrower.toString());
        SpreadTable spread = SpreadTable.of(Metric.std(Quantity.TTFT), table.comparisons(Metric.std(Quantity.TTFT)));
        assertThat(spread.cells()).hasSize(4);
        assertThat(spread.text()).contains("baseline first 20.40 to 22.00", "treatment second 4.55 to 4.90");
        assertThat(spread.differs()).isTrue();
        assertThat(review(narrower.toString()).claims())
                .extracting(Claim::status)
                .containsExactly(Status.LIKELY_REAL);
        StringBuilder ordered = new StringBuilder(header);
        for (int pair = 1; pair <= 6; pair++) {
            double jitter = 1 + 0.02 * pair;
            ordered.append(String.format(Locale.ROOT, "%d,1,baseline,50,%.2f%n", pair, 20 * jitter));
            ordered.append(String.format(Locale.ROOT, "%d,2,pinned,50,%.2f%n", pair, 5 / jitter));
        }
        assertThat(review(ordered.toString()).claims())
                .as("it was second each time")
                .extracting(Claim::status)
                .containsExactly(Status.SUSPECT);
        PublishedTable same = Seeds.table(equal.toString());
        assertThat(SpreadTable.of(Metric.std(Quantity.TTFT), same.comparisons(Metric.std(Quantity.TTFT)))
                        .differs())
                .isFalse();
        Review oneOrder = review("BL TTFT std (ms),PIN TTFT std (ms)\n33,16\n");
        assertThat(texts(oneOrder.sections().getFirst(), Topic.SPREAD))
                .singleElement()
                .asString()
                .contains("baseline 33.00 to 33.00", "may be what being second does");
    }

    @Test
    void gainThatThePlaceboShows_isASuspectClaim() {
        assertThat(review.claims()).singleElement().satisfies(claim -> {
            assertThat(claim.status()).isEqualTo(Status.SUSPECT);
            assertThat(claim.claim()).contains("TTFT mean changes by -20.4 % to -30.5 %", "concurrency 32");
            assertThat(claim.evidence()).containsExactly("Memory sweep: memory fraction 0.40, TTFT mean -24.6 %");
        });
    }

    @Test
    void ordersThatAgreeWithAWideSize_areDirectionallyCorrect() {
        assertThat(Status.of(-0.90, -0.30, new Interval(-0.90, -0.30))).contains(Status.DIRECTIONALLY_CORRECT);
        assertThat(Status.of(-0.90, 0.10, new Interval(-0.90, 0.10))).isEmpty();
        assertThat(Status.of(-0.62, -0.60, new Interval(-0.65, -0.57))).isEmpty();
    }

    @Test
    void cliffInASweep_isFoundAndThePointBeforeItChosen() {
        PublishedTable table = Seeds.table("""
            | batch | blocks | Throughput | Notes |
            |---:|---:|---:|---|
            | 12 | 768 | 293.9 | too few |
            | 16 | 1024 | 318.1 | |
            | 20 | 1280 | 326.2 | |
            | 24 | 2048 | 121.4 | no room left |
            """);
        assertThat(table.notes()).containsExactly("'Throughput': without a unit, taken in tok/s, as is usual.");
        Sweep sweep = Sweep.of(table).getFirst();
        assertThat(sweep.axis()).isEqualTo("batch");
        assertThat(sweep.cliff(Metric.OUTPUT_THROUGHPUT).orElseThrow().text("tok/s"))
                .isEqualTo("From batch 20 to batch 24 the server falls off a cliff, from 326.2 to 121.4 tok/s, a factor"
                        + " of 2.7; stay at batch 16 (318.1 tok/s), which is within 5 % of the best, batch 20 (326.2),"
                        + " and further from the cliff.");
        assertThat(Percents.plain(Figures.apart(new double[] {317.4, 318.1}))).isEqualTo("0.2 %");
    }

    @Test
    void rerunPlan_hasControlsBothOrdersAndAPlacebo() {
        List<RerunPlan.Step> steps = review.rerun();
        assertThat(steps)
                .extracting(RerunPlan.Step::command)
                .startsWith(
                        "holdfast loadtest preset pin-poc --engine http://127.0.0.1:30000 --hold session --pairs 6"
                                + " --out rerun-pin-poc --requests 128",
                        "holdfast loadtest aa --engine http://127.0.0.1:30000 --pairs 8 --journal rerun-aa.jsonl"
                                + " --flood-requests 64 --flood-tokens 448 --prefix-tokens 248 --concurrency 64");
        assertThat(steps)
                .extracting(RerunPlan.Step::why)
                .anySatisfy(why -> assertThat(why).contains("at concurrency 32"))
                .anySatisfy(why -> assertThat(why).contains("at concurrency 64"))
                .anySatisfy(why -> assertThat(why).contains("placebo"))
                .anySatisfy(why -> assertThat(why).contains("memory fraction 0.05"))
                .anySatisfy(why -> assertThat(why).contains("memory fraction 0.40"));
        Map<String, Integer> floods = Map.of("rerun-c64.jsonl", 64, "rerun-placebo.jsonl", 20);
        floods.forEach((journal, requests) -> assertThat(steps)
                .filteredOn(step -> step.arguments().contains(journal))
                .singleElement()
                .satisfies(step -> assertThat(step.command())
                        .contains("--flood-requests " + requests + " --flood-tokens 448 --prefix-tokens 248")));
        assertThat(RerunPlan.script(steps, "sweeps.md"))
                .startsWith("#!/bin/sh\n")
                .contains("--rounds 6");
    }

    private static Review review(String table) {
        return Review.of(TableText.of("table", table), Settings.defaults());
    }

    private static List<String> changes(PublishedTable table, Metric metric) {
        return table.comparisons(metric).stream().map(Comparison::percent).toList();
    }

    private static Double[] logRatios(Sweep sweep, Metric metric) {
        return sweep.places().stream()
                .map(place -> Figure.rounded(place.logRatio(metric.name()), 4).doubleValue())
                .toArray(Double[]::new);
    }

    static List<String> texts(Section section, Topic topic) {
        return section.remarks().stream()
                .filter(remark -> remark.topic() == topic)
                .map(Remark::text)
                .toList();
    }

    private static List<String> against(Section section, Topic topic) {
        return section.remarks().stream()
                .filter(remark -> remark.topic() == topic && remark.against())
                .map(Remark::text)
                .toList();
    }

    private static List<String> against(Review review, Topic topic) {
        return against(review.sections().getFirst(), topic);
    }
}
