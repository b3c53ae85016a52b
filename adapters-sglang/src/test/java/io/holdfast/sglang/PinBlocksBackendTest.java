package io.holdfast.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.http.Reply;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PinBlocksBackendTest {
    private static final String PIN = "/hicache/pin_blocks";
    private static final String UNPIN = "/hicache/unpin_blocks";
    private static final String EVENTS = "\"kv_events_config\":\"{\\\"publisher\\\":\\\"zmq\\\"}\"";
    private static final PinCommand COMMAND = new PinCommand(7, 0, path(32, -8960200549555057789L), 32);
    private static final String BLOCK = "block -8960200549555057789";

    private final CannedEngine engine = new CannedEngine();
    private final PinBlocksBackend backend = new PinBlocksBackend(engine.http(), engine.timer());

    PinBlocksBackendTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void pin_sendsTheLastBlockAlone_exactly() {
        engine.answers(PIN, 200, "{\"status\":\"ok\",\"pinned_count\":1,\"message\":\"Pinned 1/1 blocks\"}");
        assertThat(pin())
                .isEqualTo(new Outcome(Outcome.Kind.ACCEPTED, "The engine pinned " + BLOCK + " and the path to it."));
        assertThat(engine.asked())
                .containsExactly("POST /hicache/pin_blocks {\"block_hashes\":[-8960200549555057789]}");
    }

    @Test
    void unpin_sendsTheLastBlockAlone_exactly() {
        engine.answers(UNPIN, 200, "{\"status\":\"ok\",\"unpinned_count\":1,\"message\":\"Unpinned 1/1 blocks\"}");
        assertThat(unpin()).isEqualTo(new Outcome(Outcome.Kind.ACCEPTED, "The engine unpinned " + BLOCK + "."));
        assertThat(engine.asked())
                .containsExactly("POST /hicache/unpin_blocks {\"block_hashes\":[-8960200549555057789]}");
    }

    @Test
    void countOfSeveralRanks_isComparedWithThoseThatHaveIt() {
        PinCommand onTwo = new PinCommand(7, 0, COMMAND.prefix(), COMMAND.blocks(), 2);
        for (int count = 0; count < 4; count++) {
            engine.answers(PIN, 200, "{\"pinned_count\":" + count + "}");
            assertThat(backend.pin(onTwo).toCompletableFuture().join().kind())
                    .as("pinned in %d", count)
                    .isEqualTo(
                            count == 0
                                    ? Outcome.Kind.MISSING
                                    : count == 2 ? Outcome.Kind.ACCEPTED : Outcome.Kind.CLIPPED);
        }
    }

    @Test
    void countAboveTheOneCache_isNotWhatWasAsked() {
        engine.answers(PIN, 200, "{\"pinned_count\":2}");
        assertThat(pin().kind()).isEqualTo(Outcome.Kind.CLIPPED);
        assertThat(pin().reason()).contains("in 2 of its caches, and 1 was known to have it");
    }

    @ParameterizedTest
    @ValueSource(ints = {201, 202, 206})
    void otherYes_isReadAsOne_andIsUnclearWithoutACount(int status) {
        engine.answers(PIN, status, "{\"pinned_count\":1}");
        assertThat(pin().kind()).isEqualTo(Outcome.Kind.ACCEPTED);
        engine.answers(PIN, status, "");
        assertThat(pin().kind()).isEqualTo(Outcome.Kind.DEFERRED);
    }

    @Test
    void pinOfNothing_isMissing() {
        engine.answers(PIN, 200, "{\"status\":\"ok\",\"pinned_count\":0,\"message\":\"Pinned 0/1 blocks\"}");
        assertThat(pin())
                .isEqualTo(new Outcome(
                        Outcome.Kind.MISSING,
                        "The engine has no " + BLOCK + " to pin: it was evicted in the meantime."));
    }

    @Test
    void unpinOfNothing_isMissing_theEngineHadLetGo() {
        engine.answers(UNPIN, 200, "{\"status\":\"ok\",\"unpinned_count\":0}");
        assertThat(unpin())
                .isEqualTo(new Outcome(
                        Outcome.Kind.MISSING,
                        "The engine no longer held " + BLOCK
                                + ": it had unpinned under pressure, or its cache was flushed."));
    }

    @Test
    void refusal_isRejectedInTheEnginesWords() {
        engine.answers(PIN, 400, "{\"object\":\"error\",\"message\":\"PIN requires --enable-hierarchical-cache\"}");
        assertThat(pin())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED,
                        "The engine refused with HTTP 400: PIN requires --enable-hierarchical-cache."));
    }

    @Test
    void stockEngine_isRejected() {
        assertThat(pin())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED, "This engine has no pin_blocks route, as only SGLang branches do."));
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403})
    void missingKey_isRejected_andNamesTheKey(int status) {
        engine.answers(UNPIN, status, "{\"error\":\"Unauthorized\"}");
        assertThat(unpin().kind()).isEqualTo(Outcome.Kind.REJECTED);
        assertThat(unpin().reason()).contains("adminKeyEnv");
    }

    @ParameterizedTest
    @ValueSource(ints = {408, 429, 499, 500, 503})
    void enginesTrouble_isDeferred_andMayHaveBeenDone(int status) {
        engine.answers(PIN, status, "busy");
        assertThat(pin())
                .isEqualTo(new Outcome(
                        Outcome.Kind.DEFERRED,
                        "The engine answered HTTP " + status
                                + ": busy. The engine may have carried it out all the same."));
        assertThat(engine.asked()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "ok", "{}", "{\"pinned_count\":\"1\"}", "{\"pinned_count\":1.5}"})
    void answerWithoutACount_isDeferred_asItMayHaveBeenDone(String body) {
        engine.answers(PIN, 200, body);
        assertThat(pin().kind()).isEqualTo(Outcome.Kind.DEFERRED);
        assertThat(pin().reason())
                .startsWith("The engine answered without a pinned_count: ")
                .endsWith(" The engine may have carried it out all the same.");
    }

    @Test
    void deadEngine_wasNotSentAnything() {
        engine.dies();
        assertThat(unpin())
                .isEqualTo(new Outcome(
                        Outcome.Kind.NOT_SENT,
                        "Nothing listens at " + engine.http().base()
                                + ": is the engine running? It was not carried out."));
    }

    @Test
    void probe_pinsNothing_andAcceptsABranchWithEvents() {
        branch("{\"page_size\":16," + EVENTS + "}");
        assertThat(probe()).isEqualTo(new Capabilities(true, "The engine has pin_blocks and publishes events."));
        assertThat(engine.asked())
                .containsExactlyInAnyOrder("POST /hicache/pin_blocks {\"block_hashes\":[]}", "GET /server_info");
    }

    @Test
    void probe_warnsOfBlocksOfOneToken() {
        branch("{\"page_size\":1," + EVENTS + "}");
        assertThat(probe().canPin()).isTrue();
        assertThat(probe().why()).contains("--page-size 16");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"kv_events_config\":null}                    | start it with --kv-events-config",
                "{\"enable_hierarchical_cache\":true}           | start it without",
                "oops                                           | whether it publishes events is not known"
            })
    void probe_ofABranchThatCannotHold_saysWhatWouldChangeIt(String info, String why) {
        branch(info);
        assertThat(probe().canPin()).isFalse();
        assertThat(probe().why()).contains(why);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "404 | {\"detail\":\"Not Found\"}                                  | --enable-session-radix-cache",
                "405 | {\"detail\":\"Method Not Allowed\"}                         | --radix-eviction-policy priority",
                "400 | {\"message\":\"PIN requires --enable-hierarchical-cache\"}  | copies in host memory",
                "400 | {\"message\":\"bad hash list\"}                             | bad hash list",
                "403 | {\"error\":\"Forbidden\"}                                   | adminKeyEnv",
                "200 | {}                                                          | without a pinned_count"
            })
    void probe_ofAnotherEngine_saysWhatItIs(int status, String body, String why) {
        engine.answers(PIN, status, body).answers("/server_info", 200, "{" + EVENTS + "}");
        Capabilities capabilities = probe();
        assertThat(capabilities.canPin()).isFalse();
        assertThat(capabilities.why()).contains(why);
    }

    @ParameterizedTest
    @CsvSource({"429, 200", "500, 200", "503, 200", "200, 429", "200, 503"})
    void probe_ofAnEngineThatIsNotReady_isAskedAgainUntilItAnswers(int pin, int info) {
        branch("{\"page_size\":16," + EVENTS + "}");
        if (pin != 200) {
            engine.answers(PIN, pin, "loading");
        }
        if (info != 200) {
            engine.answers("/server_info", info, "loading");
        }
        CompletableFuture<Capabilities> probe = backend.probe().toCompletableFuture();
        while (Collections.frequency(engine.asked(), "POST /hicache/pin_blocks {\"block_hashes\":[]}") < 2) {
            assertThat(probe).isNotDone();
            Thread.onSpinWait();
        }
        branch("{\"page_size\":16," + EVENTS + "}");
        assertThat(probe.join().canPin()).isTrue();
    }

    @Test
    void probe_ofAnEngineThatIsNotUp_waitsForIt() throws IOException {
        branch("{\"page_size\":16," + EVENTS + "}");
        engine.dies();
        CompletableFuture<Capabilities> probe = backend.probe().toCompletableFuture();
        assertThat(engine.http().get("/server_info").toCompletableFuture().join())
                .isInstanceOf(Reply.NoAnswer.class);
        engine.comesBack();
        assertThat(probe.join().canPin()).isTrue();
    }

    @Test
    void probe_thatCannotBeRepeated_isANo() {
        engine.answers(PIN, 503, "loading");
        engine.timer().shutdown();
        assertThat(probe().canPin()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"0, MISSING", "1, CLIPPED", "2, CLIPPED", "3, ACCEPTED"})
    void unpinOfSeveral_isOneCallAndOneAnswer(int count, Outcome.Kind kind) {
        engine.answers(UNPIN, 200, "{\"unpinned_count\":" + count + "}");
        Outcome outcome =
                backend.unpin(List.of("1", "-2", "3")).toCompletableFuture().join();
        assertThat(outcome.kind()).as(outcome.reason()).isEqualTo(kind);
        assertThat(engine.asked()).containsExactly("POST /hicache/unpin_blocks {\"block_hashes\":[1,-2,3]}");
    }

    @Test
    void pinThatIsNotSent_isToldApartFromSilence() {
        engine.dies();
        assertThat(pin().kind()).isEqualTo(Outcome.Kind.NOT_SENT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"dp_size\":2", "\"kv_events\":{\"publisher\":\"zmq\",\"dp_size\":2}"})
    void probe_ofAnEngineWithSeveralCaches_tellsHowMany(String ranks) {
        branch("{\"page_size\":16," + EVENTS + "," + ranks + "}");
        assertThat(probe().canPin()).isTrue();
        assertThat(probe().caches()).isEqualTo(2);
        assertThat(probe().why()).contains("2 caches");
    }

    @Test
    void handle_isTheLastBlockInDecimals() {
        assertThat(backend.handle(COMMAND)).isEqualTo("-8960200549555057789");
    }

    @Test
    void name_isTheConfigurationsWord() {
        assertThat(backend.name()).isEqualTo("pin_blocks");
    }

    private void branch(String info) {
        engine.answers(PIN, 200, "{\"status\":\"ok\",\"pinned_count\":0,\"message\":\"Pinned 0/0 blocks\"}")
                .answers("/server_info", 200, info);
    }

    private Outcome pin() {
        return backend.pin(COMMAND).toCompletableFuture().join();
    }

    private Outcome unpin() {
        return backend.unpin(List.of(backend.handle(COMMAND)))
                .toCompletableFuture()
                .join();
    }

    private Capabilities probe() {
        return backend.probe().toCompletableFuture().join();
    }

    private static HoldRequest path(int blocks, long lastBlock) {
        long[] names = new long[blocks];
        names[blocks - 1] = lastBlock;
        return new HoldRequest(names, Duration.ofMinutes(1));
    }
}
