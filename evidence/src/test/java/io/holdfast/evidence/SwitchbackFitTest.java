package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The regression on windows that follow one another. */
final class SwitchbackFitTest {
    private static final boolean[] ABBA = {true, false, false, true};

    private interface Value {
        double of(int window, boolean on, double covariate);
    }

    private static List<WindowValue> windows(int count, long seed, Value value) {
        Random random = new Random(seed);
        List<WindowValue> windows = new ArrayList<>();
        boolean turned = false;
        for (int i = 0; i < count; i++) {
            turned = i % 4 == 0 ? random.nextBoolean() : turned;
            boolean on = ABBA[i % 4] != turned;
            double covariate = random.nextGaussian();
            windows.add(new WindowValue(i, on, value.of(i, on, covariate), List.of(covariate, 3.0)));
        }
        return windows;
    }

    @Test
    void exactData_isFittedExactly() {
        SwitchbackFit fit = SwitchbackFit.of(windows(20, 1, (i, on, x) -> 5 + (on ? -0.3 : 0) + 0.7 * x))
                .orElseThrow();
        assertThat(fit.effect()).isCloseTo(-0.3, within(1e-9));
        assertThat(fit.se()).isCloseTo(0, within(1e-9));
        assertThat(fit.df()).as("intercept, arm and the covariate that varies").isEqualTo(17);
        assertThat(fit.coefficients().get(2)).isCloseTo(0.7, within(1e-9));
        assertThat(fit.coefficients().get(3)).as("it never varies").isZero();
    }

    /** A slow drift that nothing explains is compared away by neighbours. */
    @Test
    void drift_isNoEffect() {
        Random noise = new Random(3);
        SwitchbackFit fit = SwitchbackFit.of(windows(
                        80, 2, (i, on, x) -> 2 * Math.sin(i / 20.0) + (on ? 0.1 : 0) + 0.01 * noise.nextGaussian()))
                .orElseThrow();
        assertThat(fit.effect()).isCloseTo(0.1, within(0.03));
        assertThat(fit.correlation()).isGreaterThan(0.8);
    }

    @ParameterizedTest
    @CsvSource({"12, 0", "12, 0.3", "20, 0.3", "40, 0", "40, 0.3", "80, 0.3", "80, 0.6"})
    void standardError_isWhatEstimatesStray(int count, double correlation) {
        int runs = 2_000;
        double squares = 0;
        double covered = 0;
        double variance = 0;
        for (int run = 0; run < runs; run++) {
            Random random = new Random(run);
            double[] noise = {random.nextGaussian()};
            SwitchbackFit fit = SwitchbackFit.of(windows(count, run, (i, on, x) -> {
                        noise[0] = correlation * noise[0]
                                + Math.sqrt(1 - correlation * correlation) * random.nextGaussian();
                        return noise[0];
                    }))
                    .orElseThrow();
            squares += fit.effect() * fit.effect() / runs;
            variance += fit.se() * fit.se() / runs;
            covered += Math.abs(fit.effect()) <= fit.reach(0.025) ? 1.0 / runs : 0;
        }
        assertThat(covered).as("of 95 %%").isBetween(0.925, 0.98);
        assertThat(Math.sqrt(variance / squares)).isBetween(0.9, 1.2);
    }

    @Test
    void holes_keepDistance() {
        List<WindowValue> windows = new ArrayList<>(windows(40, 4, (i, on, x) -> (on ? 1 : 0) + 0.1 * x));
        windows.removeIf(window -> window.position() % 5 == 2);
        assertThat(SwitchbackFit.of(windows).orElseThrow().effect()).isCloseTo(1, within(1e-9));
    }

    @Test
    void tooFewWindows_orOneArmOnly_fitNothing() {
        assertThat(SwitchbackFit.of(List.of())).isEmpty();
        assertThat(SwitchbackFit.of(windows(8, 5, (i, on, x) -> x))).isEmpty();
        List<WindowValue> same =
                windows(40, 6, (i, on, x) -> x).stream().filter(WindowValue::on).toList();
        assertThat(SwitchbackFit.of(same)).isEmpty();
    }

    @Test
    void strays_areFromWhatArmAndCovariateLetExpect() {
        Random random = new Random(7);
        List<WindowValue> windows = windows(80, 7, (i, on, x) -> 3 + (on ? -1 : 0) + x + 0.5 * random.nextGaussian());
        SwitchbackFit fit = SwitchbackFit.of(windows).orElseThrow();
        assertThat(fit.sd()).isCloseTo(0.5, within(0.1));
        assertThat(fit.strays(new WindowValue(99, true, 3.5, List.of(0.5, 3.0))))
                .isCloseTo(1, within(0.25));
        assertThat(fit.strays(new WindowValue(99, false, 3.5, List.of(0.5, 3.0))))
                .isCloseTo(0, within(0.25));
    }

    @Test
    void windowsFarApart_haveLessInCommon() {
        double[] last = {0};
        Random noise = new Random(8);
        List<WindowValue> near = windows(40, 8, (i, on, x) -> last[0] = 0.7 * last[0] + noise.nextGaussian());
        List<WindowValue> far = near.stream()
                .map(each -> new WindowValue(10 * each.position(), each.on(), each.value(), each.covariates()))
                .toList();
        assertThat(SwitchbackFit.of(far).orElseThrow().correlation())
                .isGreaterThan(SwitchbackFit.of(near).orElseThrow().correlation() + 0.1);
    }
}
