package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class StallWatchTest {
    private static final long SECOND = 1_000_000_000L;
    private static final EngineReadings WAITING = Samples.readings(100_000, 16, 50_000, 0, 4, 0);
    private static final EngineReadings RUNNING = Samples.readings(100_000, 16, 50_000, 1, 4, 0);

    private final StallWatch watch = new StallWatch();

    @Test
    void oneLook_isNoStall() {
        watch.look(WAITING, 7, 0);
        assertThat(watch.stalled(0)).isFalse();
        assertThat(watch.stalled(5 * SECOND)).isFalse();
    }

    @Test
    void sameLookAfterTheStandstill_isOne() {
        watch.look(WAITING, 7, 0);
        watch.look(WAITING, 7, 2 * SECOND - 1);
        assertThat(watch.stalled(2 * SECOND - 1)).isFalse();
        watch.look(WAITING, 7, 2 * SECOND);
        assertThat(watch.stalled(2 * SECOND)).isTrue();
    }

    @Test
    void eventsInBetween_showThatItPrefills() {
        watch.look(WAITING, 7, 0);
        watch.look(WAITING, 8, 2 * SECOND);
        assertThat(watch.stalled(2 * SECOND)).isFalse();
        watch.look(WAITING, 8, 4 * SECOND);
        assertThat(watch.stalled(4 * SECOND)).isTrue();
    }

    @Test
    void requestThatRuns_endsIt() {
        watch.look(WAITING, 7, 0);
        watch.look(WAITING, 7, 3 * SECOND);
        watch.look(RUNNING, 7, 4 * SECOND);
        assertThat(watch.stalled(4 * SECOND)).isFalse();
        watch.look(WAITING, 7, 5 * SECOND);
        assertThat(watch.stalled(5 * SECOND)).isFalse();
    }

    @Test
    void staleLook_tellsNothing() {
        watch.look(WAITING, 7, 0);
        watch.look(WAITING, 7, 2 * SECOND);
        assertThat(watch.stalled(12 * SECOND)).isTrue();
        assertThat(watch.stalled(12 * SECOND + 1)).isFalse();
    }

    @Test
    void unknownReadings_areNoStall() {
        EngineReadings unknown = Samples.with(WAITING, "runningRequests", Reading.unknown("?"));
        watch.look(unknown, 7, 0);
        watch.look(unknown, 7, 3 * SECOND);
        assertThat(watch.stalled(3 * SECOND)).isFalse();
    }
}
