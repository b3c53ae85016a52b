package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class HoldPaceTest {
    private static final long SECOND = 1_000_000_000L;

    private final HoldPace pace = new HoldPace();

    @Test
    void engineThatServesNobody_isAskedForNothing() {
        pace.now(3_600 * SECOND, 0);
        assertThat(pace.mayBegin()).isZero();
    }

    @Test
    void slowEngine_isAskedOnceForTwoRequests() {
        assertThat(begun(600, 1)).isBetween(299L, 300L);
    }

    @Test
    void fastEngine_isAskedTwiceASecond() {
        assertThat(begun(600, 50)).isBetween(1_200L, 1_208L);
    }

    @Test
    void afterAPause_eightAtOnceAreTheMost() {
        pace.now(3_600 * SECOND, 10_000);
        assertThat(pace.mayBegin()).isEqualTo(8);
    }

    @Test
    void requestsOfLongAgo_areNoCredit() {
        pace.now(3_600 * SECOND, 10_000);
        pace.begun(8);
        pace.now(3_700 * SECOND, 10_000);
        assertThat(pace.mayBegin()).isZero();
        pace.now(3_700 * SECOND, 10_002);
        assertThat(pace.mayBegin()).isEqualTo(1);
    }

    /** Ten plans a second, each of which begins what it may. */
    private long begun(int seconds, int requestsASecond) {
        long begun = 0;
        for (int plan = 1; plan <= 10 * seconds; plan++) {
            pace.now(plan * SECOND / 10, (long) plan * requestsASecond / 10);
            begun += pace.mayBegin();
            pace.begun(pace.mayBegin());
        }
        return begun;
    }
}
