package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.holdfast.emulator.Emulator;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.Limits;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A sidecar beside an emulated engine under kvcached: a real segment, real HTTP, somebody else at the same file. */
class KvcachedLimitTest {
    private static final String ENGINE = "/api/v1/engines/demo";
    private static final String LIMIT = ENGINE + "/limit";
    private static final long MIB = 1 << 20;
    private static final long STARTUP = 512 * MIB;
    private static final String QUICK = "coolDownSeconds: 1";
    private static final int PROMPTS = 6;
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int MOVES = DEEP ? 100 : 4;
    /** Each second one is of the other kind. */
    private static final int KILLS = DEEP ? 20 : 2;

    @TempDir
    Path folder;

    private final Vertx vertx = Vertx.vertx();
    private Path segment = Path.of("");
    private Emulator emulator;
    private EngineClient engine;
    private int prompts;

    @BeforeEach
    void startEngine() {
        segment = folder.resolve("kvc_test");
        emulator = Emulator.start(
                vertx,
                TestBed.fast()
                        .withKvcached(KvcachedSettings.of(EngineTag.SGLANG, 256, 16)
                                .withDirectory(folder)
                                .withIpcName("kvc_test")));
        engine = new EngineClient(emulator.uri());
    }

    @AfterEach
    void stopEngine() {
        engine.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private String yaml(String limitKeys) {
        return TestBed.yaml(
                folder.resolve("state"),
                emulator.uri(),
                "backend: keep_warm, automaticHolds: true, kvcachedSegment: '" + segment + "', kvcachedLimit: {"
                        + limitKeys + "}");
    }

    private Sidecar sidecar(String limitKeys) {
        return Sidecar.start(vertx, SidecarConfig.parse(yaml(limitKeys), "test.yaml"));
    }

    /** A request that takes a page, so that the engine looks at its limit, and gives it back, so that no page is missed. */
    private void serve() {
        engine.generate(EngineClient.prompt(++prompts, 160));
        int _ = engine.flush();
    }

    private static Http.Answer put(Http http, String body) {
        return http.send("PUT", LIMIT, body);
    }

    private static JsonObject seen(Http http, String what, Predicate<JsonObject> wanted) {
        return Eventually.see(what, () -> http.get(LIMIT).json(), wanted);
    }

    /** When the engine was read, so that its sizes are known. */
    private static void known(Http http) {
        seen(http, "the lowest limit is known", limit -> limit.containsKey("lowestBytes"));
    }

    private Segment now() {
        return (Segment) SegmentReader.read(segment);
    }

    private void write(long limit) {
        write(segment, limit);
    }

    private static void write(Path segment, long limit) {
        try (FileChannel file = FileChannel.open(segment, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, limit), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void requestedLimit_isInForceAfterARequest_andBoundsTheBudget_andIsRestoredAtTheEnd() {
        try (Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            known(http);
            Http.Answer asked = put(http, "{\"limit\":\"416M\"}");
            assertThat(asked.status()).as(asked.text()).isEqualTo(200);
            assertThat(asked.json().getLong("limitBytes")).isEqualTo(416 * MIB);
            assertThat(asked.json().getString("state")).isEqualTo("requested");
            assertThat(now().limitBytes()).isEqualTo(416 * MIB);
            serve();
            JsonObject limit = seen(
                    http,
                    "the limit is in force",
                    each -> each.getString("state").equals("in_force"));
            assertThat(limit.getString("segment")).isEqualTo(segment.toString());
            assertThat(limit.getLong("startupBytes")).isEqualTo(STARTUP);
            assertThat(limit.getLong("bundleBytes")).isEqualTo(16 * MIB);
            assertThat(limit.getLong("moves")).isEqualTo(1);
            assertThat(limit.getDouble("percent"))
                    .isEqualTo(Math.rint(1000.0
                                    * (limit.getLong("usedBytes") + limit.getLong("preallocatedBytes"))
                                    / (416 * MIB))
                            / 10);
            // What the cache has room for, and the gauge that counts the neighbours.
            JsonObject readings = Eventually.see(
                    "the readings follow the limit",
                    () -> http.get(ENGINE).json().getJsonObject("readings"),
                    each -> each.getJsonObject("capacityTokens").getLong("value", 0L) < 3_400);
            assertThat(readings.getJsonObject("capacityTokens").getString("source"))
                    .endsWith(" x limit of " + segment + " / limit at its start");
            assertThat(readings.getJsonObject("usedTokens").getString("unknown"))
                    .startsWith("Under kvcached the engine's own gauge counts what its neighbours take");
            assertThat(http.get("/metrics").text())
                    .contains("holdfast_kvcached_limit_bytes{engine=\"demo\"} 4.36207616E8")
                    .contains("holdfast_kvcached_moves_total{engine=\"demo\"} 1.0")
                    .contains("holdfast_used_tokens{engine=\"demo\"} NaN");
        }
        assertThat(now().limitBytes()).isEqualTo(STARTUP + 8);
    }

    /** Down and up, with prefixes kept warm in between: whatever the limit is, the same tokens come and nothing is refused. */
    @Test
    void answers_throughMovesOfTheLimit_areTheSameTokens() {
        try (Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            known(http);
            List<JsonArray> before = answers();
            assertThat(before).as("prompts are answered differently").doesNotHaveDuplicates();
            SplittableRandom random = new SplittableRandom(212);
            long limit = STARTUP / MIB;
            for (int move = 1; move <= MOVES; move++) {
                limit = 416 + (limit - 416 + 16L * (1 + random.nextInt(5))) % 96;
                long wanted = limit * MIB;
                assertThat(put(http, "{\"limit\":\"" + limit + "M\"}").status()).isEqualTo(200);
                Http.Answer hold = http.post(
                        ENGINE + "/holds",
                        new JsonObject()
                                .put("tokens", EngineClient.array(EngineClient.prompt(400 + move % PROMPTS, 160)))
                                .put("leaseSeconds", 60)
                                .encode());
                assertThat(hold.status()).as(hold.text()).isEqualTo(201);
                Eventually.see(
                        "the engine has limit " + move,
                        () -> {
                            serve();
                            return http.get(LIMIT).json();
                        },
                        each -> each.getString("state").equals("in_force") && each.getLong("limitBytes") == wanted);
                assertThat(answers())
                        .as("after move %d, to %d MiB", move, limit)
                        .isEqualTo(before);
            }
        }
    }

    private List<JsonArray> answers() {
        return IntStream.range(0, PROMPTS)
                .mapToObj(each -> engine.output(EngineClient.prompt(400 + each, 160)))
                .toList();
    }

    @Test
    void engineUnderKvcached_isReady_andSaysThatItPublishesNothing() {
        try (Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            JsonObject ready =
                    Eventually.see("it is ready", () -> http.get("/readyz").json(), seen -> seen.getBoolean("ready"));
            assertThat(ready.getJsonArray("notes")).contains("engine demo: " + EngineLimit.NO_EVENTS);
            JsonObject events = http.get(ENGINE).json().getJsonObject("events");
            assertThat(events.getBoolean("connected")).isFalse();
            assertThat(events.getString("why")).isEqualTo(EngineLimit.NO_EVENTS);
            assertThat(http.get("/api/v1/engines").json().getJsonArray("otherSegments"))
                    .isInstanceOf(JsonArray.class);
        }
    }

    @Test
    void foreignLimit_stopsUs_andStands_andResumeGoesOn() {
        try (Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            known(http);
            assertThat(put(http, "{\"limit\":\"416M\"}").status()).isEqualTo(200);
            write(448 * MIB);
            JsonObject stopped =
                    seen(http, "it is stopped", each -> each.getString("state").equals("stopped"));
            String sentence = "Somebody else moved the limit of " + segment
                    + " from 416 MiB to 448 MiB, so that it is left alone: say resume when nobody else moves it any"
                    + " more.";
            assertThat(stopped.getString("why")).isEqualTo(sentence);
            Http.Answer asked = put(http, "{\"limit\":\"416M\"}");
            assertThat(asked.status()).isEqualTo(409);
            assertThat(asked.error()).isEqualTo(sentence);
            assertThat(http.get("/readyz").text()).contains("engine demo: its limit is not moved: Somebody else");
            serve();
            assertThat(http.delete(LIMIT).status()).isEqualTo(409);
            assertThat(now().limitBytes()).isEqualTo(448 * MIB);
            assertThat(http.post(LIMIT + "/resume", "").json().getBoolean("resumed"))
                    .isTrue();
            serve();
            Eventually.see(
                    "it goes on",
                    () -> {
                        serve();
                        return now().limitBytes();
                    },
                    bytes -> bytes == 416 * MIB);
            assertThat(http.post(LIMIT + "/resume", "").json().getBoolean("resumed"))
                    .isFalse();
            assertThat(http.delete(LIMIT).status()).isEqualTo(200);
            assertThat(now().limitBytes()).isEqualTo(STARTUP + 8);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        {"limit":0}        | 422 | A limit is more than 0 bytes: engines ignore any other, and some die of it.
        {"limit":-5}       | 422 | A limit is more than 0 bytes
        {"limit":"1G"}     | 422 | The engine started with 512 MiB and has no blocks beyond it: ask for that or less.
        {"limit":"1M"}     | 422 | A page takes 16 MiB over all layers: ask for whole pages of that.
        {"limit":"32M"}    | 409 | The engine holds 96 MiB and needs room for its largest request: the lowest limit now is 176 MiB.
        {"limit":"1T"}     | 400 | The limit is '1T'; write a number of bytes, or a size such as 8G, 512M or 1.5g.
        {"limit":[1]}      | 400 | The limit is no number and no text; write a number of bytes
        {"limits":1}       | 400 | The field 'limits' is unknown; the only field is limit.
        {}                 | 400 | The limit is missing; write {"limit":"8G"}, or bytes.
        """)
    void requestThatCannotBe_isOneSentence(String body, int status, String sentence) {
        try (Sidecar sidecar = sidecar(QUICK + ", bundle: 16M");
                Http http = new Http(sidecar.uri())) {
            known(http);
            Http.Answer answer = put(http, body);
            assertThat(answer.status()).as(answer.text()).isEqualTo(status);
            assertThat(answer.error()).startsWith(sentence);
            assertThat(now().limitBytes()).isEqualTo(STARTUP);
        }
    }

    /** The other engine publishes events, which is where the thread of both can be made to hang. */
    @Test
    void engineFollowedAnew_isMovedByOneHand_andReturnsToWhereItWas() {
        EventFault fault = new EventFault();
        Seams seams = Seams.none()
                .withHangLimit(Duration.ofMillis(800))
                .withSinks((id, sink) -> id.equals("other") ? fault.in(sink) : sink);
        String other;
        try (Emulator second = Emulator.start(vertx, TestBed.fast());
                EngineClient busy = new EngineClient(second.uri())) {
            other = TestBed.yaml(folder.resolve("state"), second.uri(), "backend: dry_run")
                    .lines()
                    .skip(3)
                    .map(line -> line.replace("demo: {", "other: {") + "\n")
                    .collect(Collectors.joining());
            try (Sidecar sidecar = Sidecar.start(
                            vertx,
                            SidecarConfig.parse(yaml(QUICK) + other, "test.yaml"),
                            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                            seams);
                    Http http = new Http(sidecar.uri())) {
                known(http);
                accepted(http, "416M");
                inForce(http, 416);

                fault.isAHang();
                Eventually.see(
                        "the thread hangs",
                        () -> {
                            busy.generate(EngineClient.prompt(++prompts, 64));
                            return http.get("/livez").status();
                        },
                        status -> status == 503);
                accepted(http, "448M");
                inForce(http, 448);
                fault.wake();
                Eventually.see("it lives again", () -> http.get("/livez").status(), status -> status == 200);
                Eventually.see(
                        "both are followed anew",
                        () -> http.get("/readyz").text(),
                        text -> text.contains("held up once") && text.contains("\"ready\":true"));

                accepted(http, "352M");
                JsonObject limit = inForce(http, 352);
                assertThat(limit.getLong("moves")).as("one for each request").isEqualTo(3);
                assertThat(limit.getLong("rollbacks")).isZero();
                Eventually.see(
                        "the readings follow the limit",
                        () -> http.get(ENGINE).json().getJsonObject("readings").getJsonObject("capacityTokens"),
                        read -> read.getString("source", "").endsWith("/ limit at its start"));
            }
        }
        assertThat(now().limitBytes()).isEqualTo(STARTUP + 8);
    }

    /** It is refused for as long as the engine has not answered lately. */
    private static void accepted(Http http, String limit) {
        Eventually.see(
                limit + " is accepted",
                () -> put(http, "{\"limit\":\"" + limit + "\"}").status(),
                status -> status == 200);
    }

    private JsonObject inForce(Http http, long mebibytes) {
        return Eventually.see(
                mebibytes + " MiB are in force",
                () -> {
                    serve();
                    return http.get(LIMIT).json();
                },
                limit -> limit.getString("state").equals("in_force") && limit.getLong("limitBytes") == mebibytes * MIB);
    }

    @Test
    void segmentOfNoEngine_isFollowedByWhoeverListens() throws IOException {
        Path foreign = Path.of("/dev/shm/holdfast-" + UUID.randomUUID());
        Files.write(
                foreign,
                ByteBuffer.allocate(24)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(1024 * MIB)
                        .putLong(256 * MIB)
                        .putLong(0)
                        .array());
        try (Sidecar sidecar = sidecar(QUICK);
                Listening listening = new Listening(sidecar.uri().resolve("/api/v1/overview/stream"));
                Http http = new Http(sidecar.uri())) {
            assertThat(http.get("/api/v1/overview").json().getJsonArray("otherSegments"))
                    .anySatisfy(each -> {
                        JsonObject shown = (JsonObject) each;
                        assertThat(shown.getString("segment")).isEqualTo(foreign.toString());
                        assertThat(shown.getLong("usedBytes")).isEqualTo(256 * MIB);
                        assertThat(shown.getDouble("percent")).isEqualTo(25.0);
                    });
            told(listening, foreign, 1024 * MIB);

            write(foreign, 512 * MIB);

            told(listening, foreign, 512 * MIB);
            Files.delete(foreign);
            Eventually.see(
                    "it is gone",
                    () -> http.get("/api/v1/overview").text(),
                    text -> !text.contains(foreign.toString()));
        } finally {
            boolean _ = Files.deleteIfExists(foreign);
        }
    }

    private static void told(Listening listening, Path foreign, long limit) {
        Eventually.see(
                "the listener is told of " + limit,
                listening::events,
                events -> events.stream()
                        .anyMatch(event -> event.data()
                                .contains("\"segment\":\"" + foreign + "\",\"limitBytes\":" + limit + ",")));
    }

    @Test
    void absentSegment_isSaid_andNotCreated() {
        emulator.close();
        try (Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            assertThat(http.get(LIMIT).json().getString("state")).isEqualTo("unknown");
            assertThat(put(http, "{\"limit\":\"416M\"}").error()).startsWith("There is no segment " + segment);
            assertThat(segment).doesNotExist();
        }
    }

    @Test
    void engineThatIsNotAskedYet_isNotSaidToBeGone() {
        // The logger is the whole process's, and the file is this test's.
        String left = segment + " may be left over from one that was killed.";
        try (HeardLog log = new HeardLog(Limits.class.getName(), Level.WARN);
                Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            known(http);
            assertThat(log.lines).noneMatch(line -> line.endsWith(left));
        }
    }

    @Test
    void segmentOfAKilledEngine_isSaidToBeLeftOver_andStays() throws IOException {
        byte[] left = Files.readAllBytes(segment);
        emulator.close();
        Files.write(segment, left);
        try (HeardLog log = new HeardLog(Limits.class.getName(), Level.WARN);
                Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            JsonObject limit = http.get(LIMIT).json();
            Eventually.see(
                    "it is in the log",
                    () -> log.lines,
                    lines -> lines.stream()
                            .anyMatch(line -> line.endsWith(segment + " may be left over from one that was killed.")));
            assertThat(limit.getString("state")).isEqualTo("observe_only");
            assertThat(limit.getString("why"))
                    .isEqualTo("The engine does not answer, so " + segment
                            + " may be left over from one that was killed.");
        }
        assertThat(Files.readAllBytes(segment)).isEqualTo(left);
    }

    @Test
    void engineWithoutASegment_hasNoLimit() {
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(folder.resolve("other"), emulator.uri(), ""));
                Http http = new Http(sidecar.uri())) {
            assertThat(http.get(LIMIT).status()).isEqualTo(404);
            assertThat(http.get(LIMIT).error()).startsWith("Engine demo has no limit that can be seen");
        }
    }

    @Test
    void killAtAnyMomentOfAMove_leavesASafeLimit_thatTheNextKnows() throws IOException {
        Path config = Files.writeString(folder.resolve("holdfast.yaml"), yaml(QUICK));
        for (int round = 0; round < KILLS; round++) {
            CompletableFuture<Http.Answer> answer;
            try (ChildSidecar child = ChildSidecar.start(config);
                    Http http = new Http(child.uri())) {
                known(http);
                String asked = round % 2 == 0 ? "{\"limit\":\"320M\"}" : "{\"limit\":\"480M\"}";
                // Killed while it is asked, or while it moves.
                answer = CompletableFuture.supplyAsync(() -> put(http, asked))
                        .exceptionally(e -> new Http.Answer(0, ""));
                serve();
                if (round % 2 == 1) {
                    Eventually.see(
                            "it moves",
                            () -> {
                                serve();
                                return now().limitBytes();
                            },
                            bytes -> bytes > 416 * MIB || bytes == 320 * MIB);
                }
            }
            Http.Answer _ = answer.join();
            Segment left = now();
            assertThat(left.limitBytes()).isLessThanOrEqualTo(STARTUP + 8).isGreaterThanOrEqualTo(176 * MIB);
            assertThat(left.limitBytes()).isGreaterThan(left.usedBytes() + left.preallocatedBytes());
        }
        try (Sidecar sidecar = sidecar(QUICK);
                Http http = new Http(sidecar.uri())) {
            known(http);
            assertThat(http.get(LIMIT).json().getString("state")).isNotEqualTo("stopped");
            assertThat(http.delete(LIMIT).status()).isEqualTo(200);
            Eventually.see(
                    "it is restored",
                    () -> {
                        serve();
                        return now().limitBytes();
                    },
                    bytes -> bytes >= STARTUP);
        }
    }
}
