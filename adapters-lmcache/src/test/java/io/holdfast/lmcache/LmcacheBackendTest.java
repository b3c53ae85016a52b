package io.holdfast.lmcache;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Against a stand-in that answers as LMCache's documentation says. */
final class LmcacheBackendTest {
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {11, 12}, new int[] {1, 2, 3, -1, 5, 6, 7, 8}, Duration.ofMinutes(1));
    private static final PinCommand COMMAND = new PinCommand(7, 3, PREFIX, 1);
    private static final String PIN = "POST /cache/pins";
    private static final String UNPIN = "DELETE /cache/pins";
    private static final String LIST = "GET /cache/pins?limit=1&model_name=Qwen%2FQwen3-8B";
    private static final String BODY =
            " {\"model_name\":\"Qwen/Qwen3-8B\",\"world_size\":2,\"token_ids\":[1,2,3,4294967295],\"cache_salt\":\"\"}";

    private final CannedServer coordinator = new CannedServer();
    private final CannedServer engine = new CannedServer();
    private final LmcacheBackend backend = backend(Optional.of("Qwen/Qwen3-8B"), 1);

    LmcacheBackendTest() throws IOException {}

    private LmcacheBackend backend(Optional<String> model, int caches) {
        return new LmcacheBackend(
                Optional.of(coordinator.http()),
                model,
                2,
                engine.http(),
                () -> CompletableFuture.completedFuture(caches),
                coordinator.timer());
    }

    @AfterEach
    void close() {
        coordinator.close();
        engine.close();
    }

    @Test
    void pinAndUnpin_nameTheSameTokens() {
        coordinator.answers(PIN, 200, "{\"requested\":2,\"affected\":4,\"status\":\"pinned\"}");
        coordinator.answers(UNPIN, 200, "{\"requested\":2,\"affected\":4,\"status\":\"unpinned\"}");
        assertThat(pinned())
                .isEqualTo(new Outcome(
                        Kind.ACCEPTED,
                        "The LMCache coordinator pinned 2 chunks of its 4 tokens; whether they are stored there it does"
                                + " not say (this way to hold is unproven)."));
        LmcacheBackend next = backend(Optional.empty(), 1);
        assertThat(next.unpin(List.of(backend.handle(COMMAND)))
                        .toCompletableFuture()
                        .join())
                .isEqualTo(new Outcome(Kind.ACCEPTED, "The LMCache coordinator took one pin of 4 tokens back."));
        assertThat(coordinator.asked()).containsExactly(PIN + BODY, UNPIN + BODY);
    }

    @Test
    void handle_isTheSameForOnePrefix_andHasAllTokens() {
        assertThat(backend.handle(new PinCommand(8, 4, PREFIX, 1))).isEqualTo(backend.handle(COMMAND));
        SplittableRandom random = new SplittableRandom(1);
        for (int length : new int[] {0, 1, 63, 64, 65, 10_000}) {
            int[] tokens = random.ints(length, 0, 150_000).toArray();
            PinHandle handle = new PinHandle(coordinator.uri(), 8, "a model/with a space", tokens);
            PinHandle read = PinHandle.of(handle.text()).orElseThrow();
            assertThat(read.text()).isEqualTo(handle.text());
            assertThat(read.tokens()).isEqualTo(tokens);
            assertThat(read.model()).isEqualTo("a model/with a space");
        }
        assertThat(PinHandle.of("http://x 1 m e!")).isEmpty();
        assertThat(PinHandle.of("http://x 1 m eJw")).isEmpty();
        assertThat(PinHandle.of("12")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200 | {'requested':0,'affected':0,'status':'pinned'} | REJECTED | The LMCache coordinator pinned"
                    + " nothing: the prefix has 4 tokens, which is less than one of its chunks (its --chunk-size, 256"
                    + " unless it says otherwise).",
                "200 | {'requested':4,'affected':3,'status':'pinned'} | CLIPPED | The LMCache coordinator pinned 3 keys"
                        + " of 4 chunks of the prefix.",
                "200 | fine | DEFERRED | The LMCache coordinator answered without requested and affected: fine. It may"
                        + " have carried it out all the same.",
                "400 | {'detail':'too many token_ids'} | REJECTED | The LMCache coordinator refused with HTTP 400: too"
                        + " many token_ids.",
                "422 | {'detail':[{'msg':'x'}]} | REJECTED | The LMCache coordinator refused with HTTP 422:"
                        + " {'detail':[{'msg':'x'}]}.",
                "500 | oh | DEFERRED | The LMCache coordinator answered HTTP 500: oh. It may have carried it out all"
                        + " the same."
            })
    void pin_coordinatorsAnswer_isSaid(int status, String body, Kind kind, String sentence) {
        coordinator.answers(PIN, status, body.replace('\'', '"'));
        assertThat(pinned()).isEqualTo(new Outcome(kind, sentence.replace('\'', '"')));
    }

    @Test
    void routeThatIsNotThere_isSaid() {
        String sentence = "What is at " + coordinator.uri()
                + " has no /cache/pins route: it is an LMCache coordinator older than that, or LMCache's classic"
                + " controller, which has no unpin.";
        assertThat(pinned()).isEqualTo(new Outcome(Kind.REJECTED, sentence));
        assertThat(backend.probe().toCompletableFuture().join()).isEqualTo(new Capabilities(false, sentence));
        coordinator.answers(PIN, 405, "{}");
        assertThat(pinned()).isEqualTo(new Outcome(Kind.REJECTED, sentence));
    }

    @Test
    void coordinatorGone_isNotSent() {
        String at = coordinator.uri().toString();
        coordinator.dies();
        assertThat(pinned())
                .isEqualTo(new Outcome(
                        Kind.NOT_SENT,
                        "Nothing listens at " + at + ": is the LMCache coordinator running? It was not carried out."));
    }

    @Test
    void unpinElsewhere_isRefused_withTheMend() {
        PinHandle other = new PinHandle(engine.uri(), 2, "m", new int[] {1});
        assertThat(backend.unpin(List.of(other.text())).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Kind.REJECTED,
                        "It was pinned at the LMCache coordinator at " + engine.uri()
                                + ", and the configuration names the one at " + coordinator.uri()
                                + ": name it again (lmcache: {url: " + engine.uri() + "}), so that it is released."));
        LmcacheBackend nowhere = new LmcacheBackend(
                Optional.empty(),
                Optional.of("m"),
                1,
                engine.http(),
                () -> CompletableFuture.completedFuture(1),
                engine.timer());
        assertThat(nowhere.unpin(List.of(other.text()))
                        .toCompletableFuture()
                        .join()
                        .reason())
                .isEqualTo("It was pinned at the LMCache coordinator at " + engine.uri()
                        + ", and the configuration names none: name it again (lmcache: {url: " + engine.uri()
                        + "}), so that it is released.");
        assertThat(nowhere.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        false,
                        "Where the LMCache coordinator is is not known: write lmcache: {url: http://HOST:9300} for this"
                                + " engine."));
        assertThat(backend.unpin(List.of("12")).toCompletableFuture().join().reason())
                .isEqualTo("The ledger's entry does not say what was pinned.");
    }

    @Test
    void severalUnpins_thatCameOutDifferently_areNoYesAndNoNo() {
        coordinator.answers(UNPIN, 200, "{\"requested\":1,\"affected\":1,\"status\":\"unpinned\"}");
        String here = backend.handle(COMMAND);
        assertThat(backend.unpin(List.of(here, here))
                        .toCompletableFuture()
                        .join()
                        .kind())
                .isEqualTo(Kind.ACCEPTED);
        assertThat(backend.unpin(List.of(here, "12"))
                        .toCompletableFuture()
                        .join()
                        .kind())
                .isEqualTo(Kind.CLIPPED);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200 | {'total':12,'pins':[]} | ACCEPTED | The LMCache coordinator lists pins of Qwen/Qwen3-8B.",
                "200 | {'total':0,'pins':[]} | MISSING | the LMCache coordinator lists no pin of Qwen/Qwen3-8B any"
                        + " more: it was started again without --metadata-path, or its pins were dropped",
                "405 | {} | ACCEPTED | The LMCache coordinator does not list its pins.",
                "503 | x | DEFERRED | The LMCache coordinator answered HTTP 503: x. It may have carried it out all the"
                        + " same."
            })
    void renew_asksWhetherThereAreAnyPins(int status, String body, Kind kind, String sentence) {
        coordinator.answers(LIST, status, body.replace('\'', '"'));
        assertThat(backend.renew(COMMAND).toCompletableFuture().join()).isEqualTo(new Outcome(kind, sentence));
    }

    @Test
    void pin_withoutTokensOrModel_isRejectedAndNothingIsSent() {
        PinCommand nameless = new PinCommand(7, 3, new HoldRequest(new long[] {11}, Duration.ofMinutes(1)), 1);
        assertThat(backend.pin(nameless).toCompletableFuture().join())
                .isEqualTo(new Outcome(Kind.REJECTED, "A prefix is pinned by its tokens, and they are not known."));
        assertThat(backend(Optional.empty(), 1)
                        .pin(COMMAND)
                        .toCompletableFuture()
                        .join())
                .isEqualTo(new Outcome(
                        Kind.REJECTED,
                        "The engine's model is not known, by which LMCache finds what is to be pinned."));
        assertThat(coordinator.asked()).isEmpty();
    }

    @Test
    void probe_asksTheEngineForItsModel_byItsPath() {
        coordinator.answers(PIN, 200, "{\"requested\":0,\"affected\":0,\"status\":\"pinned\"}");
        engine.answers("GET /v1/models", 200, "{\"data\":[{\"id\":\"served\",\"root\":\"Qwen/Qwen3-8B\"}]}");
        LmcacheBackend asking = backend(Optional.empty(), 1);
        assertThat(asking.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        true,
                        "Unproven, since it was tried by LMCache's documentation only: the coordinator at "
                                + coordinator.uri()
                                + " keeps what is pinned of Qwen/Qwen3-8B (world size 2) in LMCache's shared storage,"
                                + " and not in the engine's cache."));
        assertThat(coordinator.asked())
                .containsExactly(PIN
                        + " {\"model_name\":\"Qwen/Qwen3-8B\",\"world_size\":2,\"token_ids\":[],\"cache_salt\":\"\"}");
        assertThat(asking.handle(COMMAND)).isEqualTo(backend.handle(COMMAND));
    }

    @Test
    void probe_engineThatTellsNoModelOrHasRanks_saysWhatToDo() {
        coordinator.answers(PIN, 200, "{\"requested\":0,\"affected\":0,\"status\":\"pinned\"}");
        engine.answers("GET /v1/models", 200, "{}");
        assertThat(backend(Optional.empty(), 1).probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        false,
                        "The engine does not tell its model at /v1/models: write it as LMCache names it, lmcache:"
                                + " {url: …, model: NAME}."));
        assertThat(backend(Optional.of("m"), 2).probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        false,
                        "This engine has 2 caches (data-parallel ranks), which is not supported beside LMCache: run one"
                                + " engine per rank, each with a sidecar's engine of its own."));
    }

    @Test
    void probe_coordinatorThatStarts_isAskedUntilItAnswers() {
        coordinator.answers(PIN, 503, "starting");
        CompletableFuture<Capabilities> probe = backend.probe().toCompletableFuture();
        while (coordinator.asked().size() < 2) {
            Thread.onSpinWait();
        }
        assertThat(probe).isNotDone();
        coordinator.answers(PIN, 200, "{\"requested\":0,\"affected\":0,\"status\":\"pinned\"}");
        assertThat(probe.join().canPin()).isTrue();
    }

    @Test
    void traits_countSilently_outsideTheEngine_andAreNeverChosen() {
        assertThat(backend.traits().needsLedger()).isTrue();
        assertThat(backend.traits().needsReleaseAtStart()).isTrue();
        assertThat(backend.traits().releaseTells()).isFalse();
        assertThat(backend.traits().unpinsOnce()).isTrue();
        assertThat(backend.traits().outside()).isTrue();
        assertThat(backend.traits().takesMemory()).isFalse();
        assertThat(backend.traits().sendsPrefix()).isFalse();
        assertThat(backend.traits().onlyByName()).isTrue();
    }

    private Outcome pinned() {
        return backend.pin(COMMAND).toCompletableFuture().join();
    }
}
