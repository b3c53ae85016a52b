package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class QuantilesTest {
    @ParameterizedTest
    @CsvSource({"0, 1", "0.1, 1.5", "0.25, 2.25", "0.5, 3.5", "0.75, 7", "0.9, 9.5", "0.95, 10.25", "1, 11"})
    void quantile_unsortedSample_isLinearBetweenItsNeighbours(double q, double expected) {
        double[] sample = {8, 1, 11, 3, 2, 4};
        assertThat(Quantiles.of(sample, q)).isCloseTo(expected, within(1e-12));
        assertThat(sample).containsExactly(8, 1, 11, 3, 2, 4);
    }

    @Test
    void quantile_oneValue_isThatValue() {
        assertThat(Quantiles.of(new double[] {7}, 0.99)).isEqualTo(7);
    }

    @Test
    void quantile_emptySample_isRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Quantiles.of(new double[0], 0.5))
                .withMessageContaining("the sample is empty");
    }

    @ParameterizedTest
    @ValueSource(doubles = {-0.01, 1.01, Double.NaN, 50})
    void quantile_outsideZeroToOne_isRefused(double q) {
        assertThatIllegalArgumentException().isThrownBy(() -> Quantiles.of(new double[] {1}, q));
    }

    @ParameterizedTest
    @CsvSource({"128, 0.50, 53, 76", "128, 0.90, 108, 122", "128, 0.95, 116, 127", "368, 0.99, 360, 368"})
    void ranks_tabulatedSizes_areTheTabulatedRanks(int n, double q, int low, int high) {
        assertThat(Quantiles.ranks(n, q)).isEqualTo(new Quantiles.Ranks(OptionalInt.of(low), OptionalInt.of(high)));
    }

    @Test
    void ranks_p99Of128_haveNoUpperBound() {
        Quantiles.Ranks ranks = Quantiles.ranks(128, 0.99);
        assertThat(ranks.high()).isEmpty();
        assertThat(ranks.low()).isPresent();
        assertThat(ranks.in(new double[128])).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0.90, 36", "0.95, 72", "0.99, 368", "0.999, 3688"})
    void ranks_smallestSampleWithTwoBounds_isTheTabulatedSize(double q, int n) {
        assertThat(Quantiles.ranks(n, q).high()).isPresent();
        assertThat(Quantiles.ranks(n, q).low()).isPresent();
        assertThat(Quantiles.ranks(n - 1, q).high()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"20, 0.5", "128, 0.9", "50, 0.1"})
    void ranks_anySize_coverAtLeastWhatTheyPromiseAndNoRankLess(int n, double q) {
        Quantiles.Ranks ranks = Quantiles.ranks(n, q);
        int low = ranks.low().getAsInt();
        int high = ranks.high().getAsInt();
        assertThat(binomialBelow(n, q, low)).isLessThanOrEqualTo(0.025);
        assertThat(binomialBelow(n, q, low + 1)).isGreaterThan(0.025);
        assertThat(1 - binomialBelow(n, q, high)).isLessThanOrEqualTo(0.025);
        assertThat(1 - binomialBelow(n, q, high - 1)).isGreaterThan(0.025);
    }

    @Test
    void ranks_inASortedLeg_areItsOrderStatistics() {
        double[] sorted = new double[128];
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = i + 1;
        }
        assertThat(Quantiles.ranks(128, 0.5).in(sorted)).contains(new Interval(53, 76));
    }

    /** P(Bin(n, q) < k), summed term by term. */
    private static double binomialBelow(int n, double q, int k) {
        double term = Math.pow(1 - q, n);
        double sum = 0;
        for (int i = 0; i < k; i++) {
            sum += term;
            term *= (double) (n - i) / (i + 1) * q / (1 - q);
        }
        return sum;
    }
}
