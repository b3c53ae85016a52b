package io.holdfast.sidecar.http;

import io.holdfast.core.EngineView;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.reading.Reading;
import io.holdfast.evidence.Interval;
import io.holdfast.kvcached.LimitView;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.view.ApiJson;
import io.holdfast.sidecar.view.DecisionLog;
import io.holdfast.sidecar.view.EngineOverview;
import io.holdfast.sidecar.view.Overview;
import io.holdfast.sidecar.view.Verdict;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** The page's own routes with what an overview says of engines that nobody runs: states that would take hours to come about. */
public final class CannedPage implements AutoCloseable {
    private static final Instant NOON = Instant.parse("2026-11-25T12:00:00Z");

    private final Vertx vertx = Vertx.vertx();
    private final EventStreams streams;
    private volatile List<EngineOverview> engines;
    private volatile List<JsonObject> segments = List.of();
    public final URI uri;

    public CannedPage(List<EngineOverview> shown) {
        engines = shown;
        streams =
                new EventStreams(vertx, new ConnectionGuard(HttpLimits.defaults(), System::nanoTime), System::nanoTime);
        Router router = Router.router(vertx);
        new PageRoutes((context, type, text) ->
                        context.response().putHeader("content-type", type).end(text))
                .addTo(router);
        router.get("/api/v1/fleet")
                .handler(context -> context.response()
                        .putHeader("content-type", "application/json")
                        .end("{\"store\":\"none\",\"cells\":[]}"));
        router.get("/api/v1/overview/stream").handler(context -> {
            String asked = Optional.ofNullable(context.request().getParam("engine"))
                    .orElse(overview().engines().getFirst().id());
            String[] told = {""};
            streams.open(context, () -> {
                String text = text(asked);
                if (text.equals(told[0])) {
                    return Optional.empty();
                }
                told[0] = text;
                return Optional.of(EventStreams.event(
                        "overview", Optional.empty(), overview().document(text)));
            });
        });
        HttpServer server =
                vertx.createHttpServer(HttpApi.serverOptions("127.0.0.1", 0)).requestHandler(router);
        server.listen().toCompletionStage().toCompletableFuture().join();
        uri = URI.create("http://127.0.0.1:" + server.actualPort() + "/");
    }

    /** Other engines from now on, which whoever listens is told. */
    public void become(List<EngineOverview> shown) {
        engines = shown;
        streams.tell();
    }

    /** kvcached segments that none of the engines has, from now on. */
    public void beside(List<JsonObject> others) {
        segments = others;
        streams.tell();
    }

    private Overview overview() {
        return Overview.of(NOON, engines, segments, Map.of(), new DecisionLog(1, InstantSource.fixed(NOON)));
    }

    private String text(String asked) {
        EngineOverview engine = engines.stream()
                .filter(each -> each.id().equals(asked))
                .findFirst()
                .orElseThrow();
        return overview().text("", true).replaceFirst("null}$", detail(engine).encode() + "}");
    }

    /** An engine with this effect. */
    static EngineOverview engine(String id, TtftEffect.State state, double percent, double low, double high) {
        boolean known = state != TtftEffect.State.UNPROVEN || percent != 0;
        TtftEffect effect = new TtftEffect(
                state,
                known ? 64 : 6,
                known ? OptionalDouble.of(percent) : OptionalDouble.empty(),
                known ? Optional.of(new Interval(low, high)) : Optional.empty(),
                switch (state) {
                    case PROVEN -> "automatic holds shorten time to first token, over 16 rounds of four windows";
                    case HARMFUL -> "automatic holds lengthen time to first token, so they were let go";
                    case NO_BENEFIT ->
                        "automatic holds change time to first token by less than 3 %, so they were let go";
                    case UNPROVEN -> "measuring: 1 of at least 4 rounds of four windows are complete";
                },
                OptionalDouble.empty(),
                Optional.empty(),
                Duration.ZERO,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty(),
                Optional.empty());
        boolean holds = state == TtftEffect.State.PROVEN || state == TtftEffect.State.UNPROVEN;
        return new EngineOverview(
                id,
                "http://10.0.3.7:30000",
                false,
                new EngineView.Automatic(true, "automatic holds are on (automaticHolds: true)"),
                Optional.empty(),
                Verdict.of(effect),
                effect,
                List.of(),
                List.of(),
                Optional.empty(),
                0,
                holds ? new EngineOverview.HoldCounts(6, 1, 0, 41_216) : new EngineOverview.HoldCounts(0, 0, 0, 0),
                new EngineOverview.Pressure(
                        known(262_144),
                        known(118_340),
                        known(61_440),
                        known(118_784),
                        known(196_608),
                        known(104_857),
                        known(48),
                        known(91),
                        known(0.53),
                        known(14),
                        known(0)),
                new EngineOverview.Hits(
                        Duration.ofMinutes(10),
                        known(1_842_000),
                        known(holds ? 1_131_000 : 640_000),
                        known(holds ? 0.614 : 0.347),
                        known(holds ? 90.5 : 51.2),
                        known(2_114),
                        known(holds ? 40 : 902),
                        known(holds ? 21 : 302),
                        known(733),
                        known(97),
                        known(holds ? 3_005 : 4_148)),
                holds
                        ? new EngineOverview.Saved(known(0.172), known(316_824))
                        : new EngineOverview.Saved(
                                Reading.unknown("not simulated: automatic holds are released"),
                                Reading.unknown("not simulated: automatic holds are released")),
                Optional.empty(),
                Optional.empty(),
                state == TtftEffect.State.UNPROVEN ? Optional.of(effect.reason()) : Optional.empty());
    }

