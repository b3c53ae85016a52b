package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What settings and wishes refuse, each with one sentence. */
final class ValidationTest {
    private static final Duration SECOND = Duration.ofSeconds(1);

    @ParameterizedTest
    @ValueSource(doubles = {0, -0.1, 1.01, Double.NaN})
    void settings_shareOutsideItsRange_areRefused(double share) {
        assertRefused(
                "The share must be above 0 and at most 1, it is " + share + ".",
                () -> settings(share, 1, OptionalInt.empty(), SECOND, SECOND, SECOND));
    }

    @Test
    void settings_numbersBelowOne_areRefused() {
        assertRefused(
                "maxOutputTokens must be at least 1, it is 0.",
                () -> settings(1, 0, OptionalInt.empty(), SECOND, SECOND, SECOND));
        assertRefused(
                "largestPromptTokens must be at least 1, it is 0: leave it out where there is no promise.",
                () -> settings(1, 1, OptionalInt.of(0), SECOND, SECOND, SECOND));
    }

    @Test
    void settings_durationsNotAboveZero_areRefused() {
        assertRefused(
                "automaticLease must be longer than zero, it is PT0S.",
                () -> settings(1, 1, OptionalInt.empty(), Duration.ZERO, SECOND, SECOND));
        assertRefused(
                "tick must be longer than zero, it is PT-1S.",
                () -> settings(1, 1, OptionalInt.empty(), SECOND, SECOND.negated(), SECOND));
        assertRefused(
                "switchbackWindow must be longer than zero, it is PT0S.",
                () -> settings(1, 1, OptionalInt.empty(), SECOND, SECOND, Duration.ZERO));
    }

    @Test
    void settings_atTheEdges_areTaken() {
        assertThat(settings(1, 1, OptionalInt.of(1), Duration.ofNanos(1), SECOND, SECOND))
                .isEqualTo(settings(1, 1, OptionalInt.of(1), Duration.ofNanos(1), SECOND, SECOND));
        assertThat(ControllerSettings.defaults("e").share()).isEqualTo(0.5);
    }

    @Test
    void lease_longerThanAYear_isRefused() {
        assertThat(new HoldRequest(new long[] {1}, Duration.ofDays(365)).lease())
                .isEqualTo(Duration.ofDays(365));
        assertRefused(
                "The lease must be at most 365 days, it is PT8760H1S: ask again before it ends.",
                () -> new HoldRequest(new long[] {1}, Duration.ofDays(365).plusSeconds(1)));
    }

    private static void assertRefused(String sentence, Runnable making) {
        assertThatThrownBy(making::run)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(sentence);
    }

    private static ControllerSettings settings(
            double share, int maxOutput, OptionalInt promise, Duration lease, Duration tick, Duration window) {
        return new ControllerSettings("e", share, maxOutput, promise, false, lease, tick, Optional.of(window));
    }
}
