package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.EngineReadings;
import io.holdfast.core.Reading;
import org.junit.jupiter.api.Test;

class StallConfirmationTest {
    private static final long LASTING = StallConfirmation.LASTING_NANOS;

    private final StallConfirmation stall = new StallConfirmation();

    @Test
    void queueOfABusyEngine_isPassedOn() {
        EngineReadings busy = readings(3, 5, 100);

        assertThat(stall.confirmed(busy, 1, 0)).isEqualTo(busy);
    }

    @Test
    void emptyQueue_isPassedOn() {
        EngineReadings idle = readings(0, 0, 100);

        assertThat(stall.confirmed(idle, 1, 0)).isEqualTo(idle);
    }

    @Test
    void waitingOnceWhileNothingRuns_isNotBelieved() {
        EngineReadings readings = stall.confirmed(readings(0, 1, 100), 1, 0);

        assertThat(readings.waitingRequests()).isInstanceOf(Reading.Unknown.class);
        assertThat(readings.runningRequests().number()).hasValue(0);
        assertThat(readings.promptTokens().number()).hasValue(100);
    }

    @Test
    void waitingWithoutAnyWorkForLong_isBelieved() {
        stall.confirmed(readings(0, 1, 100), 1, 0);
        assertThat(queue(0, 1, 100, 1, LASTING - 1)).isInstanceOf(Reading.Unknown.class);

        assertThat(queue(0, 2, 100, 1, LASTING).number()).hasValue(2);
        assertThat(queue(0, 2, 100, 1, LASTING + 1).number()).hasValue(2);
    }

    @Test
    void workInBetween_beginsTheWaitAnew() {
        stall.confirmed(readings(0, 1, 100), 1, 0);
        assertThat(queue(0, 1, 101, 1, LASTING)).as("a prompt was served").isInstanceOf(Reading.Unknown.class);
        assertThat(queue(0, 1, 101, 2, 2 * LASTING)).as("blocks were stored").isInstanceOf(Reading.Unknown.class);
        stall.confirmed(readings(1, 1, 101), 2, 2 * LASTING + 1);
        assertThat(queue(0, 1, 101, 2, 3 * LASTING)).as("something ran").isInstanceOf(Reading.Unknown.class);

        assertThat(queue(0, 1, 101, 2, 4 * LASTING).number()).hasValue(1);
    }

    @Test
    void engineThatCountsNothing_isBelievedAfterTheSameTime() {
        EngineReadings silent = new EngineReadings(
                Reading.unknown("?"),
                Reading.unknown("?"),
                Reading.unknown("?"),
                Reading.known(0, "test", 0),
                Reading.known(1, "test", 0),
                Reading.unknown("?"),
                Reading.unknown("?"),
                Reading.unknown("?"),
                Reading.unknown("?"),
                Reading.unknown("?"));

        assertThat(stall.confirmed(silent, 0, 5).waitingRequests()).isInstanceOf(Reading.Unknown.class);
        assertThat(stall.confirmed(silent, 0, 5 + LASTING)).isEqualTo(silent);
    }

    private Reading queue(int running, int waiting, int promptTokens, long batches, long nowNanos) {
        return stall.confirmed(readings(running, waiting, promptTokens), batches, nowNanos)
                .waitingRequests();
    }

    private static EngineReadings readings(int running, int waiting, int promptTokens) {
        return new EngineReadings(
                known(4096),
                known(16),
                known(1024),
                known(running),
                known(waiting),
                known(0),
                known(1),
                known(1),
                known(promptTokens),
                known(0));
    }

    private static Reading known(double value) {
        return Reading.known(value, "test", 0);
    }
}
