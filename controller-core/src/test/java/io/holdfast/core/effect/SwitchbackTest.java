package io.holdfast.core.effect;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Samples;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;

/** The TTFT measurement on seeded streams. */
final class SwitchbackTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int WINDOW = 40;

    private final List<Boolean> arms = new ArrayList<>();

    @Test
    void effect_holdingIsFaster_isProvenWithAnIntervalAroundIt() {
        TtftEffect effect = run(stream(0.8, 0.1, 1), 80);
        assertThat(effect.state()).isEqualTo(TtftEffect.State.PROVEN);
        assertThat(effect.windows()).isEqualTo(80);
        assertThat(effect.effectPercent().orElseThrow()).isCloseTo(-20, Assertions.within(5.0));
        assertThat(effect.interval95Percent().orElseThrow().high()).isNegative();
    }

    @Test
    void effect_holdingIsSlower_isHarmful() {
        assertThat(run(stream(1.3, 0.1, 2), 80).state()).isEqualTo(TtftEffect.State.HARMFUL);
    }

    @Test
    void effect_noneAndLittleNoise_isNoBenefit() {
        TtftEffect effect = run(stream(1, 0.05, 3), 160);
        assertThat(effect.state()).isEqualTo(TtftEffect.State.NO_BENEFIT);
    }

    @Test
    void effect_noneAndMuchNoise_staysUnproven() {
        TtftEffect effect = run(stream(1, 3, 4), 40);
        assertThat(effect.state()).isEqualTo(TtftEffect.State.UNPROVEN);
        assertThat(effect.reason()).startsWith("the interval still contains both");
    }

    @Test
    void effect_driftWithoutEffect_isNotTakenForOne() {
        int found = 0;
        for (int seed = 0; seed < 200; seed++) {
            SplittableRandom noise = new SplittableRandom(seed);
            TtftEffect effect = run((t, on) -> 0.2 * Math.exp(t / 4_000.0) * (1 + 0.1 * noise.nextGaussian()), 64);
            found += effect.state() == TtftEffect.State.PROVEN || effect.state() == TtftEffect.State.HARMFUL ? 1 : 0;
        }
        assertThat(found).as("of 200, at a level of 5 %%").isLessThanOrEqualTo(18);
    }

    @Test
    void effect_fewerThanFourRounds_isNotSaid() {
        TtftEffect effect = run(stream(0.5, 0.01, 5), 15);
        assertThat(effect.state()).isEqualTo(TtftEffect.State.UNPROVEN);
        assertThat(effect.effectPercent()).isEmpty();
        assertThat(effect.reason()).isEqualTo("measuring: 3 of at least 4 rounds of four windows are complete");
    }

    @Test
    void windows_areAbbaOrBaabAndBothOccur() {
        run(stream(1, 0.1, 6), 80);
        List<String> quads = new ArrayList<>();
        for (int i = 0; i + 4 <= 80; i += 4) {
            StringBuilder quad = new StringBuilder();
            arms.subList(i, i + 4).forEach(on -> quad.append(on ? 'A' : 'B'));
            quads.add(quad.toString());
        }
        assertThat(quads).containsOnly("ABBA", "BAAB").contains("ABBA", "BAAB");
    }

    @Test
    void readings_unknown_makeTheWindowNotReadyAndNeverZero() {
        Switchback loop = new Switchback(WINDOW * SECOND, new SplittableRandom(1));
        Set<Boolean> seen = new HashSet<>();
        for (int t = 0; t < 40 * WINDOW; t++) {
            loop.tick(t * SECOND, true);
            loop.reading(EngineReadings.unknown("no answer"), t * SECOND);
            seen.add(loop.off().isEmpty());
        }
        assertThat(loop.effect().windows()).isZero();
        assertThat(loop.effect().state()).isEqualTo(TtftEffect.State.UNPROVEN);
        assertThat(seen).as("the arms go on alternating").containsExactlyInAnyOrder(true, false);
    }

    @Test
    void window_fewerThanTenRequests_isNotReady() {
        Switchback loop = new Switchback(WINDOW * SECOND, new SplittableRandom(1));
        for (int t = 0; t <= 20 * WINDOW; t++) {
            loop.tick(t * SECOND, true);
            // One request in 4 s: seven in the three quarters of a window that count.
            double count = Math.floor(t / 4.0);
            loop.reading(Samples.readings(0, 0, 0, 0, 0, 0, count * 0.2, count, 0), t * SECOND);
        }
        assertThat(loop.effect().windows()).isZero();
    }

    @Test
    void reports_ofFirstTokens_areUsedInPlaceOfTheCounters() {
        Switchback loop = new Switchback(WINDOW * SECOND, new SplittableRandom(1));
        for (int t = 0; t <= 80 * WINDOW; t++) {
            loop.tick(t * SECOND, true);
            loop.reading(EngineReadings.unknown("no answer"), t * SECOND);
            loop.firstToken(FirstToken.of(loop.off().isEmpty() ? 0.1 : 0.2, 1_000), t * SECOND);
        }
        assertThat(loop.effect().state()).isEqualTo(TtftEffect.State.PROVEN);
        assertThat(loop.effect().effectPercent().orElseThrow()).isCloseTo(-50, Assertions.within(5.0));
    }

    @Test
    void window_inWhichTheEngineRestarted_isNotReady() {
        Switchback loop = new Switchback(WINDOW * SECOND, new SplittableRandom(1));
        for (int t = 0; t <= WINDOW; t++) {
            loop.tick(t * SECOND, true);
            double count = t < 30 ? 10_000 + t * 20 : t * 1_000;
            loop.reading(Samples.readings(0, 0, 0, 0, 0, 0, count * 0.1, count, 0), t * SECOND);
            if (t == 31) {
                loop.interrupted();
            }
        }
        assertThat(loop.effect().windows()).isZero();
    }

    @Test
    void window_onInWhichNothingWasHeld_isNotReadyAndTheReasonSaysSo() {
        Switchback loop = new Switchback(WINDOW * SECOND, new SplittableRandom(1));
        for (int t = 0; t <= 20 * WINDOW; t++) {
            // What a window "off" leaves behind for an instant is not held in the measured part.
            loop.tick(t * SECOND, t % WINDOW < WINDOW / 4);
            loop.reading(Samples.readings(0, 0, 0, 0, 0, 0, t * 4, t * 20, 0), t * SECOND);
        }
        assertThat(loop.effect().windows()).as("only those without holds count").isEqualTo(10);
        assertThat(loop.effect().effectPercent()).isEmpty();
        assertThat(loop.effect().reason())
                .isEqualTo("measuring: 0 of at least 4 rounds of four windows are complete; in 10 windows nothing was"
                        + " held automatically, so they do not count");
    }

    @Test
    void window_firstQuarter_isLeftOut() {
        // Slow only while settling: with the first quarter counted, holding would look slower.
        SplittableRandom noise = new SplittableRandom(8);
        int[] sinceSwitch = {0};
        boolean[] before = {true};
        TtftEffect effect = run(
                (t, on) -> {
                    sinceSwitch[0] = on == before[0] ? sinceSwitch[0] + 1 : 0;
                    before[0] = on;
                    double settling = on && sinceSwitch[0] < WINDOW / 4 ? 3 : 1;
                    return 0.2 * settling * (1 + 0.05 * noise.nextGaussian());
                },
                160);
        assertThat(effect.state()).isEqualTo(TtftEffect.State.NO_BENEFIT);
    }

    @FunctionalInterface
    private interface Ttft {
        double seconds(int second, boolean on);
    }

    private static Ttft stream(double factor, double noise, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        return (t, on) -> 0.2 * (on ? factor : 1) * Math.exp(noise * random.nextGaussian());
    }

    private TtftEffect run(Ttft ttft, int windows) {
        Switchback loop = new Switchback(WINDOW * SECOND, new SplittableRandom(windows));
        double sum = 0;
        double count = 0;
        for (int t = 0; t <= windows * WINDOW; t++) {
            loop.tick(t * SECOND, true);
            boolean on = loop.off().isEmpty();
            if (t % WINDOW == 0) {
                arms.add(on);
            }
            sum += 2 * ttft.seconds(t, on);
            count += 2;
            loop.reading(Samples.readings(0, 0, 0, 0, 0, 0, sum, count, 0), t * SECOND);
        }
        return loop.effect();
    }
}
