package io.holdfast.app.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.workbench.preset.PinPocFiles.Spread;
import org.junit.jupiter.api.Test;

final class PinPocReportTest {
    @Test
    void spreadOfThree_hasTheBenchmarksDecimals_andTheIntervalThatItLacks() {
        assertThat(PinPocReport.spread(Spread.of(10, 12, 17)))
                .isEqualTo("mean=13.00ms, std=3.61ms, 95 % interval 4.04 to 21.96ms");
        assertThat(PinPocReport.spread(Spread.of(15.904)))
                .as("one has no interval")
                .isEqualTo("mean=15.90ms, std=0.00ms");
    }
}
