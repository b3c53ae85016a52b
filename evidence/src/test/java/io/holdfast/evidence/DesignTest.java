package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Blocks, pairs of fresh legs, single orders, and plans that grow at looks. */
final class DesignTest {
    private static final int EXPERIMENTS =
            "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 20_000 : 1_000;
    private static final double CALM = 0.01;

    /** The log ratio of a block of that kind in a life where each leg moves by a drift and the first pays a step. */
    private static double block(PairOrder order, double effect, double drift, double step, RandomGenerator noise) {
        double pinned = 0;
        double baseline = 0;
        for (int position = 1; position <= order.legs(); position++) {
            double leg = drift * position + (position == 1 ? step : 0) + CALM * noise.nextGaussian();
            if (order.isPinned(position)) {
                pinned += (leg + effect) / 2;
            } else {
                baseline += leg / 2;
            }
        }
        return pinned - baseline;
    }

    private static CrossoverData blocks(double effect, double drift, double step) {
        SplittableRandom noise = new SplittableRandom(7);
        double[] normal = new double[5];
        double[] reversed = new double[5];
        Arrays.setAll(normal, i -> block(PairOrder.BPPB, effect, drift, step, noise));
        Arrays.setAll(reversed, i -> block(PairOrder.PBBP, effect, drift, step, noise));
        return CrossoverData.blocks(normal, reversed);
    }

    private static Verdict judge(CrossoverData data) {
        return Judge.judge(Experiment.of(data, Pairs.CONFIRMED), Criteria.standard());
    }

    @Test
    void block_underAnEvenDrift_showsTheEffectAlone() {
        Estimate estimate = Estimate.of(blocks(-0.2, 0.05, 0));
        assertThat(estimate.effect().orElseThrow()).isCloseTo(-0.2, within(0.01));
        assertThat(estimate.tauNormal().orElseThrow()).isCloseTo(-0.2, within(0.01));
        assertThat(estimate.tauReversed().orElseThrow()).isCloseTo(-0.2, within(0.01));
    }

    @Test
    void block_whoseFirstLegPays_isFreedByTheOtherKind() {
        Estimate estimate = Estimate.of(blocks(-0.2, 0, 0.1));
        assertThat(estimate.tauNormal().orElseThrow()).isCloseTo(-0.25, within(0.01));
        assertThat(estimate.tauReversed().orElseThrow()).isCloseTo(-0.15, within(0.01));
        assertThat(estimate.effect().orElseThrow()).isCloseTo(-0.2, within(0.01));
        assertThat(estimate.crossedOrderBias().orElseThrow()).isCloseTo(-0.05, within(0.01));
        assertThat(estimate.naive()).isEmpty();
        assertThat(estimate.carryOver()).isEmpty();
    }

    @Test
    void blocksOfBothKindsThatGain_areReal() {
        Verdict verdict = judge(blocks(-0.2, 0.02, 0));
        assertThat(verdict.finding()).isEqualTo(Finding.REAL);
        assertThat(verdict.reason())
                .contains("in both kinds of block (baseline first -17.9 %, pinned first -18.0 %)")
                .contains("2/252");
    }

    @Test
    void blocksWithoutEffect_areNoEffect() {
        assertThat(judge(blocks(0, 0.05, 0)).finding()).isEqualTo(Finding.NO_EFFECT);
    }

    @Test
    void blocksOfOneKind_areInconclusive() {
        Verdict verdict = judge(CrossoverData.blocks(Pairs.balanced(8, -0.2, CALM), new double[0]));
        assertThat(verdict.headline()).isEqualTo("INCONCLUSIVE(design)");
        assertThat(verdict.reason()).contains("8 BPPB and 0 PBBP blocks where at least 4");
    }

    @Test
    void freshLegs_areTheMeanOfAllPairs() {
        double[] normal = {-0.1, -0.2, -0.3, -0.2};
        double[] reversed = {0.2, 0.1, 0.3, 0.2, 0.25};
        double[] all = {-0.1, -0.2, -0.3, -0.2, -0.2, -0.1, -0.3, -0.2, -0.25};
        Estimate estimate = Estimate.of(CrossoverData.freshLegs(normal, reversed));
        MeanInterval expected = MeanInterval.of(all).orElseThrow();
        assertThat(estimate.effect().orElseThrow()).isCloseTo(expected.mean(), within(1e-15));
        assertThat(estimate.ci95().orElseThrow().low())
                .isCloseTo(expected.interval().low(), within(1e-12));
        assertThat(estimate.df()).hasValue(8);
        assertThat(estimate.permutation()).contains(new Permutation(2, 512, true));
    }

