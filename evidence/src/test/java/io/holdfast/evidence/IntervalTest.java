package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class IntervalTest {
    @ParameterizedTest
    @CsvSource({"-1, 1, false", "0, 1, false", "-1, 0, false", "0.1, 1, true", "-1, -0.1, true", "0, 0, false"})
    void excludesZero_endsAtZero_doNotCount(double low, double high, boolean excluded) {
        assertThat(new Interval(low, high).excludesZero()).isEqualTo(excluded);
    }

    @ParameterizedTest
    @CsvSource({"-0.1, 0.1, false", "-0.09, 0.1, false", "-0.1, 0.09, false", "-0.09, 0.09, true"})
    void within_endsAtTheMargin_doNotCount(double low, double high, boolean inside) {
        assertThat(new Interval(low, high).within(0.1)).isEqualTo(inside);
    }

    @Test
    void belowAndAbove_endAtTheValue_doNotCount() {
        Interval interval = new Interval(1, 2);
        assertThat(interval.below(2)).isFalse();
        assertThat(interval.below(2.1)).isTrue();
        assertThat(interval.above(1)).isFalse();
        assertThat(interval.above(0.9)).isTrue();
        assertThat(interval.contains(1)).isTrue();
        assertThat(interval.contains(2.1)).isFalse();
        assertThat(interval.middle()).isEqualTo(1.5);
        assertThat(interval.halfWidth()).isEqualTo(0.5);
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "NaN, 0", "0, NaN", "0, Infinity", "-Infinity, 0"})
    void ends_thatBoundNothing_areRefused(double low, double high) {
        assertThatIllegalArgumentException().isThrownBy(() -> new Interval(low, high));
    }
}
