package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How often the rules are right and wrong over many simulated experiments whose truth is known. */
final class OperatingCharacteristicsTest {
    private static final int EXPERIMENTS =
            "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 20_000 : 2_000;
    private static final double ORDER_BIAS = -0.22;

    /** Percentages of the findings. */
    private record Shares(Map<Finding, Integer> counts, int carryOver) {
        double of(Finding finding) {
            return 100.0 * counts.getOrDefault(finding, 0) / EXPERIMENTS;
        }

        double carryOverVetoes() {
            return 100.0 * carryOver / EXPERIMENTS;
        }
    }

    private static Shares simulate(double sd, int perOrder, double orderBias, double effect, double carryOver) {
        SplittableRandom random = new SplittableRandom(20_130_620L);
        Map<Finding, Integer> counts = new EnumMap<>(Finding.class);
        int vetoes = 0;
        for (int i = 0; i < EXPERIMENTS; i++) {
            Verdict verdict = Judge.judge(
                    Experiment.of(Pairs.simulate(random, perOrder, sd, orderBias, effect, carryOver), Pairs.CONFIRMED),
                    Criteria.standard());
            counts.merge(verdict.finding(), 1, Integer::sum);
            if (verdict.shortfall().filter(Shortfall.CARRYOVER::equals).isPresent()) {
                vetoes++;
            }
        }
        return new Shares(counts, vetoes);
    }

    @ParameterizedTest
    @CsvSource({
        "0.03, 4, 97", "0.03, 5, 99.8", "0.03, 6, 100",
        "0.05, 4, 60", "0.05, 5, 76", "0.05, 6, 87",
        "0.10, 4, 4", "0.10, 5, 6"
    })
    void orderBiasWithoutEffect_isAnArtefactAsOftenAsTabulatedAndAlmostNeverReal(
            double sd, int perOrder, double artefacts) {
        Shares shares = simulate(sd, perOrder, ORDER_BIAS, 0, 0);
        assertThat(shares.of(Finding.REAL)).isLessThanOrEqualTo(1);
        assertThat(shares.of(Finding.HARMFUL)).isLessThanOrEqualTo(1);
        assertThat(shares.of(Finding.ORDER_ARTEFACT)).isBetween(artefacts - 4, artefacts + 4);
    }

    @ParameterizedTest
    @CsvSource({
        "0.03, 4, -0.10, 98",
        "0.03, 5, -0.10, 99",
        "0.05, 4, -0.10, 70",
        "0.05, 5, -0.10, 83",
        "0.10, 4, -0.10, 15",
        "0.10, 5, -0.10, 26",
        "0.05, 4, -0.20, 99.8",
        "0.05, 5, -0.20, 100",
        "0.10, 4, -0.20, 68",
        "0.10, 5, -0.20, 81",
        "0.10, 4, -0.90, 100"
    })
    void effectBehindOrderBias_isRealAsOftenAsTabulated(double sd, int perOrder, double effect, double real) {
        Shares shares = simulate(sd, perOrder, ORDER_BIAS, effect, 0);
        assertThat(shares.of(Finding.REAL)).isBetween(real - 4, real + 4);
        assertThat(shares.of(Finding.HARMFUL)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"-0.10", "-0.10536051565782628"})
    void effectOfTenPercentInCalmPairs_isFoundByFivePairsPerOrder(double effect) {
        assertThat(simulate(0.03, 5, ORDER_BIAS, effect, 0).of(Finding.REAL)).isGreaterThanOrEqualTo(95);
    }

    @ParameterizedTest
    @CsvSource({"0.03", "0.05", "0.10", "0.20"})
    void nothingAtAll_isAlmostNeverRealOrHarmful(double sd) {
        Shares shares = simulate(sd, 5, 0, 0, 0);
        assertThat(shares.of(Finding.REAL)).isLessThanOrEqualTo(0.6);
        assertThat(shares.of(Finding.HARMFUL)).isLessThanOrEqualTo(0.6);
    }

    @Test
    void carryOverWithoutEffect_isVetoedAndSeldomReal() {
        Shares shares = simulate(0.05, 5, 0, 0, 0.2);
        assertThat(shares.carryOverVetoes()).isBetween(86.0, 94.0);
        assertThat(shares.of(Finding.REAL)).isLessThanOrEqualTo(4);
    }

    @Test
    void harm_isFoundAndNeverCalledReal() {
        Shares shares = simulate(0.03, 5, ORDER_BIAS, 0.10, 0);
        assertThat(shares.of(Finding.HARMFUL)).isGreaterThanOrEqualTo(95);
        assertThat(shares.of(Finding.REAL)).isZero();
    }

    /** Two levels have no trend, so a placebo alone stands between another cause and a false REAL. */
    @ParameterizedTest
    @CsvSource({"0.03, -0.05", "0.03, -0.10", "0.03, -0.35", "0.10, -0.10", "0.15, -0.10", "0.15, -0.20", "0.15, -0.35"
    })
    void causeThatIsAtThePlaceboAsWell_isAlmostNeverReal(double sdOfPlacebo, double effect) {
        assertThat(realBesideAPlacebo(sdOfPlacebo, effect, effect)).isLessThanOrEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"0.03", "0.05", "0.10", "0.15"})
    void effectOfThirtyPercentBesideAPlacebo_isReal(double sdOfPlacebo) {
        assertThat(realBesideAPlacebo(sdOfPlacebo, 0, Math.log(0.7))).isGreaterThanOrEqualTo(95);
    }

    private static double realBesideAPlacebo(double sdOfPlacebo, double effectAtPlacebo, double effect) {
        SplittableRandom random = new SplittableRandom(20_261_128L);
        int real = 0;
        for (int i = 0; i < EXPERIMENTS; i++) {
            Estimate placebo = Estimate.of(Pairs.simulate(random, 5, sdOfPlacebo, ORDER_BIAS, effectAtPlacebo, 0));
            CrossoverData level = Pairs.simulate(random, 5, 0.03, ORDER_BIAS, effect, 0);
            DoseResponse sweep = new DoseResponse(List.of(
                    DoseResponse.Level.of(0.4, placebo).orElseThrow(),
                    DoseResponse.Level.of(2, Estimate.of(level)).orElseThrow()));
            Verdict verdict =
                    Judge.judge(Experiment.of(level, Pairs.CONFIRMED).withDoseResponse(sweep), Criteria.standard());
            real += verdict.finding() == Finding.REAL ? 1 : 0;
        }
        return 100.0 * real / EXPERIMENTS;
    }

    @Test
    void studentInterval_overFewPairs_coversWhatItPromises() {
        SplittableRandom random = new SplittableRandom(3);
        int covered = 0;
        for (int i = 0; i < EXPERIMENTS; i++) {
            Estimate estimate = Estimate.of(Pairs.simulate(random, 4, 0.05, ORDER_BIAS, -0.1, 0));
            if (estimate.ci95().orElseThrow().contains(-0.1)) {
                covered++;
            }
        }
        assertThat(100.0 * covered / EXPERIMENTS).isBetween(93.5, 96.5);
    }
}
