package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.RequestRules;
import org.junit.jupiter.api.Test;

class NewestReadingsTest {
    private final NewestReadings readings = new NewestReadings(
            new EngineObservers(RequestRules.sglang(), request -> false, false, MemoryBudget.unbounded(), rank -> {}));

    private boolean anotherProcess(int requests, long atNanos) {
        return readings.areOfAnotherProcess(EngineReadings.unknownBut("it is not told here")
                .ttftCount(Reading.known(requests, "requests", atNanos))
                .promptTokens(Reading.known(10 * requests, "tokens", atNanos))
                .build());
    }

    @Test
    void countersThatFall_areOfAnotherProcess() {
        assertThat(anotherProcess(10, 1)).isFalse();
        assertThat(anotherProcess(12, 2)).isFalse();
        assertThat(anotherProcess(1, 3)).isTrue();
        assertThat(anotherProcess(2, 4)).isFalse();
    }

    @Test
    void oldCountersThatComeLate_tellNothing() {
        assertThat(anotherProcess(10, Long.MAX_VALUE)).isFalse();
        assertThat(anotherProcess(12, Long.MIN_VALUE + 5)).isFalse();
        assertThat(anotherProcess(11, Long.MIN_VALUE + 2)).isFalse();
        assertThat(anotherProcess(12, Long.MIN_VALUE + 6)).isFalse();
        assertThat(anotherProcess(3, Long.MIN_VALUE + 7)).isTrue();
    }
}
