package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** A publisher that sends more than a buffer keeps is read more often, and one that sends little is not. */
class GatherPaceTest {
    private static final long MOST = 10_000_000;

    private final GatherPace pace = new GatherPace();

    @Test
    void moreThanMayGather_halvesTheTime_downToAMillisecond() {
        assertThat(pace.nanos(MOST)).isEqualTo(MOST);
        pace.round(1.1, false, MOST);
        assertThat(pace.nanos(MOST)).isEqualTo(MOST / 2);
        for (int i = 0; i < 9; i++) {
            pace.round(1.1, false, MOST);
        }
        assertThat(pace.nanos(MOST)).isEqualTo(GatherPace.LEAST_NANOS);
    }

    @Test
    void little_doublesTheTime_upToTheOwners() {
        pace.round(2, false, MOST);
        pace.round(2, false, MOST);
        pace.round(0.5, false, MOST);
        assertThat(pace.nanos(MOST)).isEqualTo(MOST / 4);
        pace.round(0.2, false, MOST);
        assertThat(pace.nanos(MOST)).isEqualTo(MOST / 2);
        for (int i = 0; i < 100; i++) {
            pace.round(0, false, MOST);
        }
        assertThat(pace.nanos(MOST)).isEqualTo(MOST);
        pace.round(2, false, MOST);
        assertThat(pace.nanos(MOST)).as("at once, however long little came").isEqualTo(MOST / 2);
    }

    @Test
    void roundsThatLeaveSomethingBehind_countTogether() {
        pace.round(0.6, true, MOST);
        pace.round(0.6, true, MOST);
        assertThat(pace.nanos(MOST)).isEqualTo(MOST);
        pace.round(0, false, MOST);
        assertThat(pace.nanos(MOST)).isEqualTo(MOST / 2);
        pace.round(0.5, false, MOST);
        assertThat(pace.nanos(MOST)).as("the next count from nothing").isEqualTo(MOST / 2);
    }
}
