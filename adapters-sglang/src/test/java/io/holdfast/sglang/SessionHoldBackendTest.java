package io.holdfast.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.http.Reply;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class SessionHoldBackendTest {
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {11, 12}, new int[] {1, 2, 3, 4, 5, 6, 7, 8}, Duration.ofMinutes(1));
    private static final PinCommand COMMAND = new PinCommand(7, 3, PREFIX, 1);

    private final CannedEngine engine = new CannedEngine();
    private final SessionHoldBackend backend =
            new SessionHoldBackend(engine.http(), engine.timer(), new SplittableRandom(1));

    SessionHoldBackendTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void pin_sendsWholeBlocksInASessionOfTheirOwn() {
        engine.answers("/generate", 200, "{\"text\":\"a\",\"meta_info\":{\"cached_tokens\":3}}");
        assertThat(backend.pin(COMMAND).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.ACCEPTED,
                        "The engine stored 4 tokens in a session of their own.",
                        OptionalLong.of(3)));
        assertThat(engine.asked())
                .containsExactly("POST /generate {\"session_id\":\"" + backend.handle(COMMAND)
                        + "\",\"input_ids\":[1, 2, 3,"
                        + " 4],\"sampling_params\":{\"max_new_tokens\":1,\"temperature\":0}}");
    }

    @Test
    void pin_waitsForItsTurn_longerThanForAnAnswer() throws IOException {
        try (CannedEngine busy = new CannedEngine(Duration.ofMillis(300))) {
            busy.answers("/generate", 200, "{\"text\":\"a\"}").answers("/info", 200, "{}");
            busy.makesWait("/generate");
            busy.makesWait("/info");
            CompletableFuture<Outcome> pin = new SessionHoldBackend(busy.http(), busy.timer(), new SplittableRandom(1))
                    .pin(COMMAND)
                    .toCompletableFuture();
            assertThat(busy.http().get("/info").toCompletableFuture().join())
                    .as("begun after it, and given up")
                    .isInstanceOf(Reply.NoAnswer.class);
            assertThat(pin).isNotDone();
            busy.goesOn();
            assertThat(pin.join().kind()).isEqualTo(Outcome.Kind.ACCEPTED);
        }
    }

    @Test
    void handle_isNeverTheSame_forAnotherAttemptHoldOrProcess() {
        String handle = backend.handle(COMMAND);
        assertThat(backend.handle(COMMAND)).isEqualTo(handle);
        assertThat(backend.handle(new PinCommand(7, 4, PREFIX, 1))).isNotEqualTo(handle);
        assertThat(backend.handle(new PinCommand(8, 3, PREFIX, 1))).isNotEqualTo(handle);
        assertThat(new SessionHoldBackend(engine.http(), engine.timer(), new SplittableRandom(2)).handle(COMMAND))
                .isNotEqualTo(handle);
    }

    @Test
    void pin_ofAPrefixWithoutTokens_isRejected() {
        PinCommand nameless = new PinCommand(7, 3, new HoldRequest(new long[] {11}, Duration.ofMinutes(1)), 1);
        assertThat(backend.pin(nameless).toCompletableFuture().join().kind()).isEqualTo(Outcome.Kind.REJECTED);
        assertThat(engine.asked()).isEmpty();
    }

    @Test
    void unpin_closesEachSession() {
        engine.answers("/close_session", 200, "");
        Outcome outcome =
                backend.unpin(List.of("one", "two")).toCompletableFuture().join();
        assertThat(outcome.kind()).isEqualTo(Outcome.Kind.ACCEPTED);
        assertThat(engine.asked())
                .containsExactlyInAnyOrder(
                        "POST /close_session {\"session_id\":\"one\"}", "POST /close_session {\"session_id\":\"two\"}");
    }

    @Test
    void unpin_ofWhichOneIsNotClosed_isNoYes() {
        engine.answers("/close_session", 200, "");
        engine.isTooBusyFor("two");
        for (List<String> handles : List.of(List.of("one", "two"), List.of("two", "one"))) {
            assertThat(backend.unpin(handles).toCompletableFuture().join().kind())
                    .isEqualTo(Outcome.Kind.DEFERRED);
        }
    }

    @Test
    void pin_enginesTrouble_isSaid() {
        engine.answers("/generate", 503, "{\"message\":\"busy\"}");
        assertThat(backend.pin(COMMAND).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.DEFERRED,
                        "The engine answered HTTP 503: busy. The engine may have carried it out all the same."));
    }

    @Test
    void traits_closeSilently_andMayBeClosedTwice() {
        assertThat(backend.traits().releaseTells()).isFalse();
        assertThat(backend.traits().unpinsOnce()).isFalse();
        assertThat(backend.traits().needsReleaseAtStart()).isTrue();
        assertThat(backend.traits().takesMemory()).isFalse();
        assertThat(backend.traits().sendsPrefix()).isTrue();
    }

    @Test
    void unpin_enginesTrouble_isDeferred() {
        engine.answers("/close_session", 503, "busy");
        assertThat(backend.unpin(List.of("one")).toCompletableFuture().join().kind())
                .isEqualTo(Outcome.Kind.DEFERRED);
    }

    @Test
    void probe_withTheFlag_canPin_withoutItNamesIt() {
        engine.answers("/server_info", 200, "{\"enable_session_radix_cache\":true}");
        assertThat(backend.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(true, "The engine keeps what sessions refer to."));
        engine.answers("/server_info", 200, "{\"enable_session_radix_cache\":false}");
        Capabilities without = backend.probe().toCompletableFuture().join();
        assertThat(without.canPin()).isFalse();
        assertThat(without.why()).contains("--enable-session-radix-cache");
    }

    @Test
    void probe_releaseWhoseSessionsOnlyFree_cannotPin() {
        engine.answers("/server_info", 200, "{\"version\":\"0.5.16\",\"enable_session_radix_cache\":true}");
        assertThat(backend.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        false,
                        "Sessions of SGLang 0.5.16 protect nothing, since it only frees at their end what they used:"
                                + " use SGLang 0.5.17 or later."));
    }

    @Test
    void probe_releaseThatHasTwoTrees_namesTheVariableToo() {
        engine.answers("/server_info", 200, "{\"version\":\"0.5.18\",\"enable_session_radix_cache\":false}");
        assertThat(backend.probe().toCompletableFuture().join().why())
                .endsWith("start it with SGLANG_ENABLE_UNIFIED_RADIX_TREE=1 in its environment and"
                        + " --enable-session-radix-cache.");
    }

    @Test
    void probe_engineThatWantsAKey_namesTheKey() {
        engine.answers("/server_info", 401, "{\"error\":\"Unauthorized\"}");
        assertThat(backend.probe().toCompletableFuture().join().why())
                .isEqualTo("The engine needs a key, and a valid one was not sent (HTTP 401 at /server_info):"
                        + " engines.ID.apiKeyEnv names the environment variable that has it.");
    }

    @Test
    void probe_severalCaches_cannotPin() {
        engine.answers("/server_info", 200, "{\"enable_session_radix_cache\":true,\"dp_size\":2}");
        assertThat(backend.probe().toCompletableFuture().join().why()).startsWith("This engine has 2 caches");
    }
}
