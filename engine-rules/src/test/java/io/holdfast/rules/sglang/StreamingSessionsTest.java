package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.testing.Heard;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Streaming sessions as a real 0.5.23 was seen to keep them: 4,096 tokens in blocks of 16, a prefix of 512. */
final class StreamingSessionsTest {
    private static final Optional<Duration> TIME = Optional.of(Duration.ofSeconds(20));
    private static final int FLOOD = 12_288;

    private final TestEngine bed = new TestEngine(SglangSettings.defaults().withStreaming(true), Faults.none());
    private final int[] prefix = bed.fresh(512);

    private Heard turn(String session, int tokens) {
        return bed.serve(prompt(), RequestOptions.of(tokens).withSession(session));
    }

    /** The prefix and one token, so that all of it can be found. */
    private int[] prompt() {
        int[] prompt = Arrays.copyOf(prefix, 513);
        prompt[512] = 7;
        return prompt;
    }

    private void open(String session) {
        assertThat(bed.engine.openSession(session, TIME)).isTrue();
    }

    private void flood() {
        bed.flood(FLOOD, RequestOptions.of(1));
    }

    private void passes(Duration time) {
        bed.clock.await(bed.clock.nanos() + time.toNanos());
        bed.runDry();
    }

    private int used() {
        return bed.engine.stats().usedTokens();
    }

    @Test
    void turn_overWhatIsCached_locksItUntilTheSessionIsClosed() {
        bed.cached(prompt());
        open("one");
        assertThat(turn("one", 1).cachedTokens).isEqualTo(512);
        assertThat(used()).as("the prefix and a page of its own").isEqualTo(528);
        flood();
        assertThat(bed.cached(prompt())).isEqualTo(512);
        bed.engine.closeSession("one");
        assertThat(used()).isZero();
        flood();
        assertThat(bed.cached(prompt())).isZero();
        assertThat(bed.engine.stats().freeTokens() + bed.engine.stats().evictableTokens())
                .isEqualTo(4_096);
    }

    @Test
    void turn_overWhatIsNotCached_keepsItForItselfAlone() {
        open("one");
        assertThat(turn("one", 1).cachedTokens).isZero();
        assertThat(used()).isEqualTo(528);
        flood();
        assertThat(bed.cached(prompt())).isZero();
    }

    @Test
    void turn_ofTwoTokens_storesItsPromptForAll() {
        open("one");
        turn("one", 2);
        flood();
        assertThat(bed.cached(prompt())).isEqualTo(512);
    }

    @Test
    void eachSession_takesAPageOfItsOwn() {
        bed.cached(prompt());
        for (int i = 0; i < 20; i++) {
            open("session " + i);
            turn("session " + i, 1);
        }
        assertThat(used()).isEqualTo(832);
    }

    @Test
    void time_countsFromTheRequest_andNotFromTheOpening() {
        bed.cached(prompt());
        open("one");
        passes(Duration.ofSeconds(15));
        turn("one", 1);
        passes(Duration.ofSeconds(15));
        flood();
        assertThat(bed.cached(prompt())).isEqualTo(512);
        passes(Duration.ofSeconds(10));
        flood();
        assertThat(bed.cached(prompt())).isZero();
        assertThat(bed.engine.openSession("one", TIME))
                .as("what has ended can be opened")
                .isTrue();
    }

    @Test
    void secondSession_holdsOnWhenTheFirstIsClosed() {
        bed.cached(prompt());
        open("one");
        turn("one", 1);
        open("other");
        assertThat(turn("other", 1).cachedTokens).isEqualTo(512);
        bed.engine.closeSession("one");
        flood();
        assertThat(bed.cached(prompt())).isEqualTo(512);
        assertThat(used()).isEqualTo(528);
    }

    @Test
    void requestThatDoesNotFit_waitsUntilATimeRunsOut() {
        for (int i = 0; i < 6; i++) {
            int[] own = bed.fresh(513);
            bed.cached(own);
            open("session " + i);
            bed.serve(own, RequestOptions.of(1).withSession("session " + i));
        }
        long from = bed.clock.nanos();
        assertThat(bed.cached(bed.fresh(1_800))).isZero();
        assertThat(Duration.ofNanos(bed.clock.nanos() - from))
                .isBetween(TIME.get().minusSeconds(1), TIME.get().plusSeconds(2));
    }

    @Test
    void refused_isWhatNamesNoOpenSession_andASecondRequest() {
        assertThat(turn("nobody", 1).failure).contains("Invalid request: session id nobody does not exist");
        open("one");
        assertThat(bed.engine.openSession("one", TIME)).as("open already").isFalse();
        turn("one", 1);
        assertThat(turn("one", 1).failure).isPresent();
    }

    @Test
    void closing_whileItsRequestIsUnderWay_waitsForTheEnd() {
        bed.cached(prompt());
        open("one");
        Heard heard = new Heard();
        bed.engine.submit(
                new Generation(prompt(), RequestOptions.of(40).withSession("one"), false, bed.clock.nanos(), heard));
        bed.engine.step();
        bed.engine.closeSession("one");
        assertThat(bed.engine.openSession("one", TIME)).as("it is there still").isFalse();
        bed.runDry();
        assertThat(heard.done).isTrue();
        passes(Duration.ofSeconds(2));
        assertThat(used()).isZero();
        assertThat(bed.engine.openSession("one", TIME)).isTrue();
    }

    @Test
    void abortedRequest_leavesNothing_andTheSessionOpen() {
        open("one");
        Generation request = new Generation(
                prompt(), RequestOptions.of(40).withSession("one"), false, bed.clock.nanos(), new Heard());
        bed.engine.submit(request);
        bed.engine.abort(request);
        bed.runDry();
        assertThat(used()).isZero();
        assertThat(turn("one", 1).failure).isEmpty();
    }

    @Test
    void flush_takesWhatSessionsKeep() {
        bed.cached(prompt());
        open("one");
        turn("one", 1);
        assertThat(bed.engine.flush()).isTrue();
        assertThat(used()).isZero();
        assertThat(bed.cached(prompt())).isZero();
        bed.engine.closeSession("one");
        bed.assertSizesAddUp("after the closing");
    }
}
