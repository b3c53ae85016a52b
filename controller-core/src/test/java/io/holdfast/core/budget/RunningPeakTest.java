package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.Samples;
import org.junit.jupiter.api.Test;

final class RunningPeakTest {
    private static final long SECOND = 1_000_000_000L;

    private final RunningPeak peak = new RunningPeak();

    @Test
    void jumpingByOneWithEveryReading_doesNotChangeIt() {
        for (int look = 0; look < 600; look++) {
            peak.look(Samples.readings(10_000, 16, 9_000, 8 - look % 2, 0, 0), look * SECOND / 2);
            assertThat(peak.requests(look * SECOND / 2)).isEqualTo(8);
        }
    }

    @Test
    void fewerRun_itFallsAMinuteLater() {
        peak.look(Samples.readings(10_000, 16, 9_000, 8, 0, 0), 0);
        peak.look(Samples.readings(10_000, 16, 9_000, 2, 0, 0), 60 * SECOND);
        assertThat(peak.requests(60 * SECOND)).isEqualTo(8);
        assertThat(peak.requests(70 * SECOND)).isEqualTo(2);
    }
}
