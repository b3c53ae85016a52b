package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** All looks together are wrong as often as is allowed. */
final class ErrorSpendingTest {
    @Test
    void oneLook_isThePlainLevel() {
        assertThat(new ErrorSpending(0.05, 1, 1).level(1)).isCloseTo(0.05, within(2e-4));
    }

    /** Of two looks the first spends its part; the second less than the rest would be by itself, since both agree often. */
    @Test
    void twoLooks_spendTheirParts() {
        ErrorSpending early = new ErrorSpending(0.05, 2, 1);
        assertThat(early.level(1)).isCloseTo(0.0397, within(1e-4));
        assertThat(early.level(2)).isBetween(0.0103, 0.05);
    }

    @Test
    void levels_beforeTheFirstLook_areNone() {
        ErrorSpending spending = new ErrorSpending(0.025, 20, 3);
        assertThat(spending.level(1)).isZero();
        assertThat(spending.level(2)).isZero();
        assertThat(spending.level(3)).as("what would have been spent before").isGreaterThan(spending.level(4));
    }

    @ParameterizedTest
    @CsvSource({"0.025, 60, 3", "0.004, 60, 3", "0.1, 60, 3", "0.05, 5, 1"})
    void walksWithoutDrift_crossAsOftenAsIsAllowed(double error, int looks, int first) {
        ErrorSpending spending = new ErrorSpending(error, looks, first);
        StudentT normal = new StudentT(1e7);
        double[] bounds = new double[looks + 1];
        for (int look = first; look <= looks; look++) {
            bounds[look] = normal.quantile(1 - spending.level(look)) * Math.sqrt(look);
        }
        Random random = new Random(1);
        int walks = 200_000;
        int crossed = 0;
        for (int walk = 0; walk < walks; walk++) {
            double sum = 0;
            boolean beyond = false;
            for (int look = 1; look <= looks; look++) {
                sum += random.nextGaussian();
                beyond |= look >= first && sum > bounds[look];
            }
            crossed += beyond ? 1 : 0;
        }
        double sd = Math.sqrt(error * (1 - error) / walks);
        assertThat((double) crossed / walks).isCloseTo(error, within(4 * sd + 0.01 * error));
    }

    @Test
    void errors_thatAreNone_areRefused() {
        assertThatThrownBy(() -> new ErrorSpending(0.5, 20, 3))
                .hasMessage(
                        "Looks 3 to 20 cannot spend an error of 0.5: it lies between 0 and 0.5, and the first look is"
                                + " one of them.");
        assertThatThrownBy(() -> new ErrorSpending(0.05, 2, 3)).isInstanceOf(IllegalArgumentException.class);
    }
}
