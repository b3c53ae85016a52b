package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RecentPeakTest {
    private static final long SECOND = 1_000_000_000L;

    private final RecentPeak peak = new RecentPeak();

    @Test
    void jumpingByOneWithEveryReading_doesNotChangeIt() {
        for (int look = 0; look < 600; look++) {
            peak.look(8 - look % 2, look * SECOND / 2);
            assertThat(peak.requests(look * SECOND / 2)).isEqualTo(8);
        }
    }

    @Test
    void fewerRun_itFallsAMinuteLater() {
        peak.look(8, 0);
        peak.look(2, 60 * SECOND);
        assertThat(peak.requests(60 * SECOND)).isEqualTo(8);
        assertThat(peak.requests(70 * SECOND)).isEqualTo(2);
    }
}
