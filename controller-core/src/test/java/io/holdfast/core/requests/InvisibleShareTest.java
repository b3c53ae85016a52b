package io.holdfast.core.requests;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class InvisibleShareTest {
    private static final long MINUTE = 60_000_000_000L;

    private final InvisibleShare share = new InvisibleShare();
    private long now;
    private long requests = 1_000;
    private long seen;

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
    void fewRequests_leaveItToTheWhole() {
        minutes(60, 60, 60);
        minutes(30, 1, 0);
        assertThat(share.recentShare()).isEqualTo(share.share());
        assertThat(share.recentShare().orElseThrow()).isLessThan(0.05);
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
        share.counted(requests, seen, now);
        for (int i = 0; i < count; i++) {
            now += MINUTE;
            requests += served;
            seen += shown;
            share.counted(requests, seen, now);
        }
    }
}
