package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MeanIntervalTest {
    @Test
    void mean_fiveValues_hasTheStudentInterval() {
        MeanInterval mean = MeanInterval.of(new double[] {1, 2, 3, 4, 5}).orElseThrow();
        assertThat(mean.mean()).isEqualTo(3);
        assertThat(mean.sd()).isCloseTo(Math.sqrt(2.5), within(1e-12));
        assertThat(mean.interval().halfWidth()).isCloseTo(2.776445105198 * Math.sqrt(0.5), within(1e-9));
        assertThat(mean.count()).isEqualTo(5);
    }

    @Test
    void mean_higherConfidence_isWider() {
        double[] sample = {1, 2, 3, 4, 5};
        double at90 = MeanInterval.of(sample, 0.90).orElseThrow().interval().halfWidth();
        double at99 = MeanInterval.of(sample, 0.99).orElseThrow().interval().halfWidth();
        assertThat(at90).isCloseTo(2.131846786327 * Math.sqrt(0.5), within(1e-9));
        assertThat(at99).isGreaterThan(at90);
    }

    @Test
    void mean_constantSample_collapsesToThePoint() {
        assertThat(MeanInterval.of(new double[] {0.1, 0.1, 0.1}).orElseThrow().interval())
                .isEqualTo(new Interval(0.1, 0.1));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void mean_fewerThanTwoValues_isAbsent(int count) {
        assertThat(MeanInterval.of(new double[count])).isEmpty();
    }

    @Test
    void percent_logRatio_isTheChange() {
        assertThat(MeanInterval.of(new double[] {-0.2, -0.2}).orElseThrow().percent())
                .isCloseTo(-18.127, within(0.001));
    }

    /** The half-widths that the number of pairs is planned by. */
    @ParameterizedTest
    @CsvSource({
        "0.03, 3, 3.40", "0.03, 4, 2.60", "0.03, 5, 2.19", "0.03, 6, 1.93", "0.03, 8, 1.61",
        "0.05, 3, 5.67", "0.05, 4, 4.33", "0.05, 5, 3.65", "0.05, 6, 3.22", "0.05, 8, 2.68",
        "0.10, 3, 11.33", "0.10, 4, 8.65", "0.10, 5, 7.29", "0.10, 6, 6.43", "0.10, 8, 5.36"
    })
    void effectInterval_givenSpreadAndPairs_hasThePlannedHalfWidth(double sd, int perOrder, double percent) {
        // Values whose standard deviation is exactly sd.
        double[] spread = new double[perOrder];
        spread[0] = sd * Math.sqrt((perOrder - 1) / 2.0);
        spread[1] = -spread[0];
        Interval ci95 = Estimate.of(CrossoverData.of(new double[0], spread, spread))
                .ci95()
                .orElseThrow();
        assertThat(100 * ci95.halfWidth()).isCloseTo(percent, within(0.0051));
    }
}
