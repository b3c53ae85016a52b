package io.holdfast.sidecar.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.effect.TtftEffect.State;
import io.holdfast.evidence.Interval;
import io.holdfast.sidecar.http.CannedPage;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of an effect. */
class VerdictTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "PROVEN | -18.1 | -23.9 | -12 | HELPS | With holds the first token comes 18.1 % sooner (95 % interval:"
                        + " 12.0 % to 23.9 % sooner).",
                "HARMFUL | 7.4 | 2.2 | 12.9 | HARMS | With holds the first token comes 7.4 % later (95 % interval: 2.2"
                        + " % to 12.9 % later).",
                "NO_BENEFIT | -0.4 | -1.9 | 1.1 | DOES_NOTHING | No difference that would matter: with holds the first"
                        + " token comes 1.9 % sooner to 1.1 % later (95 % interval).",
                "UNPROVEN | 1 | -9 | 12 | CANNOT_TELL | Because of the test. So far the first token comes 9.0 % sooner"
                        + " to 12.0 % later (95 % interval)."
            })
    void effect_isSaidInPlainWords(
            State state, double percent, double low, double high, Verdict.Word word, String said) {
        Verdict verdict = Verdict.of(new TtftEffect(
                state,
                9,
                OptionalDouble.of(percent),
                Optional.of(new Interval(low, high)),
                "because of the test",
                OptionalDouble.empty(),
                Optional.empty(),
                Duration.ZERO,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty(),
                Optional.empty()));

        assertThat(verdict).isEqualTo(new Verdict(word, said));
    }

    private static TtftEffect effect(
            State state, Interval times, Optional<TtftEffect.Computed> computed, Optional<String> expected) {
        return new TtftEffect(
                state,
                12,
                OptionalDouble.of((times.low() + times.high()) / 2),
                Optional.of(times),
                "because of the test",
                OptionalDouble.empty(),
                Optional.empty(),
                Duration.ZERO,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                computed,
                expected);
    }

    private static Optional<TtftEffect.Computed> computed(OptionalDouble share, double low, double high) {
        return Optional.of(new TtftEffect.Computed(
                share.isPresent(),
                share,
                12,
                OptionalDouble.of((low + high) / 2),
                Optional.of(new Interval(low, high))));
    }

    @Test
    void fewerComputedTokensOfSome_areSaidWithWhoseTheyAre_andTimesAreNoResult() {
        TtftEffect effect =
                effect(State.PROVEN, new Interval(-4, 2), computed(OptionalDouble.of(9.8), -90, -86), Optional.empty());
        Verdict verdict = Verdict.of(effect);
        assertThat(verdict)
                .isEqualTo(new Verdict(
                        Verdict.Word.HELPS,
                        "With holds requests that use held prefixes, 9.8 % of all, compute 88.0 % fewer prompt tokens"
                            + " (95 % interval: 86.0 % to 90.0 % fewer); the first token comes 4.0 % sooner to 2.0 %"
                            + " later (95 % interval)."));
        assertThat(verdict.shortly(effect))
                .contains("requests that use held prefixes, 9.8 % of all, compute 88.0 % fewer prompt tokens (95 %"
                        + " interval 86.0 % to 90.0 % fewer, 12 windows); first token 4.0 % sooner to 2.0 % later (95 %"
                        + " interval, 12 windows)");
    }

    @Test
    void fewerComputedTokensOfAll_andSoonerFirstTokens_areBothResults() {
        assertThat(Verdict.of(effect(
                                State.PROVEN,
                                new Interval(-12, -8),
                                computed(OptionalDouble.empty(), -24, -20),
                                Optional.empty()))
                        .sentence())
                .isEqualTo("With holds requests compute 22.0 % fewer prompt tokens (95 % interval: 20.0 % to 24.0 %"
                        + " fewer); the first token comes 10.0 % sooner (95 % interval: 8.0 % to 12.0 % sooner).");
    }

    @Test
    void noDifference_isSaidOfBoth() {
        assertThat(Verdict.of(effect(
                                State.NO_BENEFIT,
                                new Interval(-2, 1),
                                computed(OptionalDouble.of(25), -1, 0.5),
                                Optional.empty()))
                        .sentence())
                .isEqualTo("No difference that would matter: with holds requests that use held prefixes, 25 % of all,"
                        + " compute 1.0 % fewer to 0.5 % more prompt tokens (95 % interval), and the first token comes"
                        + " 2.0 % sooner to 1.0 % later (95 % interval).");
    }

    @Test
    void openQuestion_saysWhenItIsAnswered() {
        assertThat(Verdict.of(effect(
                                State.UNPROVEN,
                                new Interval(-2, 1),
                                Optional.empty(),
                                Optional.of("an answer takes about 8 to 44 minutes more at this traffic")))
                        .sentence())
                .endsWith("(95 % interval). An answer takes about 8 to 44 minutes more at this traffic.");
    }

    @Test
    void unknownEffect_isItsReason() {
        assertThat(Verdict.of(TtftEffect.unproven("measuring: no window is over yet")))
                .isEqualTo(new Verdict(Verdict.Word.CANNOT_TELL, "Measuring: no window is over yet."));
    }

    @Test
    void summary_saysWhatItHoldsSavedAndNeeds() {
        assertThat(CannedPage.helping("main").summary(true))
                .isEqualTo("Engine main holds 6 prefixes (41,216 tokens, 16 % of its cache); automatic holds are on"
                        + " (automaticHolds: true); its requests found 61 %"
                        + " of their prompts in the cache over the last 10 min; a simulation of its cache finds"
                        + " 316,824 tokens of these prompts more with holds that are always on; whether holding helps:"
                        + " helps, first token 18.1 % sooner (95 % interval 12.0 % to 23.9 % sooner, 64"
                        + " windows).");
        assertThat(CannedPage.idle("main").summary(true))
                .endsWith("does nothing, first token 1.9 % sooner to 1.1 % later (95 % interval, 64 windows).");
        assertThat(CannedPage.untold("main").summary(true))
                .endsWith(
                        "whether holding helps: cannot tell yet; it would need this: measuring: 1 of at least 4 rounds"
                                + " of four windows are complete.");
    }

    @Test
    void urgency_isHarmThenTroubleThenDoubt() {
        assertThat(CannedPage.fleet(24).stream()
                        .sorted(Comparator.comparingInt(EngineOverview::urgency))
                        .map(engine -> engine.verdict().word())
                        .distinct())
                .containsExactly(
                        Verdict.Word.HARMS, Verdict.Word.CANNOT_TELL, Verdict.Word.DOES_NOTHING, Verdict.Word.HELPS);
    }
}
