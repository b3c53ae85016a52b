package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.pin.Acting;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.RankLoad;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What of the engine's numbers is ours. */
class OwnRequestsTest {
    private static final long SECOND = 1_000_000_000L;
    private static final HoldRequest PREFIX = new HoldRequest(new long[] {1, 2}, new int[32], Duration.ofHours(1));

    private final OwnRequests own = new OwnRequests(Optional.empty(), new Acting(Runnable::run, Runnable::run));

    @Test
    void answeredRequest_isTakenOffFromTheNextReadingOn() {
        assertCounts(read(1, 10, 1_000), 10, 1_000);
        serve(2, 3, 32);
        assertCounts(read(4, 11, 1_032), 10, 1_000);
        assertCounts(read(5, 12, 1_132), 11, 1_100);
    }

    @Test
    void readingFromBeforeTheAnswer_saysWhatWasKnownBefore() {
        assertCounts(read(1, 10, 1_000), 10, 1_000);
        serve(2, 4, 32);
        assertCounts(read(3, 11, 1_032), 10, 1_000);
        assertCounts(read(5, 11, 1_032), 10, 1_000);
    }

    @Test
    void readingWhileOneIsUnderWay_saysWhatWasKnownBefore() {
        assertCounts(read(1, 10, 1_000), 10, 1_000);
        own.now(2 * SECOND);
        OwnRequests.Call call = own.begin(PREFIX, 2);
        assertCounts(read(3, 11, 1_032), 10, 1_000);
        own.now(4 * SECOND);
        own.end(call, new Outcome(Kind.ACCEPTED, "yes"));
        assertCounts(read(5, 11, 1_032), 10, 1_000);
    }

    @Test
    void engineThatBeginsAnew_hasNothingOfOursInItsNumbers() {
        read(1, 10, 1_000);
        serve(2, 3, 32);
        read(4, 11, 1_032);
        assertCounts(read(5, 2, 200), 2, 200);
        serve(6, 7, 32);
        assertCounts(read(8, 3, 232), 2, 200);
    }

    @Test
    void loadOfEachRank_staysInTheReadings() {
        RankLoad load = new RankLoad(Reading.known(1, "r", 0), Reading.known(2, "r", 0), Reading.known(3, "r", 0));
        EngineReadings all = Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, 10, SECOND);
        read(1, 10, 1_000);
        serve(2, 3, 32);
        EngineReadings ranks = all.but()
                .ttftCount(Reading.known(11, "test", 4 * SECOND))
                .ranks(List.of(load))
                .build();
        assertThat(own.usersOnly(ranks, 0).ranks()).containsExactly(load);
    }

    @Test
    void engineThatDoesNotTellWhatItFound_isTakenToHaveFoundAll() {
        read(1, 10, 1_000);
        own.now(2 * SECOND);
        OwnRequests.Call call = own.beginTouch(PREFIX, 2);
        own.now(3 * SECOND);
        own.end(call, new Outcome(Kind.ACCEPTED, "yes"));
        EngineReadings all = Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, 11, 4 * SECOND);
        EngineReadings users =
                own.usersOnly(Samples.with(all, "cachedTokens", Reading.known(500, "test", 4 * SECOND)), 0);
        assertThat(users.cachedTokens().number()).hasValue(468);
    }

    @Test
    void readingWhileOneIsUnderWay_tellsAtLeastHowMuchUsersFound() {
        readCached(1, 10, 1_000);
        own.now(2 * SECOND);
        OwnRequests.Call call = own.beginTouch(PREFIX, 2);
        readCached(3, 11, 1_020);
        assertThat(own.usersCached()).as("all of it may be ours").isEqualTo(1_000);
        readCached(4, 12, 1_132);
        assertThat(own.usersCached()).isEqualTo(1_100);
        own.now(5 * SECOND);
        own.end(call, new Outcome(Kind.ACCEPTED, "yes", OptionalLong.of(0)));
        readCached(6, 12, 1_132);
        assertThat(own.usersCached()).as("ours found nothing").isEqualTo(1_132);
        readCached(7, 2, 50);
        assertThat(own.usersCached()).as("the engine began anew").isEqualTo(50);
    }

    @Test
    void requestThatWasNeverAnswered_isNoUsersWhenTheEngineServesItLater() {
        readCached(1, 10, 1_000);
        own.now(2 * SECOND);
        own.end(own.beginTouch(PREFIX, 2), new Outcome(Kind.DEFERRED, "no answer"));
        readCached(3, 11, 1_032);
        assertThat(own.usersCached()).isEqualTo(1_000);
    }

    @Test
    void answersBesideAReadingThatFailed_areTakenOffFromTheNext() {
        readCached(1, 10, 1_000);
        own.now(2 * SECOND);
        OwnRequests.Call call = own.beginTouch(PREFIX, 2);
        own.now(3 * SECOND);
        own.end(call, new Outcome(Kind.ACCEPTED, "yes", OptionalLong.of(32)));
        EngineReadings unused = own.usersOnly(EngineReadings.unknown("silent"), 0);
        readCached(4, 11, 1_032);
        assertThat(own.usersCached()).isEqualTo(1_000);
    }

    private void readCached(int second, double requests, double cached) {
        EngineReadings all = Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, requests, second * SECOND);
        EngineReadings unused =
                own.usersOnly(Samples.with(all, "cachedTokens", Reading.known(cached, "test", second * SECOND)), 0);
    }

    @Test
    void requestThatWasNotAnswered_isInNoNumbers() {
        read(1, 10, 1_000);
        own.now(2 * SECOND);
        own.end(own.begin(PREFIX, 2), new Outcome(Kind.NOT_SENT, "nobody listens"));
        assertCounts(read(3, 10, 1_000), 10, 1_000);
        assertThat(own.failed()).isEqualTo(1);
    }

    @Test
    void time_isCountedForAnHour() {
        serve(10, 13, 32);
        serve(100, 101, 32);
        assertThat(own.timeWithinAnHour()).isEqualTo(Duration.ofSeconds(4));
        own.now((3_600 + 13) * SECOND);
        assertThat(own.timeWithinAnHour()).isEqualTo(Duration.ofSeconds(1));
    }

    private void serve(long fromSeconds, long toSeconds, long cachedTokens) {
        own.now(fromSeconds * SECOND);
        OwnRequests.Call call = own.begin(PREFIX, 2);
        own.now(toSeconds * SECOND);
        own.end(call, new Outcome(Kind.ACCEPTED, "yes", OptionalLong.of(cachedTokens)));
    }

    private EngineReadings read(long seconds, double requests, double promptTokens) {
        own.now(seconds * SECOND);
        EngineReadings all = Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, requests, seconds * SECOND);
        return own.usersOnly(
                Samples.with(all, "promptTokens", Reading.known(promptTokens, "test", seconds * SECOND)), 0);
    }

    private static void assertCounts(EngineReadings readings, double requests, double promptTokens) {
        assertThat(readings.ttftCount().number()).hasValue(requests);
        assertThat(readings.promptTokens().number()).hasValue(promptTokens);
    }
}
