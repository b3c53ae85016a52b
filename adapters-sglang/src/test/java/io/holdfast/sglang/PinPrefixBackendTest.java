package io.holdfast.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PinPrefixBackendTest {
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {11, 12}, new int[] {1, 2, 3, -1, 5, 6, 7, 8}, Duration.ofMinutes(1));
    private static final PinCommand COMMAND = new PinCommand(7, 3, PREFIX, 1);
    private static final String ROUTE = "/hicache/pin_prefix";
    private static final String CAN =
            "The engine pins prefixes in host memory for 60 s at a time, which are renewed; a pin cannot be released"
                + " before its time runs out, and what the engine evicted from the GPU meanwhile is loaded from host"
                + " memory when it is used.";
    private static final String NO_ROUTE =
            "This engine has no pin_prefix route, as only SGLang 0.5.10rc0 does; newer ones keep prefixes by sessions"
                    + " (--enable-session-radix-cache) or by priorities (--radix-eviction-policy priority) instead.";

    private final CannedEngine engine = new CannedEngine();
    private final PinPrefixBackend backend = new PinPrefixBackend(engine.http(), engine.http(), engine.timer());

    PinPrefixBackendTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void pin_namesTokensAndAShortTime() {
        engine.answers(ROUTE, 200, "{\"status\":\"ok\",\"nodes_pinned\":3,\"message\":\"Pinned 3 nodes (ttl=60s)\"}");
        assertThat(pinned())
                .isEqualTo(new Outcome(
                        Outcome.Kind.ACCEPTED,
                        "The engine pinned its 4 tokens in host memory for 60 s, renewed while it is held; where it"
                                + " evicts them from the GPU, the next use loads them from there."));
        assertThat(engine.asked())
                .containsExactly("POST /hicache/pin_prefix {\"token_ids\":[1, 2, 3, 4294967295],\"ttl_seconds\":60}");
        assertThat(backend.renew(COMMAND).toCompletableFuture().join().kind()).isEqualTo(Outcome.Kind.ACCEPTED);
        assertThat(engine.asked()).as("a renewal is the same call").hasSize(2);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200 | ok | 2 | Pinned 2 nodes (ttl=60s); prefix partially pinned; Pin budget exhausted (900/1000"
                        + " tokens pinned) | CLIPPED | The engine pinned a part of the prefix only: Pinned 2 nodes"
                        + " (ttl=60s); prefix partially pinned; Pin budget exhausted (900/1000 tokens pinned). A larger"
                        + " SGLANG_HICACHE_MAX_PINNED_RATIO of the engine leaves more to pins.",
                "400 | error | 0 | No matching prefix found in cache to pin | MISSING | The engine has nothing of the"
                        + " prefix to pin: it was evicted in the meantime.",
                "200 | ok | 0 | Pinned 0 nodes | MISSING | The engine has nothing of the prefix to pin: it was evicted"
                        + " in the meantime.",
                "400 | error | 0 | PIN requires --enable-hierarchical-cache | REJECTED | The engine keeps no copies in"
                        + " host memory, which is what is pinned: start it with --enable-hierarchical-cache.",
                "400 | error | 0 | Pinning is disabled (SGLANG_HICACHE_MAX_PINNED_RATIO is 0) | REJECTED | The"
                        + " engine's pins are switched off: start it with SGLANG_HICACHE_MAX_PINNED_RATIO in its"
                        + " environment, the part of its host memory that pins may take, such as 0.3.",
                "400 | error | 0 | This endpoint requires admin API key to be set | REJECTED | The engine pins only for"
                        + " an administrator: start it with --admin-api-key, and name the environment variable that has"
                        + " the key with adminKeyEnv.",
                "400 | error | 0 | something else | REJECTED | The engine refused to pin with HTTP 400: something"
                        + " else.",
                "401 | error | 0 | x | REJECTED | The engine wants another key (HTTP 401): apiKeyEnv names the variable"
                        + " of the one for requests, adminKeyEnv that of the one for pins.",
                "404 | error | 0 | x | REJECTED | " + NO_ROUTE,
                "405 | error | 0 | x | REJECTED | " + NO_ROUTE,
                "503 | error | 0 | busy | DEFERRED | The engine answered HTTP 503: busy. The engine may have carried it"
                        + " out all the same."
            })
    void pin_enginesAnswer_isSaid(
            int status, String word, int nodes, String message, Outcome.Kind kind, String sentence) {
        engine.answers(
                ROUTE,
                status,
                "{\"status\":\"" + word + "\",\"nodes_pinned\":" + nodes + ",\"message\":\"" + message + "\"}");
        assertThat(pinned()).isEqualTo(new Outcome(kind, sentence));
    }

    @Test
    void pin_beyondTheEnginesBudget_isRefusedForNow() {
        engine.answers(
                ROUTE,
                400,
                "{\"status\":\"error\",\"nodes_pinned\":0,\"message\":\"Pin budget exhausted (1000/1000 tokens"
                        + " pinned)\"}");
        assertThat(pinned())
                .isEqualTo(Outcome.refusedForNow("The engine pinned nothing of the prefix: Pin budget exhausted"
                        + " (1000/1000 tokens pinned). A larger SGLANG_HICACHE_MAX_PINNED_RATIO of the engine leaves"
                        + " more to pins."));
    }

    @Test
    void pin_answerWithoutACount_isNoYes() {
        engine.answers(ROUTE, 200, "{\"status\":\"ok\",\"message\":\"fine\"}");
        assertThat(pinned())
                .isEqualTo(new Outcome(
                        Outcome.Kind.DEFERRED,
                        "The engine answered without nodes_pinned: fine. The engine may have carried it out all the"
                                + " same."));
    }

    @Test
    void pin_engineGone_isNotSent() {
        engine.dies();
        assertThat(pinned().kind()).isEqualTo(Outcome.Kind.NOT_SENT);
        assertThat(pinned().reason()).endsWith(" It was not carried out.");
    }

    @Test
    void pin_withoutTokens_isRejectedAndNothingIsSent() {
        PinCommand nameless = new PinCommand(7, 3, new HoldRequest(new long[] {11}, Duration.ofMinutes(1)), 1);
        assertThat(backend.pin(nameless).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED, "A prefix is pinned by its tokens, and they are not known."));
        assertThat(engine.asked()).isEmpty();
    }

    @Test
    void traits_endInTime_soThatTheyNeedNoLedger_andAreNeverChosen() {
        assertThat(backend.traits().needsLedger()).isFalse();
        assertThat(backend.traits().releasable()).isFalse();
        assertThat(backend.traits().endsInTime()).isTrue();
        assertThat(backend.traits().takesMemory()).isFalse();
        assertThat(backend.traits().sendsPrefix()).isFalse();
        assertThat(backend.traits().onlyByName()).isTrue();
        assertThat(backend.handle(COMMAND)).isEqualTo("11");
        assertThat(backend.unpin(List.of("11")).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Outcome.Kind.REJECTED, "A pin is not taken back: it ends 60 s after its last renewal or use."));
        assertThat(engine.asked()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400 | No matching prefix found in cache to pin | {} | true | " + CAN,
                "200 | Pinned 0 nodes (ttl=1s) | {} | true | " + CAN,
                "400 | Pin budget exhausted (1000/1000 tokens pinned) | {} | true | " + CAN,
                "404 | x | {} | false | " + NO_ROUTE,
                "400 | PIN requires --enable-hierarchical-cache | {} | false | The engine keeps no copies in host"
                        + " memory, which is what is pinned: start it with --enable-hierarchical-cache.",
                "400 | Pinning is disabled (SGLANG_HICACHE_MAX_PINNED_RATIO is 0) | {} | false | The engine's pins are"
                        + " switched off: start it with SGLANG_HICACHE_MAX_PINNED_RATIO in its environment, the part of"
                        + " its host memory that pins may take, such as 0.3.",
                "400 | This endpoint requires admin API key | {} | false | The engine pins only for an administrator:"
                        + " start it with --admin-api-key, and name the environment variable that has the key with"
                        + " adminKeyEnv.",
                "403 | x | {} | false | The engine wants another key (HTTP 403): apiKeyEnv names the variable of the"
                        + " one for requests, adminKeyEnv that of the one for pins.",
                "200 | fine | {'dp_size':2} | false | This engine has 2 caches (data-parallel ranks), and which of"
                    + " them pinned a prefix it does not say: run one engine per rank, each with a sidecar's engine of"
                    + " its own."
            })
    void probe_saysWhatTheEngineLetsItDo(int status, String message, String info, boolean can, String sentence) {
        engine.answers(ROUTE, status, "{\"status\":\"x\",\"nodes_pinned\":0,\"message\":\"" + message + "\"}");
        engine.answers("/server_info", 200, info.replace('\'', '"'));
        assertThat(backend.probe().toCompletableFuture().join()).isEqualTo(new Capabilities(can, sentence));
        assertThat(engine.asked()).contains("POST /hicache/pin_prefix {\"token_ids\":[],\"ttl_seconds\":1}");
    }

    private Outcome pinned() {
        return backend.pin(COMMAND).toCompletableFuture().join();
    }
}
