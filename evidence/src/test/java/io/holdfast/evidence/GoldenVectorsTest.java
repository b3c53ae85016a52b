package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Four experiments whose every number was computed by other means. */
final class GoldenVectorsTest {
    private static final Offset<Double> MICRO = within(1e-6);

    /** An experiment and its numbers. */
    record Golden(
            Estimate estimate,
            double effect,
            double se,
            Interval ci95,
            Interval ci90,
            Permutation permutation,
            double orderBias,
            double carryOver,
            String headline) {}

    private static final Golden ARTEFACT = new Golden(
            Estimate.of(CrossoverData.of(
                    new double[] {-.20, -.23, -.21, -.24},
                    new double[] {-.22, -.20, -.25, -.21},
                    new double[] {-.21, -.24, -.19, -.22})),
            -0.0025,
            0.0075,
            new Interval(-0.020852, 0.015852),
            new Interval(-0.017074, 0.012074),
            new Permutation(60, 70, true),
            -0.22,
            0.005,
            "ORDER_ARTEFACT");

    private static final Golden GAIN = new Golden(
            Estimate.of(CrossoverData.of(
                    new double[] {-.05, -.07, -.06, -.04},
                    new double[] {-.95, -1.02, -.90, -.99},
                    new double[] {.83, .88, .80, .90})),
            -0.90875,
            0.017305,
            new Interval(-0.951095, -0.866405),
            new Interval(-0.942378, -0.875122),
            new Permutation(2, 70, true),
            -0.055,
            -0.0025,
            "REAL with order bias");

    private static final Golden THREE_EACH = new Golden(
            Estimate.of(CrossoverData.of(
                    new double[] {-.20, -.10, -.30}, new double[] {-.35, -.15, -.40}, new double[] {.05, -.20, .10})),
            -0.141667,
            0.060093,
            new Interval(-0.308510, 0.025177),
            new Interval(-0.269775, -0.013559),
            new Permutation(4, 20, true),
            -0.2,
            0.083333,
            "INCONCLUSIVE(design)");

    private static final Golden LEFT_BEHIND = new Golden(
            Estimate.of(CrossoverData.of(
                    new double[] {-.01, .01, .00, .00},
                    new double[] {-.21, -.19, -.20, -.22},
                    new double[] {0, .01, -.01, .02})),
            -0.105,
            0.004564,
            new Interval(-0.116169, -0.093831),
            new Interval(-0.113869, -0.096131),
            new Permutation(2, 70, true),
            0.0,
            -0.2,
            "INCONCLUSIVE(carryover)");

    static List<Golden> golden() {
        return List.of(ARTEFACT, GAIN, THREE_EACH, LEFT_BEHIND);
    }

    @ParameterizedTest
    @MethodSource("golden")
    void effect_goldenPairs_isReproduced(Golden golden) {
        assertThat(golden.estimate.effect().getAsDouble()).isCloseTo(golden.effect, MICRO);
        assertThat(golden.estimate.se().getAsDouble()).isCloseTo(golden.se, MICRO);
    }

    @ParameterizedTest
    @MethodSource("golden")
    void intervals_goldenPairs_areReproduced(Golden golden) {
        assertClose(golden.estimate.ci95().orElseThrow(), golden.ci95);
        assertClose(golden.estimate.ci90().orElseThrow(), golden.ci90);
    }

    @ParameterizedTest
    @MethodSource("golden")
    void permutation_goldenPairs_isTheSameFraction(Golden golden) {
        assertThat(golden.estimate.permutation()).contains(golden.permutation);
    }

    @ParameterizedTest
    @MethodSource("golden")
    void biases_goldenPairs_areReproduced(Golden golden) {
        assertThat(golden.estimate.orderBias().getAsDouble()).isCloseTo(golden.orderBias, MICRO);
        assertThat(golden.estimate.carryOver().getAsDouble()).isCloseTo(golden.carryOver, MICRO);
    }

    @ParameterizedTest
    @MethodSource("golden")
    void verdict_goldenPairs_isReproduced(Golden golden) {
        Verdict verdict = Judge.judge(Experiment.of(golden.estimate.data(), Pairs.CONFIRMED), Criteria.standard());
        assertThat(verdict.headline()).isEqualTo(golden.headline);
    }

