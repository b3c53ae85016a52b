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
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {11, 12}, new int[] {1, 2, 3, -1, 5, 6, 7, 8}, MINUTE);
    private static final PinCommand COMMAND = new PinCommand(7, 3, PREFIX, 1);
    private static final String PIN = "POST /cache/pins";
    private static final String UNPIN = "DELETE /cache/pins";
    private static final String LIST = "GET /cache/pins?limit=1&model_name=Qwen%2FQwen3-8B";
    private static final String LOOKUP = "POST /directory/lookup";
    private static final String PAGE = "GET /cache/pins?limit=5000&model_name=Qwen%2FQwen3-8B";
    /** Of 4 tokens a chunk: 8192 of them for the probe. */
    private static final String PROBED = "{\"chunks\":2048,\"results\":[]}";

    private static final String KEYS =
            "{\"chunks\":6,\"results\":[{\"key\":{\"chunk_hash_hex\":\"aa\"}},{\"key\":{\"chunk_hash_hex\":\"bb\"}}]}";
    private static final String THERE = "{\"total\":2,\"pins\":[{\"key\":{\"chunk_hash_hex\":\"aa\"},\"pin_count\":7},"
            + "{\"key\":{\"chunk_hash_hex\":\"bb\"},\"pin_count\":1}]}";
    private static final String GONE = "{\"total\":1,\"pins\":[{\"key\":{\"chunk_hash_hex\":\"aa\"},\"pin_count\":7}]}";
    private static final String BODY =
            " {\"model_name\":\"Qwen/Qwen3-8B\",\"world_size\":2,\"token_ids\":[1,2,3,4294967295,";
    private static final String REST = ",0,0,0,0],\"cache_salt\":\"\"}";

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
                coordinator.timer(),
                new SplittableRandom(caches));
    }

    /** With chunks of 4 tokens. */
    private void probed() {
        coordinator.answers(PIN, 200, "{\"requested\":0,\"affected\":0,\"status\":\"pinned\"}");
        coordinator.answers(LIST, 200, "{\"total\":0,\"pins\":[]}");
        coordinator.answers(LOOKUP, 200, PROBED);
        assertThat(backend.probe().toCompletableFuture().join().canPin()).isTrue();
        coordinator.asked().clear();
    }

    @AfterEach
    void close() {
        coordinator.close();
        engine.close();
    }

    @Test
    void pinAndUnpin_nameTheSameTokens_andAMarkerBehindThem() {
        probed();
        coordinator.answers(PIN, 200, "{\"requested\":6,\"affected\":12,\"status\":\"pinned\"}");
        coordinator.answers(LOOKUP, 200, KEYS);
        coordinator.answers(PAGE, 200, THERE);
        coordinator.answers(UNPIN, 200, "{\"requested\":6,\"affected\":12,\"status\":\"unpinned\"}");
        assertThat(pinned())
                .isEqualTo(new Outcome(
                        Kind.ACCEPTED,
                        "The LMCache coordinator pinned 1 chunk of its 4 tokens; whether they are stored there it does"
                                + " not say (this way to hold is unproven)."));
        LmcacheBackend next = backend(Optional.empty(), 1);
        assertThat(next.unpin(List.of(backend.handle(COMMAND)))
                        .toCompletableFuture()
                        .join())
                .isEqualTo(new Outcome(Kind.ACCEPTED, "The LMCache coordinator took one pin of 4 tokens back."));
        assertThat(coordinator.asked().get(0)).startsWith(PIN + BODY).endsWith(REST);
        String sent = coordinator.asked().get(0).substring(PIN.length());
        assertThat(coordinator.asked()).containsExactly(PIN + sent, LOOKUP + sent, PAGE, UNPIN + sent);
        assertThat(sent.split(",")).as("model, world size, 4 + 20 tokens, salt").hasSize(2 + 24 + 1);
    }

    @Test
    void unpin_thatFindsNoMarker_takesNothing() {
        probed();
        coordinator.answers(LOOKUP, 200, KEYS);
        coordinator.answers(PAGE, 200, GONE);
        assertThat(unpinned())
                .isEqualTo(new Outcome(Kind.MISSING, "The LMCache coordinator does not list the pin any more."));
        assertThat(coordinator.asked()).noneMatch(asked -> asked.startsWith(UNPIN));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "503 | busy | 200 | {'total':0,'pins':[]} | NOT_SENT | The LMCache coordinator answered HTTP 503:"
                        + " busy.",
                "404 | {} | 200 | {'total':0,'pins':[]} | REJECTED | What is at URL has no /directory/lookup route: it"
                        + " is an LMCache coordinator older than that, or LMCache's classic controller, which has no"
                        + " unpin.",
                "200 | {'chunks':6,'results':[]} | 200 | {'total':0,'pins':[]} | NOT_SENT | The LMCache coordinator"
                        + " answered without keys: {'chunks':6,'results':[]}.",
                "200 | {'chunks':3,'results':[{'key':{'chunk_hash_hex':'aa'}}]} | 200 | {'total':0,'pins':[]} |"
                        + " REJECTED | The LMCache coordinator's chunks are larger than when this was pinned: start it"
                        + " once with --chunk-size 4, so that the pin is released.",
                "200 | {'chunks':6,'results':[{'key':{'chunk_hash_hex':'aa'}}]} | 500 | oh | NOT_SENT | The LMCache"
                        + " coordinator answered HTTP 500: oh.",
                "200 | {'chunks':6,'results':[{'key':{'chunk_hash_hex':'aa'}}]} | 200 | fine | NOT_SENT | The LMCache"
                        + " coordinator answered without pins: fine."
            })
    void unpin_thatCannotLook_isNotSent(
            int lookupStatus, String lookup, int listStatus, String list, Kind kind, String sentence) {
        probed();
        coordinator.answers(LOOKUP, lookupStatus, lookup.replace('\'', '"'));
        coordinator.answers(PAGE, listStatus, list.replace('\'', '"'));
        assertThat(unpinned())
                .isEqualTo(new Outcome(
                        kind,
                        sentence.replace("{'chunks':6,'results':[]}", "{\"chunks\":6,\"results\":[]}")
                                .replace("URL", coordinator.uri().toString())));
        assertThat(coordinator.asked()).noneMatch(asked -> asked.startsWith(UNPIN));
    }

    @Test
    void unpin_readsEveryPage_andBelievesNoListThatChanged() {
        probed();
        coordinator.answers(LOOKUP, 200, KEYS);
        String other = "{\"key\":{\"chunk_hash_hex\":\"cc\"},\"pin_count\":1}";
        String second = "GET /cache/pins?limit=5000&offset=1&model_name=Qwen%2FQwen3-8B";
        coordinator.answers(PAGE, 200, "{\"total\":2,\"pins\":[" + other + "]}");
        coordinator.answers(second, 200, "{\"total\":2,\"pins\":[" + other + "]}");
        assertThat(unpinned().kind()).isEqualTo(Kind.MISSING);
        coordinator.answers(second, 200, "{\"total\":1,\"pins\":[]}");
        assertThat(unpinned())
                .isEqualTo(new Outcome(
                        Kind.NOT_SENT, "The LMCache coordinator's list of pins changed while it was read."));
        coordinator.answers(second, 200, THERE);
        coordinator.answers(UNPIN, 200, "{\"requested\":6,\"affected\":12,\"status\":\"unpinned\"}");
        assertThat(unpinned().kind()).isEqualTo(Kind.ACCEPTED);
    }

    @Test
    void clippedPin_isTakenBackOnce_andJustWhatWasPinned() {
        probed();
        coordinator.answers(PIN, 200, "{\"requested\":6,\"affected\":4,\"status\":\"pinned\"}");
        coordinator.answers(UNPIN, 200, "{\"requested\":2,\"affected\":4,\"status\":\"unpinned\"}");
        coordinator.answers(LOOKUP, 200, KEYS);
        coordinator.answers(PAGE, 200, GONE);
        assertThat(pinned().kind()).isEqualTo(Kind.CLIPPED);
        assertThat(unpinned().kind()).isEqualTo(Kind.ACCEPTED);
        String taken = coordinator.asked().getLast();
        assertThat(taken).startsWith(UNPIN);
        assertThat(taken.split(","))
                .as("2 of 6 chunks in each of 2 ranks: 8 of 24 tokens")
                .hasSize(2 + 8 + 1);
        assertThat(unpinned().kind()).isEqualTo(Kind.MISSING);
        assertThat(coordinator.asked().stream().filter(asked -> asked.startsWith(UNPIN)))
                .hasSize(1);
    }

    @Test
    void part_hasAsManyChunks_whateverAChunkIs() {
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < 10_000; i++) {
            int chunk = random.nextInt(1, 600);
            int tokens = chunk + random.nextInt(20_000);
            int chunks = tokens / chunk;
            int pinned = random.nextInt(chunks);
            PinHandle all = new PinHandle(coordinator.uri(), 1, "m", new int[tokens], 0);
            assertThat(all.part(pinned, chunks).tokens().length / chunk).isEqualTo(pinned);
        }
    }

    @Test
    void marker_isInTheLastChunk_whateverAChunkIs() {
        SplittableRandom random = new SplittableRandom(8);
        for (int i = 0; i < 10_000; i++) {
            int chunk = random.nextInt(1, 600);
            int probed = 8192 / (8192 / chunk);
            int prefix = random.nextInt(20_000);
            int[] marker = PinHandle.marker(new int[PinHandle.OWN_TOKENS], probed);
            PinHandle pin = new PinHandle(coordinator.uri(), 1, "m", new int[prefix + marker.length], marker.length);
            int later = random.nextInt(1, 1200);
            int chunks = pin.tokens().length / later;
            if (later <= chunk || chunks >= pin.leastChunks()) {
                assertThat(chunks * later).isGreaterThanOrEqualTo(prefix + PinHandle.OWN_TOKENS);
            }
            assertThat(pin.tokens().length / chunk).isGreaterThanOrEqualTo(pin.leastChunks());
        }
    }

    @Test
    void handle_isTheSameForOnePrefix_andHasAllTokens() {
        assertThat(backend.handle(new PinCommand(8, 4, PREFIX, 1))).isEqualTo(backend.handle(COMMAND));
        SplittableRandom random = new SplittableRandom(1);
        for (int length : new int[] {0, 1, 63, 64, 65, 10_000}) {
            int[] tokens = random.ints(length, 0, 150_000).toArray();
            PinHandle handle =
                    new PinHandle(coordinator.uri(), 8, "a model/with a space", tokens, length < 100 ? 0 : 80);
            PinHandle read = PinHandle.of(handle.text()).orElseThrow();
            assertThat(read.text()).isEqualTo(handle.text());
            assertThat(read.tokens()).isEqualTo(tokens);
            assertThat(read.model()).isEqualTo("a model/with a space");
            assertThat(read.prefixTokens()).isEqualTo(handle.prefixTokens());
        }
        assertThat(PinHandle.of("http://x 1 m 9 "
                        + new PinHandle(coordinator.uri(), 1, "m", new int[4], 0)
                                .text()
                                .replaceFirst(".* ", "")))
                .as("a marker that is larger than all of it")
                .isEmpty();
        assertThat(PinHandle.of("http://x 1 m 0 e!")).isEmpty();
        assertThat(PinHandle.of("http://x 1 m 0 eJw")).isEmpty();
        assertThat(PinHandle.of("12")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "200 | {'requested':0,'affected':0,'status':'pinned'} | REJECTED | The LMCache coordinator pinned"
                        + " nothing of the prefix.",
                "200 | {'requested':4,'affected':3,'status':'pinned'} | CLIPPED | The LMCache coordinator pinned 3 keys"
                        + " of 4 chunks of the prefix.",
                "200 | {'requested':3,'affected':6,'status':'pinned'} | CLIPPED | The LMCache coordinator has larger"
                        + " chunks than it had (its --chunk-size): start the sidecar again, so that it asks for their"
                        + " size.",
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
        probed();
        coordinator.answers(PIN, status, body.replace('\'', '"'));
        assertThat(pinned()).isEqualTo(new Outcome(kind, sentence.replace('\'', '"')));
    }

    @Test
    void routeThatIsNotThere_isSaid() {
        String sentence = "What is at " + coordinator.uri()
                + " has no /cache/pins route: it is an LMCache coordinator older than that, or LMCache's classic"
                + " controller, which has no unpin.";
        assertThat(backend.probe().toCompletableFuture().join()).isEqualTo(new Capabilities(false, sentence));
        coordinator.answers(PIN, 200, "{\"requested\":0,\"affected\":0,\"status\":\"pinned\"}");
        coordinator.answers(LIST, 405, "{}");
        assertThat(backend.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(false, sentence.replace("/cache/pins", "GET /cache/pins")));
        coordinator.answers(LIST, 200, "{\"total\":0,\"pins\":[]}");
        assertThat(backend.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(false, sentence.replace("/cache/pins", "/directory/lookup")));
        coordinator.answers(LOOKUP, 200, "{\"chunks\":0,\"results\":[]}");
        assertThat(backend.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        false,
                        "The LMCache coordinator finds no chunk in 8,192 tokens: start it, and LMCache, with a smaller"
                                + " --chunk-size."));
        probed();
        coordinator.answers(PIN, 405, "{}");
        assertThat(pinned()).isEqualTo(new Outcome(Kind.REJECTED, sentence));
    }

    @Test
    void prefixShorterThanAChunk_isRejectedAndNothingIsSent() {
        probed();
        PinCommand tiny = new PinCommand(7, 3, new HoldRequest(new long[] {11}, new int[] {1, 2, 3}, MINUTE), 1);
        assertThat(backend.pin(tiny).toCompletableFuture().join())
                .isEqualTo(new Outcome(
                        Kind.REJECTED,
                        "The prefix has 3 tokens, which is less than one of the LMCache coordinator's chunks of 4 (its"
                                + " --chunk-size)."));
        assertThat(coordinator.asked()).isEmpty();
    }

    @Test
    void pin_beforeTheCoordinatorWasAsked_isNotSent() {
        assertThat(pinned())
                .isEqualTo(
                        new Outcome(Kind.NOT_SENT, "How large the LMCache coordinator's chunks are is not known yet."));
        assertThat(coordinator.asked()).isEmpty();
    }

    @Test
    void coordinatorGone_isNotSent() {
        probed();
        String at = coordinator.uri().toString();
        coordinator.dies();
        assertThat(pinned())
                .isEqualTo(new Outcome(
                        Kind.NOT_SENT,
                        "Nothing listens at " + at + ": is the LMCache coordinator running? It was not carried out."));
    }

    @Test
    void unpinElsewhere_isRefused_withTheMend() {
        PinHandle other = new PinHandle(engine.uri(), 2, "m", new int[21], 20);
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
                engine.timer(),
                new SplittableRandom(3));
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
        probed();
        coordinator.answers(LOOKUP, 200, KEYS);
        coordinator.answers(PAGE, 200, THERE);
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
                "503 | x | NOT_SENT | The LMCache coordinator answered HTTP 503: x."
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
        probed();
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
                .hasSize(3)
                .startsWith(
                        PIN
                                + " {\"model_name\":\"Qwen/Qwen3-8B\",\"world_size\":2,\"token_ids\":[],\"cache_salt\":\"\"}",
                        LIST);
        assertThat(asking.handle(COMMAND)).isEqualTo(backend.handle(COMMAND));
    }

    @Test
    void probe_engineThatTellsNoModelOrHasRanks_saysWhatToDo() {
        probed();
        coordinator.answers("GET /cache/pins?limit=1&model_name=m", 200, "{\"total\":0,\"pins\":[]}");
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
        probed();
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
    void traits_lookFirst_outsideTheEngine_andAreNeverChosen() {
        assertThat(backend.traits().needsLedger()).isTrue();
        assertThat(backend.traits().needsReleaseAtStart()).isTrue();
        assertThat(backend.traits().releaseTells()).isTrue();
        assertThat(backend.traits().looksFirst()).isTrue();
        assertThat(backend.traits().unpinsOnce()).isFalse();
        assertThat(backend.traits().outside()).isTrue();
        assertThat(backend.traits().takesMemory()).isFalse();
        assertThat(backend.traits().sendsPrefix()).isFalse();
        assertThat(backend.traits().onlyByName()).isTrue();
    }

    private Outcome unpinned() {
        return backend.unpin(List.of(backend.handle(COMMAND)))
                .toCompletableFuture()
                .join();
    }

    private Outcome pinned() {
        return backend.pin(COMMAND).toCompletableFuture().join();
    }
}
