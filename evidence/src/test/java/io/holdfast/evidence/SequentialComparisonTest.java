package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.SequentialComparison.Bounds;
import io.holdfast.evidence.SequentialComparison.Errors;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Looks at windows as they come. */
final class SequentialComparisonTest {
    private static final Bounds BOUNDS = new Bounds(0.03, Errors.USUAL);

    private final SequentialComparison comparison = new SequentialComparison(BOUNDS);
    private final Random random = new Random(1);
    private int position;

    private boolean add(double effect, double sd) {
        boolean on = position % 4 == 0 || position % 4 == 3;
        return comparison.add(
                new WindowValue(position++, on, (on ? effect : 0) + sd * random.nextGaussian(), List.of()));
    }

    @Test
    void looks_comeEveryFourWindowsFromTheTwelfth_andAnewInEachSpan() {
        List<Integer> looks = new ArrayList<>();
        for (int window = 1; window <= 500; window++) {
            if (add(0, 1)) {
                looks.add(window);
            }
        }
        assertThat(looks)
                .startsWith(12, 16, 20)
                .contains(236, 240, 252, 256, 480, 492)
                .doesNotContain(244, 248, 484, 488);
    }

    @Test
    void onlyTheLastSpan_counts() {
        for (int window = 0; window < SequentialComparison.SPAN; window++) {
            add(1, 0.01);
        }
        for (int window = 0; window < SequentialComparison.SPAN; window++) {
            add(-1, 0.01);
        }
        assertThat(comparison.windows()).isEqualTo(SequentialComparison.SPAN);
        assertThat(comparison.look().orElseThrow().fit().effect()).isCloseTo(-1, within(0.02));
    }

    @Test
    void verdicts_areThoseOfTheirIntervals() {
        look(-0.2, 0.02, true, false, false);
        look(0.2, 0.02, false, true, true);
        look(0, 0.002, false, false, true);
        look(0, 0.3, false, false, false);
        // A gain that is surely there, and surely smaller than is worth having.
        look(-0.01, 0.0005, true, false, true);
    }

    private void look(double effect, double sd, boolean gain, boolean loss, boolean noGain) {
        comparison.forget();
        for (int window = 0; window < 40; window++) {
            add(effect, sd);
        }
        SequentialComparison.Look look = comparison.look().orElseThrow();
        assertThat(look.gain()).as("gain of %s", effect).isEqualTo(gain);
        assertThat(look.loss()).as("loss of %s", effect).isEqualTo(loss);
        assertThat(look.noGain()).as("no gain of %s", effect).isEqualTo(noGain);
        assertThat(look.interval().contains(effect)).isTrue();
    }

    @Test
    void forgotten_isForgotten() {
        for (int window = 0; window < 20; window++) {
            add(1, 0.1);
        }
        comparison.forget();
        assertThat(comparison.look()).isEmpty();
        assertThat(comparison.windows()).isZero();
        for (int window = 0; window < 11; window++) {
            assertThat(add(0, 1)).isFalse();
        }
        assertThat(add(0, 1)).isTrue();
    }

    @Test
    void cumulativeSum_forgetsOddValuesAndNoticesAShift() {
        CumulativeSum sum = new CumulativeSum(1, 5);
        assertThat(sum.add(4)).isFalse();
        for (int i = 0; i < 100; i++) {
            assertThat(sum.add(i % 2 == 0 ? 1.5 : -1.5)).isFalse();
        }
        for (int i = 0; i < 4; i++) {
            assertThat(sum.add(2)).isFalse();
        }
        assertThat(sum.add(2)).isTrue();
    }

    @Test
    void leastGain_isAPart() {
        assertThatThrownBy(() -> new Bounds(3, Errors.USUAL))
                .hasMessage("The least gain is a part of the whole from 0 to below 1, not 3.0; write 0.03 for 3 %.");
    }
}
