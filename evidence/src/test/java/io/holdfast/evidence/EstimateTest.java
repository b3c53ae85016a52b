package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class EstimateTest {
    private static final double[] NONE = {};

    /** Goes red when the signs of the two orders are swapped: a gain would then read as harm. */
    @Test
    void effect_pinnedLegsFasterInBothOrders_isNegative() {
        // Normal order: the second leg is pinned and faster. Reversed: the second leg is the baseline and slower.
        Estimate estimate = Estimate.of(
                CrossoverData.of(new double[] {0, 0.01}, new double[] {-0.30, -0.32}, new double[] {0.29, 0.31}));
        assertThat(estimate.effect().getAsDouble()).isCloseTo(-0.305, within(1e-12));
        assertThat(estimate.tauNormal().getAsDouble()).isNegative();
        assertThat(estimate.tauReversed().getAsDouble()).isNegative();
        assertThat(estimate.hodgesLehmann().getAsDouble()).isNegative();
    }

    @ParameterizedTest
    @CsvSource({"0, -0.2, 0", "-0.22, 0, 0", "-0.22, -0.9, 0", "0.1, 0.05, 0", "0, 0, 0.2", "-0.1, -0.2, 0.3"})
    void parameters_dataThatFollowsTheModel_areFoundAgain(double orderBias, double effect, double carryOver) {
        Estimate estimate = Estimate.of(Pairs.model(orderBias, effect, carryOver, 0.01));
        assertThat(estimate.orderBias().getAsDouble()).isCloseTo(orderBias, within(1e-12));
        assertThat(estimate.carryOver().getAsDouble()).isCloseTo(carryOver, within(1e-12));
        assertThat(estimate.effect().getAsDouble()).isCloseTo(effect - carryOver / 2, within(1e-12));
        assertThat(estimate.tauNormal().getAsDouble()).isCloseTo(effect, within(1e-12));
        assertThat(estimate.tauReversed().getAsDouble()).isCloseTo(effect - carryOver, within(1e-12));
        assertThat(estimate.naive().getAsDouble()).isCloseTo(orderBias + effect, within(1e-12));
        assertThat(estimate.crossedOrderBias().getAsDouble()).isCloseTo(orderBias + carryOver / 2, within(1e-12));
    }

    @Test
    void effect_anyOrderBias_isTheSame() {
        Estimate none = Estimate.of(Pairs.model(0, -0.1, 0, 0.01));
        Estimate large = Estimate.of(Pairs.model(-0.5, -0.1, 0, 0.01));
        assertThat(large.effect().getAsDouble()).isCloseTo(none.effect().getAsDouble(), within(1e-12));
        assertThat(large.se().getAsDouble()).isCloseTo(none.se().getAsDouble(), within(1e-12));
    }

    @Test
    void everything_noPairs_isAbsent() {
        Estimate estimate = Estimate.of(CrossoverData.of(NONE, NONE, NONE));
        assertThat(estimate.effect()).isEmpty();
        assertThat(estimate.effectPercent()).isEmpty();
        assertThat(estimate.se()).isEmpty();
        assertThat(estimate.df()).isEmpty();
        assertThat(estimate.ci95()).isEmpty();
        assertThat(estimate.ci90()).isEmpty();
        assertThat(estimate.orderBias()).isEmpty();
        assertThat(estimate.orderBiasCi95()).isEmpty();
        assertThat(estimate.orderBiasPercent()).isEmpty();
        assertThat(estimate.crossedOrderBias()).isEmpty();
        assertThat(estimate.carryOver()).isEmpty();
        assertThat(estimate.carryOverCi95()).isEmpty();
        assertThat(estimate.tauNormal()).isEmpty();
        assertThat(estimate.tauNormalCi95()).isEmpty();
        assertThat(estimate.tauReversed()).isEmpty();
        assertThat(estimate.tPValue()).isEmpty();
        assertThat(estimate.permutation()).isEmpty();
        assertThat(estimate.permutationP()).isEmpty();
        assertThat(estimate.hodgesLehmann()).isEmpty();
        assertThat(estimate.hodgesLehmannCi95()).isEmpty();
        assertThat(estimate.naive()).isEmpty();
        assertThat(estimate.naivePercent()).isEmpty();
        assertThat(estimate.pairSd()).isEmpty();
    }

    @Test
    void normalOrderAlone_givesTheNaiveClaimAndNoEffect() {
        Estimate estimate = Estimate.of(CrossoverData.of(NONE, new double[] {-0.2, -0.3}, NONE));
        assertThat(estimate.naive().getAsDouble()).isCloseTo(-0.25, within(1e-12));
        assertThat(estimate.naiveCi95()).isPresent();
        assertThat(estimate.effect()).isEmpty();
        assertThat(estimate.permutation()).isEmpty();
        assertThat(estimate.orderBias()).isEmpty();
    }

    @Test
    void aaAlone_givesTheOrderBiasWithItsInterval() {
        Estimate estimate = Estimate.of(CrossoverData.of(new double[] {-0.20, -0.22}, NONE, NONE));
        assertThat(estimate.orderBias().getAsDouble()).isCloseTo(-0.21, within(1e-12));
        // Two values: the factor of one degree of freedom, on a standard error of 0.01.
        assertThat(estimate.orderBiasCi95().orElseThrow().halfWidth()).isCloseTo(0.12706204736, within(1e-9));
        assertThat(estimate.orderBiasPercent().getAsDouble()).isCloseTo(-18.9416, within(1e-4));
        assertThat(estimate.carryOver()).isEmpty();
    }

    @Test
    void bothOrdersWithoutAa_giveAnEffectAndNoOrderBias() {
        Estimate estimate = Estimate.of(CrossoverData.of(NONE, new double[] {-0.2, -0.3}, new double[] {0.2, 0.3}));
        assertThat(estimate.effect()).isPresent();
        assertThat(estimate.ci95()).isPresent();
        assertThat(estimate.orderBias()).isEmpty();
        assertThat(estimate.tauNormal()).isEmpty();
        assertThat(estimate.tauReversed()).isEmpty();
        assertThat(estimate.carryOverCi95()).isEmpty();
    }

    @Test
    void onePairPerOrder_givesAnEffectAndNoInterval() {
        Estimate estimate = Estimate.of(CrossoverData.of(new double[] {0}, new double[] {-0.2}, new double[] {0.2}));
        assertThat(estimate.effect()).hasValue(-0.2);
        assertThat(estimate.se()).isEmpty();
        assertThat(estimate.df()).isEmpty();
        assertThat(estimate.ci95()).isEmpty();
        assertThat(estimate.tPValue()).isEmpty();
        assertThat(estimate.orderBiasCi95()).isEmpty();
        assertThat(estimate.carryOverCi95()).isEmpty();
        assertThat(estimate.tauNormalCi95()).isEmpty();
    }

    @Test
    void intervals_pairsWithoutAnySpread_areThePoint() {
        Estimate estimate = Estimate.of(
                CrossoverData.of(Pairs.balanced(4, 0.1, 0), Pairs.balanced(4, -0.1, 0), Pairs.balanced(4, 0.3, 0)));
        double effect = estimate.effect().getAsDouble();
        assertThat(estimate.se()).hasValue(0);
        assertThat(estimate.ci95()).contains(new Interval(effect, effect));
        assertThat(estimate.tPValue()).hasValue(0);
        assertThat(estimate.orderBiasCi95()).contains(new Interval(0.1, 0.1));
    }

    @Test
    void tPValue_noSpreadAndNoEffect_isOne() {
        double[] same = Pairs.balanced(4, -0.1, 0);
        assertThat(Estimate.of(CrossoverData.of(same, same, same)).tPValue()).hasValue(1);
    }

    @ParameterizedTest
    @CsvSource({"3, 20", "4, 70", "5, 252", "6, 924", "9, 48620"})
    void permutation_ordersFullyApart_reachesTheSmallestPossibleP(int perOrder, long relabelings) {
        Permutation permutation = Estimate.of(
                        CrossoverData.of(NONE, Pairs.balanced(perOrder, -1, 0.01), Pairs.balanced(perOrder, 1, 0.01)))
                .permutation()
                .orElseThrow();
        assertThat(permutation).isEqualTo(new Permutation(2, relabelings, true));
    }

    @ParameterizedTest
    @CsvSource({"3, 0.1000", "4, 0.0286", "5, 0.0079"})
    void permutation_fewPairs_cannotGoBelowTheKnownMinimum(int perOrder, double smallest) {
        assertThat(Estimate.of(CrossoverData.of(
                                NONE, Pairs.balanced(perOrder, -1, 0.01), Pairs.balanced(perOrder, 1, 0.01)))
                        .permutationP()
                        .getAsDouble())
                .isCloseTo(smallest, within(0.00005));
    }

    @Test
    void permutation_tooManyRelabelings_areDrawnTheSameWayEachTime() {
        CrossoverData data = Pairs.simulate(new SplittableRandom(1), 12, 0.1, 0, -0.02, 0);
        Permutation permutation = Estimate.of(data).permutation().orElseThrow();
        assertThat(permutation.exact()).isFalse();
        assertThat(permutation.relabelings()).isEqualTo(Permutation.MOST_RELABELINGS + 1L);
        assertThat(Estimate.of(data).permutation()).contains(permutation);
        // Drawn p and t p agree for normal noise.
        assertThat(permutation.p()).isCloseTo(Estimate.of(data).tPValue().getAsDouble(), within(0.02));
        assertThat(Estimate.of(data, new SplittableRandom(99)).permutationP().getAsDouble())
                .isCloseTo(permutation.p(), within(0.01));
    }

    @Test
    void permutation_drawnAndOrdersFarApart_neverReachesZero() {
        CrossoverData data = CrossoverData.of(NONE, Pairs.balanced(15, -1, 0.01), Pairs.balanced(15, 1, 0.01));
        assertThat(Estimate.of(data).permutationP().getAsDouble()).isBetween(9e-6, 3e-5);
    }

    @Test
    void hodgesLehmann_smallSamples_isTheMedianHalfDifferenceInMannWhitneyBounds() {
        // Half differences of {-4, -3, -2, -1} and {0, 2, 4, 6}, sorted: -5 -4.5 -4 -4 -3.5 ... -1 -0.5.
        Estimate estimate =
                Estimate.of(CrossoverData.of(NONE, new double[] {-4, -3, -2, -1}, new double[] {0, 2, 4, 6}));
        assertThat(estimate.hodgesLehmann()).hasValue(-2.75);
        // With 4 and 4, P(U < 1) is 1/70 and P(U < 2) is 2/70: only the outermost differences bound 95 %.
        assertThat(estimate.hodgesLehmannCi95()).contains(new Interval(-5, -0.5));
    }

    @Test
    void hodgesLehmann_threePairsPerOrder_hasNoInterval() {
        Estimate estimate = Estimate.of(CrossoverData.of(NONE, new double[] {-4, -3, -2}, new double[] {0, 2, 4}));
        assertThat(estimate.hodgesLehmann()).isPresent();
        assertThat(estimate.hodgesLehmannCi95()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"5, 2", "6, 5", "8, 13", "10, 23", "20, 127", "30, 317", "40, 596", "60, 1426"})
    void hodgesLehmann_tabulatedCounts_rejectsAtTheTabulatedU(int perOrder, int criticalU) {
        // Distinct differences i - (n j), so that the bound's rank can be read from its value.
        double[] bp = new double[perOrder];
        double[] pb = new double[perOrder];
        for (int i = 0; i < perOrder; i++) {
            bp[i] = i;
            pb[i] = (double) perOrder * i;
        }
        Interval interval =
                Estimate.of(CrossoverData.of(NONE, bp, pb)).hodgesLehmannCi95().orElseThrow();
        // Differences are the integers from -(n - 1) n to n - 1: the k-th smallest lies k - 1 above the first.
        double first = -(perOrder - 1.0) * perOrder / 2;
        assertThat(interval.low()).isEqualTo(first + criticalU / 2.0);
        assertThat(interval.high()).isEqualTo((perOrder - 1 - criticalU) / 2.0);
    }

    @Test
    void hodgesLehmann_oneWildPair_staysWhereTheMeanDoesNot() {
        Estimate estimate = Estimate.of(CrossoverData.of(
                NONE, new double[] {-0.1, -0.1, -0.1, -0.1, 5}, new double[] {0.1, 0.1, 0.1, 0.1, 0.1}));
        assertThat(estimate.hodgesLehmann().getAsDouble()).isCloseTo(-0.1, within(1e-12));
        assertThat(estimate.effect().getAsDouble()).isPositive();
    }

    @Test
    void data_changedByItsOwnerAfterwards_isNotAffected() {
        double[] bp = {-0.2, -0.3};
        CrossoverData data = CrossoverData.of(NONE, bp, NONE);
        bp[0] = 7;
        data.of(PairOrder.BP)[1] = 7;
        assertThat(data).isEqualTo(CrossoverData.of(NONE, new double[] {-0.2, -0.3}, NONE));
    }

    @ParameterizedTest
    @CsvSource({"NaN", "Infinity", "-Infinity"})
    void data_valueThatIsNoNumber_isRefusedByName(double value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CrossoverData.of(NONE, new double[] {-0.1, value}, NONE))
                .withMessageContaining("Value 2 of 2 in the BP log ratios is " + value);
    }

    @Test
    void shown_isTheNormalOrderWhereSomethingIsLeftBehind() {
        Estimate calm = Estimate.of(Pairs.model(0, -0.2, 0, 0.01));
        assertThat(calm.shown())
                .hasValue(new Estimate.Shown(
                        calm.effect().orElseThrow(), calm.ci95().orElseThrow(), false));
        Estimate left = Estimate.of(Pairs.model(0, -0.2, 0.1, 0.01));
        Estimate.Shown shown = left.shown().orElseThrow();
        assertThat(shown.normalOrder()).isTrue();
        assertThat(shown.effect()).isEqualTo(left.tauNormal().orElseThrow());
        assertThat(shown.ci95().contains(-0.2)).isTrue();
        assertThat(shown.ci95().low()).isEqualTo(left.ci95().orElseThrow().low());
        assertThat(shown.ci95().high())
                .isEqualTo(left.tauNormalCi95().orElseThrow().high());
        assertThat(Estimate.of(CrossoverData.of(new double[0], new double[0], new double[0]))
                        .shown())
                .isEmpty();
    }
}
