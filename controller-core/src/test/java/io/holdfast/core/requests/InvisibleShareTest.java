package io.holdfast.core.requests;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class InvisibleShareTest {
    private static final long MINUTE = 60_000_000_000L;

    private final InvisibleShare share = new InvisibleShare();
    private long now;
    private long requests = 1_000;
    private long seen;
    private double running;

    @Test
    void beforeARequest_nothingIsKnown() {
        assertThat(share.share()).isEmpty();
        assertThat(share.recentShare()).isEmpty();
        minutes(1, 0, 0);
        assertThat(share.share()).isEmpty();
        assertThat(share.recentShare()).isEmpty();
    }

    @Test
    void aDayThatWasSeen_doesNotHideTheMinutesThatWereNot() {
        minutes(24 * 60, 60, 60);
        assertThat(share.recentShare()).hasValue(0);
        minutes(10, 60, 30);
        assertThat(share.share().orElseThrow()).isLessThan(0.01);
        assertThat(share.recentShare().orElseThrow()).isBetween(0.25, 0.5);
        minutes(20, 60, 60);
        assertThat(share.recentShare()).as("it is over").hasValue(0);
        assertThat(share.invisible()).isEqualTo(300);
    }

    @Test
    void fewRequests_leaveMoreDoubt() {
        minutes(60, 60, 60);
        assertThat(share.recentDoubt()).isBetween(5 / 1200.0, 5 / 600.0);
        running = 40;
        minutes(1, 60, 60);
        assertThat(share.recentDoubt()).isBetween(45 / 1260.0, 45 / 600.0);
        running = 0;
        minutes(9, 60, 60);
        assertThat(share.recentDoubt()).as("they may have been the first").isBetween(45 / 1260.0, 45 / 600.0);
        minutes(20, 1, 0);
        assertThat(share.recentShare()).hasValue(1);
        assertThat(share.recentDoubt()).as("of ten to twenty").isBetween(5 / 20.0, 5 / 10.0);
    }

    @Test
    void anotherLifeOfTheEngine_beginsAnew() {
        minutes(30, 60, 30);
        requests = 0;
        minutes(5, 60, 60);
        assertThat(share.share()).hasValue(0);
        assertThat(share.recentShare()).hasValue(0);
        share.reset();
        assertThat(share.recentShare()).isEmpty();
    }

    private void minutes(int count, int served, int shown) {
        share.counted(requests, seen, running, now);
        for (int i = 0; i < count; i++) {
            now += MINUTE;
            requests += served;
            seen += shown;
            share.counted(requests, seen, running, now);
        }
    }
}
