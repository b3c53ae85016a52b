package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RequiredPairsTest {
    @ParameterizedTest
    @CsvSource({
        "0.05, 0.03, 12", "0.05, 0.05, 6", "0.05, 0.10, 3", "0.05, 0.20, 2",
        "0.10, 0.03, 45", "0.10, 0.05, 17", "0.10, 0.10, 6", "0.10, 0.20, 3"
    })
    void pairs_plannedSpreadAndEffect_areTheTabulatedNumber(double sd, double effect, int perOrder) {
        assertThat(RequiredPairs.toDetect(sd, effect)).hasValue(perOrder);
    }

    @Test
    void pairs_noSpread_areTwo() {
        assertThat(RequiredPairs.toDetect(0, 0.05)).hasValue(2);
    }

    @Test
    void pairs_hopelessSpread_areAbsent() {
        assertThat(RequiredPairs.toDetect(100, 0.01)).isEmpty();
    }

    @Test
    void pairs_toNarrow_areTheFirstWhoseIntervalIsNarrowEnough() {
        int needed = RequiredPairs.toNarrow(0.1, 0.02).orElseThrow();
        assertThat(halfWidth90(0.1, needed)).isLessThan(0.02);
        assertThat(halfWidth90(0.1, needed - 1)).isGreaterThanOrEqualTo(0.02);
    }

    private static double halfWidth90(double sd, int perOrder) {
        return new StudentT(2 * perOrder - 2).quantile(0.95) * sd / Math.sqrt(2 * perOrder);
    }

    @Test
    void detectableEffect_isWhatThatManyPairsDetect() {
        for (int perOrder : new int[] {4, 5, 9, 40}) {
            double effect = RequiredPairs.detectable(0.03, perOrder);
            assertThat(RequiredPairs.toDetect(0.03, effect * 1.0001)).hasValue(perOrder);
            assertThat(RequiredPairs.toDetect(0.03, effect * 0.9999)).hasValue(perOrder + 1);
        }
        assertThat(RequiredPairs.detectable(0, 5)).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> RequiredPairs.detectable(0.03, 1));
    }
}
