package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class StudentTTest {
    @ParameterizedTest
    @CsvSource({
        "1, 12.706204736175, 6.313751514675",
        "2, 4.302652729749, 2.919985580354",
        "3, 3.182446305284, 2.353363434802",
        "4, 2.776445105198, 2.131846786327",
        "5, 2.570581835636, 2.015048373333",
        "6, 2.446911851145, 1.943180280515",
        "8, 2.306004135204, 1.859548037531",
        "10, 2.228138851986, 1.812461122812",
        "12, 2.178812829667, 1.782287555649",
        "30, 2.042272456301, 1.697260886594",
        "100, 1.983971518524, 1.660234326085"
    })
    void quantile_tabulatedFreedom_isTheTableValue(int df, double at975, double at95) {
        StudentT t = new StudentT(df);
        assertThat(t.quantile(0.975)).isCloseTo(at975, within(1e-9));
        assertThat(t.quantile(0.95)).isCloseTo(at95, within(1e-9));
        assertThat(t.factor(0.95)).isEqualTo(t.quantile(0.975));
    }

    @Test
    void quantile_hugeFreedom_isTheNormalOne() {
        assertThat(new StudentT(1e9).quantile(0.975)).isCloseTo(1.959963984540, within(1e-6));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 10, 11, 24, 25, 60, 101})
    void cdf_wholeFreedom_agreesWithTheFiniteSeries(int df) {
        StudentT t = new StudentT(df);
        for (double at = -12; at <= 12; at += 0.37) {
            assertThat(t.cdf(at)).isCloseTo(series(at, df), within(1e-12));
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 1, 2.5, 4, 9, 33, 1000})
    void quantile_anyProbability_isInvertedByTheCdf(double df) {
        StudentT t = new StudentT(df);
        for (double p : new double[] {1e-9, 0.001, 0.025, 0.2, 0.5, 0.6, 0.8, 0.95, 0.975, 0.9995}) {
            assertThat(t.cdf(t.quantile(p))).isCloseTo(p, within(1e-9 * Math.max(p, 1e-3)));
        }
    }

    @Test
    void tails_farOut_keepTheirRelativePrecision() {
        // df 2: P(T > t) = 1/2 - t / (2 sqrt(t^2 + 2)), for large t 1 / (2 t^2).
        assertThat(new StudentT(2).twoSidedP(1e6)).isCloseTo(1e-12, within(1e-20));
        assertThat(new StudentT(2).twoSidedP(Double.POSITIVE_INFINITY)).isZero();
        assertThat(new StudentT(2).twoSidedP(-3)).isEqualTo(new StudentT(2).twoSidedP(3));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void freedom_thatIsNone_isRefused(double df) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new StudentT(df))
                .withMessageContaining("at least two values");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 1, -0.1, Double.NaN})
    void quantile_noProbability_isRefused(double p) {
        assertThatIllegalArgumentException().isThrownBy(() -> new StudentT(3).quantile(p));
    }

    @Test
    void logGamma_knownArguments_isExact() {
        assertThat(Beta.logGamma(0.5)).isCloseTo(Math.log(Math.sqrt(Math.PI)), within(1e-13));
        assertThat(Beta.logGamma(1)).isCloseTo(0, within(1e-13));
        double factorial = 0;
        for (int n = 1; n <= 170; n++) {
            factorial += Math.log(n);
            assertThat(Beta.logGamma(n + 1)).isCloseTo(factorial, within(1e-11));
        }
    }

    /** For a whole number of degrees of freedom the distribution is a finite sum of cosines. */
    private static double series(double t, int df) {
        double angle = Math.atan(t / Math.sqrt(df));
        double cosine = Math.cos(angle);
        boolean odd = df % 2 == 1;
        double term = odd ? cosine : 1;
        double sum = df == 1 ? 0 : term;
        for (int k = odd ? 3 : 2; k <= df - 2; k += 2) {
            term *= cosine * cosine * (k - 1) / k;
            sum += term;
        }
        double inside = Math.sin(angle) * sum;
        return 0.5 + (odd ? (angle + inside) / Math.PI : inside / 2);
    }
}
