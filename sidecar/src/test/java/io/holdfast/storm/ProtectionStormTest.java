package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What cannot be taken back is counted, and never less than there is. */
final class ProtectionStormTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));

    @Test
    void storms_countWhatTheEngineProtects_andLeaveNothingBehind() {
        int calms = 0;
        int exact = 0;
        int biting = 0;
        int seeds = DEEP ? 1_000 : 20;
        for (long seed = 0; seed < seeds; seed++) {
            ProtectionStorm storm = new ProtectionStorm(seed);
            assertThat(storm.run()).as("seed %d", seed).isEmpty();
            calms += storm.calms();
            exact += storm.exact();
            biting += storm.bites() ? 1 : 0;
        }
        assertThat(biting).as("in which something was protected").isGreaterThan(seeds * 8 / 10);
        assertThat(exact).as("exact counts").isGreaterThan(calms * 85 / 100);
    }
}
