package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.plan.AutomaticHolds;
import java.time.Duration;
import java.util.Optional;
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
                () -> settings(share, SECOND, SECOND, SECOND));
    }

    @Test
    void requestSizes_belowOne_areRefused() {
        assertRefused(
                "A request has a prompt and an answer of at least 1 token each, not 1 and 0.",
                () -> RequestSizes.measured(0));
        assertRefused(
                "A request has a prompt and an answer of at least 1 token each, not 0 and 1.",
                () -> RequestSizes.of(0, 1));
    }

    @Test
    void settings_durationsNotAboveZero_areRefused() {
        assertRefused(
                "automaticLease must be longer than zero, it is PT0S.",
                () -> settings(1, Duration.ZERO, SECOND, SECOND));
        assertRefused(
                "tick must be longer than zero, it is PT-1S.", () -> settings(1, SECOND, SECOND.negated(), SECOND));
        assertRefused("window must be longer than zero, it is PT0S.", () -> settings(1, SECOND, SECOND, Duration.ZERO));
    }

    @Test
    void settings_atTheEdges_areTaken() {
        assertThat(settings(1, Duration.ofNanos(1), SECOND, SECOND))
                .isEqualTo(settings(1, Duration.ofNanos(1), SECOND, SECOND));
        assertThat(ControllerSettings.defaults("e").budget().share()).isEqualTo(0.5);
    }

    @Test
    void lease_longerThanAYear_isRefused() {
        assertThat(new HoldRequest(new long[] {1}, Duration.ofDays(365)).lease().length())
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

    private static ControllerSettings settings(double share, Duration lease, Duration tick, Duration window) {
        return new ControllerSettings(
                "e",
                new BudgetSettings(share, Optional.empty(), "--context-length"),
                AutomaticHolds.OFF,
                lease,
                ControllerSettings.LEAST_SAVING,
                tick,
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                Optional.of(EffectSettings.DEFAULTS.withWindow(window)));
    }
}
