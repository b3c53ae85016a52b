package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
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

    @Test
    void stall_isCountedAndPinsStayOffUntilServedAndTheWaitIsOver() {
        long at = stall(0);
        assertThat(watch.stalls()).isEqualTo(1);
        assertThat(watch.hindrance(at))
                .hasValueSatisfying(why -> assertThat(why).contains("stall number 1"));
        assertThat(watch.hindrance(at + StallWatch.LONGEST_WAIT_NANOS))
                .as("not served yet")
                .isPresent();
        watch.look(RUNNING, 8, at + SECOND);
        assertThat(watch.hindrance(at + StallWatch.FIRST_WAIT_NANOS - 1)).isPresent();
        assertThat(watch.hindrance(at + StallWatch.FIRST_WAIT_NANOS)).isEmpty();
    }

    @Test
    void stallsInARow_doubleTheWaitUpToAnHour() {
        long at = 0;
        for (long minutes : new long[] {1, 2, 4, 8, 16, 32, 60, 60}) {
            at = stall(at);
            watch.look(RUNNING, 8, at + SECOND);
            assertThat(watch.hindrance(at + minutes * 60 * SECOND - 1)).isPresent();
            assertThat(watch.hindrance(at + minutes * 60 * SECOND)).isEmpty();
            at += SECOND;
        }
        assertThat(watch.stalls()).isEqualTo(8);
    }

    @Test
    void resume_endsTheWaitAndKeepsTheCount() {
        long at = stall(0);
        watch.resume();
        assertThat(watch.hindrance(at)).isEmpty();
        assertThat(watch.stalls()).isEqualTo(1);
    }

    @Test
    void dayWithoutAStall_beginsAtAMinuteAgain() {
        watch.look(RUNNING, 8, stall(stall(0)) + SECOND);
        long at = stall(25 * StallWatch.LONGEST_WAIT_NANOS);
        watch.look(RUNNING, 8, at + SECOND);
        assertThat(watch.hindrance(at + StallWatch.FIRST_WAIT_NANOS)).isEmpty();
    }

    /** One stall that begins after this time; answers when it was last seen. */
    private long stall(long from) {
        watch.look(RUNNING, 7, from);
        watch.look(WAITING, 7, from + SECOND);
        watch.look(WAITING, 7, from + SECOND + StallWatch.STANDSTILL_NANOS);
        return from + SECOND + StallWatch.STANDSTILL_NANOS;
    }
}
