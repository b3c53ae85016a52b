package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class HolmTest {
    @Test
    void adjust_fourQuestions_stepsDownAndNeverFalls() {
        // Sorted 0.005 0.01 0.03 0.04, times 4 3 2 1: 0.02 0.03 0.06 and then 0.06 again.
        assertThat(Holm.adjust(0.01, 0.04, 0.03, 0.005))
                .usingComparatorWithPrecision(1e-12)
                .containsExactly(0.03, 0.06, 0.06, 0.02);
    }

    @Test
    void adjust_oneQuestion_changesNothing() {
        assertThat(Holm.adjust(0.04)).containsExactly(0.04);
        assertThat(Holm.adjusted(0.04, List.of())).isEqualTo(0.04);
    }

    @Test
    void adjust_largeValues_stayProbabilities() {
        assertThat(Holm.adjust(0.6, 0.7)).containsExactly(1, 1);
    }

    @Test
    void adjust_equalValues_areTreatedAlike() {
        assertThat(Holm.adjust(0.02, 0.02)).containsExactly(0.04, 0.04);
    }
}
