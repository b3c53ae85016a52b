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
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PriorityTouchBackendTest {
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {11, 12}, new int[] {1, 2, 3, 4, 5, 6, 7, 8}, Duration.ofMinutes(1));
    private static final PinCommand COMMAND = new PinCommand(7, 3, PREFIX, 1);

    private final CannedEngine engine = new CannedEngine();
    private final PriorityTouchBackend backend =
            new PriorityTouchBackend(engine.http(), engine.timer(), OptionalInt.of(10));

    PriorityTouchBackendTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void pin_sendsWholeBlocksTwoAboveWhatClientsSend() {
        engine.answers("/generate", 200, "{\"text\":\"a\",\"meta_info\":{\"cached_tokens\":3}}");
        assertThat(backend.pin(COMMAND).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.ACCEPTED,
                        "The engine has its 4 tokens at priority 12, above what clients send.",
                        OptionalLong.of(3)));
        assertThat(engine.asked())
                .containsExactly("POST /generate {\"priority\":12,\"input_ids\":[1, 2, 3,"
                        + " 4],\"sampling_params\":{\"max_new_tokens\":1,\"temperature\":0}}");
    }

    @Test
    void handle_isThatOfTheLastBlock_soThatATouchIsNoSecondPin() {
        assertThat(backend.handle(COMMAND)).isEqualTo("11");
        assertThat(backend.handle(new PinCommand(8, 4, PREFIX, 1))).isEqualTo("11");
    }

    @Test
    void pin_withoutTokensOrKey_isRejectedAndNothingIsSent() {
        PinCommand nameless = new PinCommand(7, 3, new HoldRequest(new long[] {11}, Duration.ofMinutes(1)), 1);
        assertThat(backend.pin(nameless).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED,
                        "A prefix is given a priority by sending it, and its tokens are not known."));
        PriorityTouchBackend keyless = new PriorityTouchBackend(engine.http(), engine.timer(), OptionalInt.empty());
        assertThat(keyless.pin(COMMAND).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED,
                        "Which priorities clients send is not known: write clientPriorityMax, the highest priority that"
                                + " clients send, 0 where they send none."));
        assertThat(engine.asked()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400 | REJECTED | The engine refused with HTTP 400: no priorities here.",
                "503 | DEFERRED | The engine answered HTTP 503: no priorities here. The engine may have carried it out"
                        + " all the same.",
                "404 | REJECTED | This engine has no /generate route, so it is no SGLang."
            })
    void pin_enginesTrouble_isSaid(int status, Outcome.Kind kind, String sentence) {
        engine.answers("/generate", status, "{\"message\":\"no priorities here\"}");
        assertThat(backend.pin(COMMAND).toCompletableFuture().join()).isEqualTo(new Outcome(kind, sentence));
    }

    @Test
    void pin_abortedInTheQueue_isNoYes() {
        engine.answers("/generate", 200, "{\"text\":\"\",\"meta_info\":{\"finish_reason\":{\"type\":\"abort\"}}}");
        assertThat(backend.pin(COMMAND).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.DEFERRED,
                        "The engine aborted the request. The engine may have carried it out all the same."));
    }

    @Test
    void pin_waitsForItsTurn_longerThanForAnAnswer() throws IOException {
        try (CannedEngine busy = new CannedEngine(Duration.ofMillis(300))) {
            busy.answers("/generate", 200, "{\"text\":\"a\"}").answers("/info", 200, "{}");
            busy.makesWait("/generate");
            busy.makesWait("/info");
            CompletableFuture<Outcome> pin = new PriorityTouchBackend(busy.http(), busy.timer(), OptionalInt.of(10))
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
    void pin_engineGone_isNotSent() {
        engine.dies();
        Outcome outcome = backend.pin(COMMAND).toCompletableFuture().join();
        assertThat(outcome.kind()).isEqualTo(Outcome.Kind.NOT_SENT);
        assertThat(outcome.reason()).endsWith(" It was not carried out.");
    }

    @Test
    void unpin_isNeverSaidToHaveWorked() {
        assertThat(backend.traits().releasable()).isFalse();
        assertThat(backend.traits().sendsPrefix()).isTrue();
        assertThat(backend.traits().takesMemory()).isFalse();
        assertThat(backend.traits().needsLedger()).isTrue();
        assertThat(backend.traits().needsReleaseAtStart()).isFalse();
        assertThat(backend.unpin(List.of("11")).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED,
                        "A priority is never lowered: it ends when the engine evicts what has it, or empties its"
                                + " cache."));
        assertThat(engine.asked()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'radix_eviction_policy':'priority' | true | The engine evicts by priority, and what is held is sent at"
                        + " 12, two above what clients send; it cannot be released again, only evicted.",
                "'radix_eviction_policy':'lru' | false | The engine does not evict by priority but by lru: start it"
                        + " with --radix-eviction-policy priority.",
                "'dp_size':1 | false | The engine does not evict by priority: start it with --radix-eviction-policy"
                        + " priority.",
                "'radix_eviction_policy':null | false | The engine does not evict by priority: start it with"
                        + " --radix-eviction-policy priority.",
                "'radix_eviction_policy':'priority','disable_radix_cache':true | false | The engine caches no prefixes:"
                        + " start it without --disable-radix-cache.",
                "'radix_eviction_policy':'priority','dp_size':2 | false | This engine has 2 caches (data-parallel"
                        + " ranks), and a request reaches one of them only: run one engine for each rank, each with a"
                        + " sidecar's engine of its own.",
                "'radix_eviction_policy':'priority','abort_on_priority_when_disabled':true | false | The engine ends"
                        + " every request that has a priority: start it without --abort-on-priority-when-disabled, or"
                        + " with --enable-priority-scheduling.",
                "'radix_eviction_policy':'priority','abort_on_priority_when_disabled':true,'enable_priority_scheduling':true"
                    + " | true | The engine evicts by priority, and what is held is sent at 12, two above what clients"
                    + " send; it cannot be released again, only evicted.",
                "'radix_eviction_policy':'priority','schedule_low_priority_values_first':true | true | The engine"
                        + " evicts by priority, and what is held is sent at 12, two above what clients send; it cannot"
                        + " be released again, only evicted.",
                "'radix_eviction_policy':'priority','schedule_low_priority_values_first':true,"
                        + "'enable_priority_scheduling':true | false | The engine serves low priorities first, so a"
                        + " request above all clients' would wait for all of them: start it without"
                        + " --schedule-low-priority-values-first."
            })
    void probe_saysWhatTheEngineLetsItDo(String info, boolean can, String sentence) {
        engine.answers("/server_info", 200, "{" + info.replace('\'', '"') + "}");
        assertThat(backend.probe().toCompletableFuture().join()).isEqualTo(new Capabilities(can, sentence));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "priority | The engine evicts by priority, and which priorities clients send is not known: write"
                        + " clientPriorityMax, the highest priority that clients send, 0 where they send none.",
                "lru | The engine does not evict by priority but by lru: start it with --radix-eviction-policy"
                        + " priority, and write clientPriorityMax, the highest priority that clients send, 0 where they"
                        + " send none."
            })
    void probe_withoutTheKey_namesKeyAndFlag(String policy, String sentence) {
        engine.answers("/server_info", 200, "{\"radix_eviction_policy\":\"" + policy + "\"}");
        PriorityTouchBackend keyless = new PriorityTouchBackend(engine.http(), engine.timer(), OptionalInt.empty());
        assertThat(keyless.probe().toCompletableFuture().join()).isEqualTo(new Capabilities(false, sentence));
    }

    @Test
    void probe_ofARealServersAnswer_canHold() throws IOException {
        engine.answers("/server_info", 200, CannedEngine.resource("server_info_sample.json"));
        assertThat(backend.probe().toCompletableFuture().join().canPin()).isTrue();
    }
}
