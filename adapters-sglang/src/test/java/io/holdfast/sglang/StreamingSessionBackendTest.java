package io.holdfast.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class StreamingSessionBackendTest {
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {11, 12}, new int[] {1, 2, 3, 4, 5, 6, 7, 8}, Duration.ofMinutes(1));
    private static final PinCommand COMMAND = new PinCommand(7, 3, PREFIX, 1);
    private static final String STILL_OPEN =
            "{\"error\":{\"message\":\"Failed to open the session. Check if a session with the same id is still"
                    + " open.\"}}";

    private final CannedEngine engine = new CannedEngine();
    private final StreamingSessionBackend backend =
            new StreamingSessionBackend(engine.http(), engine.timer(), new SplittableRandom(1));
    private final String one = backend.handle(COMMAND) + "-a";
    private final String other = backend.handle(COMMAND) + "-b";

    StreamingSessionBackendTest() throws IOException {
        engine.answers("/open_session", 200, "\"id\"").answers("/close_session", 200, "");
        finds(4);
    }

    @AfterEach
    void close() {
        engine.close();
    }

    private void finds(int tokens) {
        engine.answers("/generate", 200, "{\"text\":\"a\",\"meta_info\":{\"cached_tokens\":" + tokens + "}}");
    }

    private void isOpen(String session) {
        engine.answersTo(opening(session), 400, STILL_OPEN);
    }

    private static String opening(String session) {
        return "/open_session {\"capacity_of_str_len\":100000,\"session_id\":\"" + session
                + "\",\"streaming\":true,\"timeout\":60}";
    }

    private static String asking(String session) {
        return "POST /generate {\"session_params\":{\"id\":\"" + session + "\"},\"input_ids\":[1, 2, 3, 4, 4],"
                + "\"sampling_params\":{\"max_new_tokens\":1,\"temperature\":0}}";
    }

    private static String closing(String session) {
        return "POST /close_session {\"session_id\":\"" + session + "\"}";
    }

    private Outcome pin() {
        return backend.pin(COMMAND).toCompletableFuture().join();
    }

    private Outcome renew() {
        return backend.renew(COMMAND).toCompletableFuture().join();
    }

    @Test
    void pin_opensASession_andSendsWholeBlocksAndOneTokenInIt() {
        assertThat(pin())
                .isEqualTo(new Outcome(Kind.ACCEPTED, "A streaming session locks its 4 tokens.", OptionalLong.of(4)));
        assertThat(engine.asked()).containsExactly("POST " + opening(one), asking(one));
    }

    @Test
    void pin_ofWhatTheCacheHasInPart_isClosedAndMissing() {
        finds(3);
        assertThat(pin())
                .isEqualTo(new Outcome(
                        Kind.MISSING,
                        "Of 4 tokens the engine found 3 in its cache, and the rest would be the session's own.",
                        OptionalLong.of(3)));
        assertThat(engine.asked()).containsExactly("POST " + opening(one), asking(one), closing(one));
    }

    @Test
    void pin_whoseAnswerDoesNotTellWhatWasFound_holdsNothing() {
        engine.answers("/generate", 200, "{\"text\":\"a\",\"meta_info\":{}}");
        assertThat(pin().kind()).isEqualTo(Kind.MISSING);
        assertThat(engine.asked()).endsWith(closing(one));
    }

    @Test
    void pin_whoseSessionMayStillBeThere_isDeferred() {
        finds(3);
        engine.answers("/close_session", 503, "{\"message\":\"busy\"}");
        assertThat(pin().kind()).isEqualTo(Kind.DEFERRED);
    }

    @ParameterizedTest
    @CsvSource({"503, DEFERRED", "400, REJECTED"})
    void pin_whoseRequestFails_leavesNoSession(int status, Kind kind) {
        engine.answers("/generate", status, "{\"error\":{\"message\":\"no\"}}");
        assertThat(pin().kind()).isEqualTo(kind);
        assertThat(engine.asked()).endsWith(closing(one));
    }

    @Test
    void pin_withoutASession_sendsNothing() {
        engine.answers("/open_session", 400, "{\"error\":{\"message\":\"Streaming sessions are disabled.\"}}");
        assertThat(pin().kind()).isEqualTo(Kind.REJECTED);
        assertThat(engine.asked()).containsExactly("POST " + opening(one));
    }

    /** It would be in the way of the renewals until its time runs out. */
    @Test
    void pin_whoseSessionMayHaveBeenOpened_isClosed() {
        engine.answers("/open_session", 503, "{\"message\":\"busy\"}");
        assertThat(pin().kind()).isEqualTo(Kind.DEFERRED);
        assertThat(engine.asked()).containsExactly("POST " + opening(one), closing(one));
    }

    @Test
    void pin_ofAPrefixWithoutTokens_isRejected() {
        PinCommand nameless = new PinCommand(7, 3, new HoldRequest(new long[] {11}, Duration.ofMinutes(1)), 1);
        assertThat(backend.pin(nameless).toCompletableFuture().join().kind()).isEqualTo(Kind.REJECTED);
        assertThat(engine.asked()).isEmpty();
    }

    @Test
    void renew_holdsBySecondSession_beforeTheFirstIsClosed() {
        isOpen(one);
        assertThat(renew().kind()).isEqualTo(Kind.ACCEPTED);
        assertThat(engine.asked())
                .containsExactly("POST " + opening(one), "POST " + opening(other), asking(other), closing(one));
    }

    @Test
    void renew_thenTakesTheFirstAgain() {
        isOpen(other);
        assertThat(renew().kind()).isEqualTo(Kind.ACCEPTED);
        assertThat(engine.asked()).containsExactly("POST " + opening(one), asking(one), closing(other));
    }

    @Test
    void renew_whereBothAreOpen_asksAgainLater() {
        isOpen(one);
        isOpen(other);
        assertThat(renew().kind()).isEqualTo(Kind.NOT_SENT);
        assertThat(engine.asked()).containsExactly("POST " + opening(one), "POST " + opening(other));
    }

    @Test
    void renew_thatFindsLess_isMissing_andClosesWhatItOpenedAlone() {
        isOpen(one);
        finds(0);
        assertThat(renew().kind()).isEqualTo(Kind.MISSING);
        assertThat(engine.asked()).contains(closing(other)).doesNotContain(closing(one));
    }

    @Test
    void renew_whoseRequestHasNoClearAnswer_keepsTheFirst() {
        isOpen(one);
        engine.answers("/generate", 503, "{\"message\":\"busy\"}");
        assertThat(renew().kind()).isEqualTo(Kind.DEFERRED);
        assertThat(engine.asked()).contains(closing(other)).doesNotContain(closing(one));
    }

    @Test
    void unpin_closesBothSessionsOfEach() {
        assertThat(backend.unpin(List.of("x", "y")).toCompletableFuture().join().kind())
                .isEqualTo(Kind.ACCEPTED);
        assertThat(engine.asked())
                .containsExactlyInAnyOrder(closing("x-a"), closing("x-b"), closing("y-a"), closing("y-b"));
    }

    @Test
    void unpin_ofWhichOneIsNotClosed_isNoYes() {
        engine.isTooBusyFor("x-b");
        assertThat(backend.unpin(List.of("x")).toCompletableFuture().join().kind())
                .isEqualTo(Kind.DEFERRED);
    }

    @Test
    void handle_isNeverTheSame_forAnotherAttemptHoldOrProcess() {
        String handle = backend.handle(COMMAND);
        assertThat(backend.handle(new PinCommand(7, 4, PREFIX, 1))).isNotEqualTo(handle);
        assertThat(backend.handle(new PinCommand(8, 3, PREFIX, 1))).isNotEqualTo(handle);
        assertThat(new StreamingSessionBackend(engine.http(), engine.timer(), new SplittableRandom(2)).handle(COMMAND))
                .isNotEqualTo(handle);
    }

    @Test
    void traits_takeMemory_andEndInTime() {
        assertThat(backend.traits().takesMemory()).isTrue();
        assertThat(backend.traits().endsInTime()).isTrue();
        assertThat(backend.traits().releasable()).isTrue();
        assertThat(backend.traits().needsLedger()).isFalse();
        assertThat(backend.traits().sendsPrefix()).isTrue();
        assertThat(backend.traits().blocksBeside()).isEqualTo(2);
    }

    @Test
    void probe_withTheFlag_canPin() {
        engine.answers("/server_info", 200, "{\"version\":\"0.5.23\",\"enable_streaming_session\":true}");
        assertThat(backend.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        true, "The engine's streaming sessions lock what they found in the cache for 60 s at a time."));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        "version":"0.5.23","enable_streaming_session":false | start it with --enable-streaming-session.
        "version":"0.5.22","enable_streaming_session":true | use SGLang 0.5.23 or later.
        "enable_streaming_session":true,"enable_session_radix_cache":true | beside --enable-session-radix-cache: start the engine without one of the two.
        "enable_streaming_session":true,"enable_hierarchical_cache":true | beside --enable-hierarchical-cache: start the engine without one of the two.
        "enable_streaming_session":true,"dp_size":2 | a sidecar's engine of its own.
        """, quoteCharacter = '~')
    void probe_whereItCannot_saysWhatToDo(String info, String mend) {
        engine.answers("/server_info", 200, "{" + info + "}");
        Capabilities found = backend.probe().toCompletableFuture().join();
        assertThat(found.canPin()).isFalse();
        assertThat(found.why()).endsWith(mend);
    }
}