    @Test
    void freshLegsThatGainInBothOrders_areReal() {
        Verdict verdict = judge(CrossoverData.freshLegs(Pairs.balanced(4, -0.2, CALM), Pairs.balanced(4, 0.2, CALM)));
        assertThat(verdict.finding()).isEqualTo(Finding.REAL);
        assertThat(verdict.reason()).contains("in both orders (normal -18.1 %, reversed -18.1 %)");
    }

    @Test
    void freshLegsThatGainInOneOrderAlone_areNotReal() {
        Verdict verdict = judge(CrossoverData.freshLegs(Pairs.balanced(6, -0.4, CALM), Pairs.balanced(6, -0.01, CALM)));
        assertThat(verdict.finding()).isNotEqualTo(Finding.REAL);
    }

    @ParameterizedTest
    @EnumSource
    void planOfADesign_holdsItsOrdersOnceARound(Design design) {
        for (int seed = 0; seed < 200; seed++) {
            CrossoverPlan plan = CrossoverPlan.draw(design, 3, new SplittableRandom(seed));
            assertThat(plan.design()).isEqualTo(design);
            assertThat(plan.rounds())
                    .hasSize(3)
                    .allSatisfy(round -> assertThat(round).containsExactlyInAnyOrderElementsOf(design.round()));
        }
    }

    @Test
    void declaredLooks_areAtTheEndOfTheirRoundsAndNowhereElse() {
        CrossoverPlan plan = CrossoverPlan.draw(9, new SplittableRandom(1)).lookedAt(List.of(5, 7, 9));
        assertThat(plan.lookAfter(14)).isEmpty();
        assertThat(plan.lookAfter(15)).hasValue(1);
        assertThat(plan.lookAfter(18)).isEmpty();
        assertThat(plan.lookAfter(27)).hasValue(3);
        assertThat(plan.livesAt(2)).isEqualTo(21);
        assertThat(CrossoverPlan.draw(5, new SplittableRandom(1)).lookAfter(15)).hasValue(1);
    }

    @Test
    void looksThatDoNotGrowToTheEnd_areRefused() {
        CrossoverPlan plan = CrossoverPlan.draw(9, new SplittableRandom(1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plan.lookedAt(List.of(7, 5, 9)))
                .withMessageContaining("each comes after more rounds");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plan.lookedAt(List.of(5, 7)))
                .withMessageContaining("the last look takes all of them");
    }

    /** Stops at the first of the looks that decides. */
    private static Finding grown(RandomGenerator random, double effect) {
        Criteria each = Criteria.standard().atOneOf(3);
        CrossoverData whole = Pairs.simulate(random, 9, 0.05, -0.22, effect, 0);
        Finding found = Finding.INCONCLUSIVE;
        for (int look : new int[] {5, 7, 9}) {
            CrossoverData data = CrossoverData.of(
                    Arrays.copyOf(whole.of(PairOrder.AA), look),
                    Arrays.copyOf(whole.of(PairOrder.BP), look),
                    Arrays.copyOf(whole.of(PairOrder.PB), look));
            Verdict verdict = Judge.judge(Experiment.of(data, Pairs.CONFIRMED), each);
            found = verdict.finding();
            if (verdict.shortfall().filter(Shortfall.PRECISION::equals).isEmpty()) {
                break;
            }
        }
        return found;
    }

    private static Map<Finding, Integer> grown(double effect) {
        SplittableRandom random = new SplittableRandom(20_130_621L);
        Map<Finding, Integer> found = new EnumMap<>(Finding.class);
        for (int i = 0; i < EXPERIMENTS; i++) {
            found.merge(grown(random, effect), 1, Integer::sum);
        }
        return found;
    }

    @Test
    void nothingAtThreeLooks_isAlmostNeverReal() {
        Map<Finding, Integer> found = grown(0);
        assertThat(found.getOrDefault(Finding.REAL, 0)).isLessThanOrEqualTo(EXPERIMENTS / 100);
        assertThat(found.getOrDefault(Finding.HARMFUL, 0)).isLessThanOrEqualTo(EXPERIMENTS / 100);
    }

    @Test
    void effectAtTheMarginAtThreeLooks_isSeldomCalledNone() {
        // Five per cent for all looks together is what two one-sided tests promise at one.
        assertThat(grown(-Math.log(1.05)).getOrDefault(Finding.ORDER_ARTEFACT, 0))
                .isLessThanOrEqualTo(6 * EXPERIMENTS / 100);
    }

    @Test
    void gainOfTenPercentAtThreeLooks_isFoundMoreOftenThanAtTheFirstAlone() {
        assertThat(grown(-0.1).getOrDefault(Finding.REAL, 0)).isGreaterThanOrEqualTo(85 * EXPERIMENTS / 100);
    }
}