    public static EngineOverview helping(String id) {
        return engine(id, TtftEffect.State.PROVEN, -18.1, -23.9, -12.0);
    }

    public static EngineOverview harming(String id) {
        return engine(id, TtftEffect.State.HARMFUL, 7.4, 2.2, 12.9);
    }

    public static EngineOverview idle(String id) {
        return engine(id, TtftEffect.State.NO_BENEFIT, -0.4, -1.9, 1.1);
    }

    public static EngineOverview untold(String id) {
        return engine(id, TtftEffect.State.UNPROVEN, 0, 0, 0);
    }

    /** The same under kvcached. */
    public static EngineOverview underKvcached(EngineOverview engine) {
        long gib = 1L << 30;
        return new EngineOverview(
                engine.id(),
                engine.url(),
                engine.dryRun(),
                engine.automatic(),
                engine.waiting(),
                engine.verdict(),
                engine.effect(),
                engine.unready(),
                engine.notes(),
                engine.paused(),
                engine.alarms(),
                engine.holds(),
                engine.pressure(),
                engine.hits(),
                engine.saved(),
                Optional.of(new LimitView(
                        LimitView.State.IN_FORCE,
                        "The engine follows the limit.",
                        Optional.of(new Segment(24 * gib, 15 * gib, 3 * gib)),
                        OptionalLong.of(32 * gib),
                        OptionalLong.empty(),
                        OptionalLong.empty(),
                        OptionalLong.empty(),
                        2,
                        0,
                        0,
                        0)),
                engine.conditions(),
                engine.needs());
    }

