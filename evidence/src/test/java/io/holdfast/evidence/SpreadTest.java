package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class SpreadTest {
    @Test
    void quantiles_areThoseOfPrintedTables() {
        assertThat(ChiSquare.quantile(1, 0.95)).isCloseTo(3.841458820694124, within(1e-12));
        assertThat(ChiSquare.quantile(4, 0.025)).isCloseTo(0.484418557087930, within(1e-12));
        assertThat(ChiSquare.quantile(4, 0.975)).isCloseTo(11.143286781877793, within(1e-11));
        assertThat(ChiSquare.quantile(7, 0.025)).isCloseTo(1.689869180677355, within(1e-12));
        assertThat(ChiSquare.quantile(7, 0.975)).isCloseTo(16.012764274629326, within(1e-11));
        assertThat(ChiSquare.quantile(100, 0.95)).isCloseTo(124.342113404004, within(1e-9));
    }

    @Test
    void twoDegreesOfFreedom_areTheExponential() {
        for (double x : new double[] {0.01, 0.5, 2, 17, 60}) {
            assertThat(ChiSquare.cdf(2, x)).isCloseTo(-Math.expm1(-x / 2), within(1e-14));
        }
        assertThat(ChiSquare.cdf(2, 0)).isZero();
        assertThat(ChiSquare.cdf(5, 1e4)).isEqualTo(1);
        assertThatIllegalArgumentException().isThrownBy(() -> ChiSquare.quantile(2, 1));
    }

    @Test
    void oneValue_hasNoSpread() {
        assertThat(Spread.of(new double[] {1})).isEmpty();
        assertThat(Spread.of(new double[0])).isEmpty();
    }

    @Test
    void equalValues_areAPoint() {
        assertThat(Spread.of(new double[] {0.2, 0.2, 0.2})).hasValue(new Spread(3, 0, new Interval(0, 0)));
    }

    @Test
    void interval_coversTheTrueSpread() {
        SplittableRandom random = new SplittableRandom(11);
        int covered = 0;
        int runs = 4_000;
        for (int run = 0; run < runs; run++) {
            double[] sample = new double[8];
            for (int i = 0; i < sample.length; i++) {
                sample[i] = 3 + 0.05 * random.nextGaussian();
            }
            covered += Spread.of(sample).orElseThrow().ci95().contains(0.05) ? 1 : 0;
        }
        assertThat(covered).isBetween((int) (0.94 * runs), (int) (0.96 * runs));
    }
}