    @Test
    void carryOverInterval_goldenPairs_isReproduced() {
        assertClose(ARTEFACT.estimate.carryOverCi95().orElseThrow(), new Interval(-0.051176, 0.061176));
        assertClose(GAIN.estimate.carryOverCi95().orElseThrow(), new Interval(-0.115136, 0.110136));
        assertClose(LEFT_BEHIND.estimate.carryOverCi95().orElseThrow(), new Interval(-0.231992, -0.168008));
    }

    @Test
    void percentages_goldenPairs_areReproduced() {
        Offset<Double> printed = within(0.0005);
        assertThat(ARTEFACT.estimate.naivePercent().getAsDouble()).isCloseTo(-19.748, printed);
        assertThat(GAIN.estimate.effectPercent().getAsDouble()).isCloseTo(-59.697, printed);
        assertThat(GAIN.estimate.naivePercent().getAsDouble()).isCloseTo(-61.902, printed);
    }

    @Test
    void perOrderEffects_pairsWithCarryOver_disagree() {
        assertThat(LEFT_BEHIND.estimate.tauNormal().getAsDouble()).isCloseTo(-0.205, MICRO);
        assertThat(LEFT_BEHIND.estimate.tauReversed().getAsDouble()).isCloseTo(-0.005, MICRO);
    }

    /** Mean TTFT without and with pins at five memory sizes, each measured once and in normal order only. */
    @Test
    void memorySweepOfSingleRuns_naiveMean_isReproduced() {
        double[] logRatios = new double[BASELINE_MS.length];
        for (int i = 0; i < logRatios.length; i++) {
            logRatios[i] = Math.log(PINNED_MS[i] / BASELINE_MS[i]);
        }
        assertThat(logRatios)
                .usingComparatorWithPrecision(0.00005)
                .containsExactly(-0.2534, -0.2278, -0.3016, -0.3644, -0.2824);

        MeanInterval naive = MeanInterval.of(logRatios).orElseThrow();
        assertThat(naive.mean()).isCloseTo(-0.285934, MICRO);
        assertThat(naive.sd()).isCloseTo(0.052068, MICRO);
        assertThat(naive.percent()).isCloseTo(-24.87, within(0.005));
        assertThat(100 * Math.expm1(naive.interval().low())).isCloseTo(-29.57, within(0.005));
        assertThat(100 * Math.expm1(naive.interval().high())).isCloseTo(-19.85, within(0.005));

        LinearFit overCapacity = LinearFit.of(lnCapacity(), logRatios).orElseThrow();
        assertThat(overCapacity.slope()).isCloseTo(-0.0330, within(0.00005));
        assertThat(overCapacity.slopeSe()).isCloseTo(0.0316, within(0.00005));
        assertThat(overCapacity.pTwoSided()).isCloseTo(0.373, within(0.0005));
    }

    @Test
    void memorySweepOfSingleRuns_baseline_getsSlowerWithMoreMemory() {
        double[] lnBaseline = new double[BASELINE_MS.length];
        for (int i = 0; i < lnBaseline.length; i++) {
            lnBaseline[i] = Math.log(BASELINE_MS[i]);
        }
        LinearFit overCapacity = LinearFit.of(lnCapacity(), lnBaseline).orElseThrow();
        assertThat(overCapacity.slope()).isCloseTo(0.0321, within(0.00005));
        assertThat(overCapacity.slopeSe()).isCloseTo(0.0072, within(0.00005));
        assertThat(overCapacity.pTwoSided()).isCloseTo(0.021, within(0.0005));
    }

    private static final double[] BASELINE_MS = {67.09, 69.89, 68.98, 70.96, 72.23};
    private static final double[] PINNED_MS = {52.07, 55.65, 51.02, 49.29, 54.46};

    private static double[] lnCapacity() {
        double[] thousandTokens = {13, 22, 32, 54, 108};
        double[] logs = new double[thousandTokens.length];
        for (int i = 0; i < logs.length; i++) {
            logs[i] = Math.log(thousandTokens[i]);
        }
        return logs;
    }

    private static void assertClose(Interval actual, Interval expected) {
        assertThat(actual.low()).isCloseTo(expected.low(), MICRO);
        assertThat(actual.high()).isCloseTo(expected.high(), MICRO);
    }
}
