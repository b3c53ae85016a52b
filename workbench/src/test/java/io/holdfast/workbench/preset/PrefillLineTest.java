package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.workbench.preset.PrefillLine.Point;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PrefillLineTest {
    @Test
    void line_isThatOfTheColdRequests() {
        PrefillLine line = PrefillLine.of(List.of(new Point(100, 30), new Point(200, 50), new Point(300, 70)))
                .orElseThrow();
        assertThat(line.fixedMillis()).isCloseTo(10, within(1e-9));
        assertThat(line.millisPerToken()).isCloseTo(0.2, within(1e-9));
    }

    @Test
    void lineOfLeastSquares_tellsOfAnyLength_andOneLengthIsNoLine() {
        PrefillLine line = PrefillLine.of(List.of(new Point(100, 5), new Point(200, 7), new Point(300, 9)))
                .orElseThrow();
        assertThat(line.cold(512)).isCloseTo(13.24, within(1e-9));
        assertThat(PrefillLine.of(List.of(new Point(9, 1), new Point(9, 2), new Point(9, 3))))
                .isEmpty();
    }

    @Test
    void longerPromptsThatTookNoLonger_areNoLine() {
        assertThat(PrefillLine.of(List.of(new Point(100, 70), new Point(200, 50), new Point(300, 30))))
                .isEmpty();
    }
}