    /** So many engines of all four kinds. */
    public static List<EngineOverview> fleet(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> {
                    String id = String.format("gpu-%02d", i);
                    return i % 23 == 7 ? harming(id) : i % 11 == 3 ? untold(id) : i % 5 == 1 ? idle(id) : helping(id);
                })
                .toList();
    }

    private static Reading known(double value) {
        return Reading.known(value, "as written", 0);
    }

    private static JsonObject detail(EngineOverview engine) {
        boolean holds = engine.holds().held() > 0;
        return new JsonObject()
                .put("id", engine.id())
                .put("reasons", new JsonArray(engine.unready()))
                .put("notes", new JsonArray(engine.notes()))
                .put("certain", true)
                .put("certainty", "every event since the cache was empty was seen")
                .put("backend", "session_hold")
                .put("history", history(engine.effect()))
                .put("cachedShares", shares(holds))
                .put(
                        "budgetTerms",
                        ApiJson.array(List.of(
                                new JsonObject()
                                        .put("name", "hard guard")
                                        .put("tokens", 196_608)
                                        .put("why", "capacity 262144 - largest request 61440 - slack 4096 = 196608"),
                                new JsonObject()
                                        .put("name", "operator's share")
                                        .put("tokens", 131_072)
                                        .put("why", "share 0.5 of the capacity 262144 = 131072"))))
                .put("holdCount", holds ? 7 : 0)
                .put("holds", holds ? holds(engine.id()) : new JsonArray())
                .put(
                        "prefixes",
                        new JsonObject()
                                .put("shared", 41)
                                .put("worthHolding", 3)
                                .put(
                                        "prefixes",
                                        new JsonArray()
                                                .add(prefix("9f31c2aa77d01e54", 12_288, 4_211, 63, holds))
                                                .add(prefix("41bb90e1c6f2a370", 8_192, 1_907, 41, holds))
                                                .add(prefix("d7720c5be1894f06", 2_048, 640, 12, false))))
                .put("decisions", decisions(holds));
    }

    private static JsonArray history(TtftEffect effect) {
        JsonArray history = new JsonArray();
        if (effect.effectPercent().isEmpty()) {
            return history;
        }
        SplittableRandom random = new SplittableRandom(7);
        double last = effect.effectPercent().getAsDouble();
        double half = (effect.interval95Percent().orElseThrow().high()
                        - effect.interval95Percent().orElseThrow().low())
                / 2;
        int points = 60;
        for (int i = 0; i < points; i++) {
            double early = 1.0 - (i + 1.0) / points;
            double at = last * (1 - 0.5 * early) + (random.nextDouble() - 0.5) * 6 * early;
            double wide = half * (1 + 3 * early * early);
            history.add(new JsonObject()
                    .put("at", NOON.minusSeconds((points - i) * 120L).toString())
                    .put("state", "proven")
                    .put("windows", i + 4)
                    .put("effectPercent", at)
                    .put("interval95Percent", JsonArray.of(at - wide, at + wide)));
        }
        return history;
    }

    private static JsonArray shares(boolean holds) {
        SplittableRandom random = new SplittableRandom(11);
        JsonArray shares = new JsonArray();
        for (int i = 0; i < 59; i++) {
            shares.add(new JsonObject()
                    .put("at", NOON.minusSeconds(10L * (59 - i)).toString())
                    .put("share", (holds ? 0.55 + 0.001 * i : 0.35) + 0.08 * random.nextDouble()));
        }
        return shares;
    }

    private static JsonArray holds(String engine) {
        List<JsonObject> holds = new ArrayList<>();
        String[] names = {"rules", "tools-v3", "", "", "", "", ""};
        int[] tokens = {12_288, 8_192, 8_192, 6_144, 4_096, 2_304, 0};
        for (int i = 0; i < names.length; i++) {
            boolean held = tokens[i] > 0;
            JsonObject hold = new JsonObject()
                    .put("id", Integer.toString(31 + i))
                    .put("engine", engine)
                    .put("origin", i < 2 ? "requested" : "automatic")
                    .put("state", held ? "held" : "requested")
                    .put("wantedBlocks", 128)
                    .put("heldBlocks", tokens[i] / 16)
                    .put("heldTokens", tokens[i])
                    .put("beyondTokens", 0)
                    .put("leaseSeconds", 240 + 60 * i)
                    .put(
                            "reason",
                            i < 2
                                    ? "requested; the whole prefix is in the cache"
                                    : held
                                            ? "shared by " + (1_900 - 211 * i) + " requests and lost " + (40 - 4 * i)
                                                    + " times"
                                            : "worth a hold, and not in the cache now: it is pinned when it is stored"
                                                    + " again");
            holds.add(names[i].isEmpty() ? hold : hold.put("name", names[i]));
        }
        return ApiJson.array(holds);
    }

    private static JsonObject prefix(String id, long tokens, long requests, long lost, boolean held) {
        return new JsonObject()
                .put("id", id)
                .put("tokens", tokens)
                .put("requests", requests)
                .put("timesLost", lost)
                .put("recomputedTokens", tokens * lost)
                .put("cached", held)
                .put("held", held)
                .put("why", held ? "held: it is shared and was lost" : "no room for it among automatic holds");
    }

    private static JsonArray decisions(boolean holds) {
        JsonArray decisions = new JsonArray();
        for (int i = 0; i < 8; i++) {
            boolean released = i % 3 == 2 || !holds;
            decisions.add(new JsonObject()
                    .put("id", Integer.toString(900 - i))
                    .put("at", NOON.minusSeconds(17L * i + 3).toString())
                    .put("about", i == 4 ? "prefix" : "hold")
                    .put("what", i == 4 ? "wait" : released ? "released" : "held")
                    .put("hold", Integer.toString(37 - i))
                    .put("blocks", 128)
                    .put(
                            "reason",
                            i == 4
                                    ? "worth a hold, and not in the cache now: it is pinned when it is stored again"
                                    : released
                                            ? "not touched within the lease of automatic holds"
                                            : "shared by " + (1_200 - 90 * i) + " requests and lost 12 times"));
        }
        return decisions;
    }

    @Override
    public void close() {
        streams.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
