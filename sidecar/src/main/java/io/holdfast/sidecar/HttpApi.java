package io.holdfast.sidecar;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.PrefixResolver.Resolved;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP API: holds and engines as JSON, liveness, readiness, metrics.
 *
 * <p>No handler waits: what a controller will answer later is awaited as a future, what costs time (a long prompt's
 * names, an engine's JSON, a scrape) runs on a few threads of its own. Every refusal is {@code {"error": one sentence}}.
 */
final class HttpApi implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HttpApi.class);
    static final int OUTCOME_SECONDS = 2;
    private static final int RESOLVE_SECONDS = 15;
    /** Longer than a controller that hangs may stay in office. */
    private static final int UNPIN_SECONDS = 20;

    private static final int SWEEP_MILLIS = 250;
    /** What is made of a body takes several times its bytes for a moment, so only a few are made at once. */
    private static final int WORKERS = 2;

    private static final String JSON = "application/json";
    private static final Pattern BAD_ESCAPE = Pattern.compile("%(?![0-9A-Fa-f]{2})");

    private final Vertx vertx;
    private final Access access;
    private final ConnectionGuard guard;
    private final Map<String, EngineLink> engines;
    private final EventThread thread;
    private final PrometheusMeterRegistry registry;
    private final BooleanSupplier closing;
    private final Operations operations;
    private final RequestBodies bodies;
    private final ByteQuota answers;
    private final WorkerExecutor workers;
    private OptionalLong sweeping = OptionalLong.empty();

    HttpApi(
            Vertx vertx,
            Access access,
            HttpLimits limits,
            LongSupplier clock,
            Map<String, EngineLink> engines,
            EventThread thread,
            PrometheusMeterRegistry registry,
            BooleanSupplier closing,
            Operations operations) {
        this.vertx = vertx;
        this.access = access;
        this.guard = new ConnectionGuard(limits, clock);
        this.engines = engines;
        this.thread = thread;
        this.registry = registry;
        this.closing = closing;
        this.operations = operations;
        this.bodies = new RequestBodies(limits, guard);
        this.answers = new ByteQuota(limits.answersBytes());
        this.workers = vertx.createSharedWorkerExecutor("holdfast-api", WORKERS);
    }

    /** What a server needs to be a door for this API: HTTP/1.1 alone, and as much of a head as fits a few lines. */
    static HttpServerOptions serverOptions(String host, int port) {
        return new HttpServerOptions()
                .setHost(host)
                .setPort(port)
                .setHttp2ClearTextEnabled(false)
                .setMaxInitialLineLength(4096)
                .setMaxHeaderSize(8192);
    }

    /** Has the server, which does not listen yet, answer for this API. */
    void serve(HttpServer server) {
        Router router = router();
        server.connectionHandler(guard::opened).requestHandler(request -> {
            if (!guard.began(request)) {
                return;
            }
            if (BAD_ESCAPE.matcher(String.valueOf(request.path())).find()) {
                // The router would take it for a fault of its own.
                send(
                        request,
                        400,
                        JSON,
                        ApiJson.error("The path has a % that no two hexadecimal digits follow; escape it as %25.")
                                .toBuffer());
            } else {
                router.handle(request);
            }
        });
        sweeping = OptionalLong.of(vertx.setPeriodic(SWEEP_MILLIS, timer -> guard.sweep()));
    }

    @Override
    public void close() {
        sweeping.ifPresent(vertx::cancelTimer);
        workers.close();
    }

    private Router router() {
        Router router = Router.router(vertx);
        router.route().failureHandler(this::fail).handler(this::admit);
        router.get("/livez").handler(this::live);
        router.get("/healthz").handler(this::live);
        router.get("/readyz").handler(this::ready);
        router.get("/metrics").handler(this::metrics);
        router.get("/api/v1/engines").handler(this::listEngines);
        router.get("/api/v1/engines/:engine").handler(this::showEngine);
        router.post("/api/v1/engines/:engine/resume").handler(this::resume);
        router.post("/api/v1/engines/:engine/holds").handler(this::hold);
        router.get("/api/v1/engines/:engine/holds").handler(this::listHolds);
        router.delete("/api/v1/engines/:engine/holds").handler(this::releaseAll);
        router.get("/api/v1/engines/:engine/holds/:hold").handler(this::showHold);
        router.delete("/api/v1/engines/:engine/holds/:hold").handler(this::release);
        new OperationRoutes(this, operations, workers).addTo(router);
        new LeaseRoutes(this, bodies, workers).addTo(router);
        new ExampleRoutes(this).addTo(router);
        new LimitRoutes(this, bodies).addTo(router);
        new PrefixRoutes(this, access, bodies, workers).addTo(router);
        for (int status : new int[] {400, 404, 405, 500}) {
            router.errorHandler(status, this::fail);
        }
        return router;
    }

    private void admit(RoutingContext context) {
        access.check(context.request(), context.normalizedPath());
        context.next();
    }

    private void live(RoutingContext context) {
        // A thread that has ended because the sidecar closes is no fault, and a restart would mend nothing.
        Optional<String> fault = closing.getAsBoolean() ? Optional.empty() : thread.fault();
        reply(
                context,
                fault.isEmpty() ? 200 : 503,
                fault.map(ApiJson::error).orElseGet(() -> new JsonObject().put("live", true)));
    }

    private void ready(RoutingContext context) {
        List<String> reasons = new ArrayList<>();
        if (closing.getAsBoolean()) {
            reasons.add("the sidecar is shutting down");
        }
        boolean mayRead = access.mayRead(context.request());
        List<String> notes = new ArrayList<>(mayRead ? operations.notes() : List.of());
        for (EngineLink engine : engines.values()) {
            List<String> why = engine.unreadiness();
            if (mayRead) {
                why.forEach(reason -> reasons.add("engine " + engine.id() + ": " + reason));
                engine.notes().forEach(note -> notes.add("engine " + engine.id() + ": " + note));
            } else if (!why.isEmpty()) {
                reasons.add("an engine is not ready; whoever may read can read why");
            }
        }
        reply(
                context,
                reasons.isEmpty() ? 200 : 503,
                new JsonObject()
                        .put("ready", reasons.isEmpty())
                        .put("reasons", new JsonArray(reasons))
                        .put("notes", new JsonArray(notes)));
    }

    private void metrics(RoutingContext context) {
        show(context, "text/plain; version=0.0.4; charset=utf-8", () -> Buffer.buffer(registry.scrape()));
    }

    private void listEngines(RoutingContext context) {
        boolean why = access.mayAct(context.request());
        show(
                context,
                () -> new JsonObject()
                        .put(
                                "engines",
                                ApiJson.array(engines.values().stream()
                                        .map(engine -> engine.json(why))
                                        .toList()))
                        .put("otherSegments", ApiJson.array(otherSegments())));
    }

    /** Segments of this host that no engine is configured for: those of engines to be added, or left over from killed ones. */
    private List<JsonObject> otherSegments() {
        Set<Path> known = engines.values().stream()
                .flatMap(engine -> engine.limit().stream())
                .map(EngineLimit::file)
                .collect(Collectors.toSet());
        return SegmentReader.find(SegmentReader.directory()).stream()
                .filter(file -> !known.contains(file))
                .flatMap(file -> SegmentReader.read(file) instanceof Segment segment
                        ? Stream.of(ApiJson.segment(file, segment))
                        : Stream.empty())
                .toList();
    }

    private void showEngine(RoutingContext context) {
        EngineLink engine = engine(context);
        boolean why = access.mayAct(context.request());
        show(context, () -> engine.json(why));
    }

    private void listHolds(RoutingContext context) {
        EngineLink engine = engine(context);
        boolean why = access.mayAct(context.request());
        show(context, () -> new JsonObject().put("holds", engine.holdsJson(why)));
    }

    private void showHold(RoutingContext context) {
        EngineLink engine = engine(context);
        long id = holdId(context);
        HoldView hold = engine.holds().stream()
                .filter(each -> each.id() == id)
                .findFirst()
                .orElseThrow(() -> noSuchHold(context));
        reply(context, 200, engine.holdJson(hold, access.mayAct(context.request())));
    }

    private void show(RoutingContext context, Supplier<JsonObject> json) {
        show(context, JSON, () -> json.get().toBuffer());
    }

    /** What is large is made away from the event loop. */
    private void show(RoutingContext context, String type, Callable<Buffer> text) {
        workers.executeBlocking(text, false)
                .onSuccess(made -> send(context, 200, type, made))
                .onFailure(context::fail);
    }

    private void hold(RoutingContext context) {
        EngineLink engine = engine(context);
        if (closing.getAsBoolean()) {
            throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
        }
        requireJson(context.request());
        bodies.receive(context.request())
                .onSuccess(body -> hold(context, engine, body))
                .onFailure(context::fail);
    }

    private void hold(RoutingContext context, EngineLink engine, RequestBodies.Body body) {
        workers.executeBlocking(() -> HoldBody.parse(body.bytes(), engine.mostBlocks()), false)
                .compose(asked -> resolved(engine, asked.source(), asked.lease())
                        .map(resolved -> {
                            body.becomes((long) resolved.request().blocks() * Long.BYTES);
                            return resolved;
                        })
                        .compose(resolved -> firstOutcome(engine, asked.asked(resolved.request()), body)
                                .compose(hold -> kept(engine, hold, asked, resolved)
                                        .onSuccess(json -> replyHeld(context, engine, hold, json)))))
                .onFailure(refused -> body.close())
                .onFailure(context::fail);
    }

    Future<Resolved> resolved(EngineLink engine, PrefixSource source, Lease lease) {
        return await(
                engine.prefixes().resolve(source, lease),
                RESOLVE_SECONDS,
                "The engine did not say within " + RESOLVE_SECONDS
                        + " s which tokens it makes of the prefix; ask again when it answers.");
    }

    /** A hold that is not refused is answered when it would outlive this process, or is known not to. */
    private Future<JsonObject> kept(EngineLink engine, HoldView hold, HoldBody asked, Resolved resolved) {
        JsonObject json = ApiJson.hold(engine.id(), hold, true);
        resolved.droppedTokens().ifPresent(dropped -> json.put("droppedTokens", dropped));
        if (asked.lease().refreshOnHit()) {
            json.put("note", LeaseRoutes.UNSEEN);
        }
        return hold.state() == HoldState.RELEASED
                ? Future.succeededFuture(json)
                : await(
                                engine.lasting().keep(hold, asked.source(), asked.asked(resolved.request())),
                                OUTCOME_SECONDS,
                                "The state directory is not written in time.")
                        .otherwise(false)
                        .map(written -> written ? json : note(json, LeaseRoutes.NOT_WRITTEN));
    }

    static JsonObject note(JsonObject json, String sentence) {
        String before = json.getString("note");
        return json.put("note", before == null ? sentence : before + " " + sentence);
    }

    static String controllerSilent(EngineLink engine) {
        return "The controller of engine " + engine.id() + " gave no answer within " + OUTCOME_SECONDS
                + " s; /livez says whether it runs.";
    }

    static void requireJson(HttpServerRequest request) {
        String type = request.getHeader("Content-Type");
        String media = type == null ? "" : type.split(";", 2)[0].strip();
        if (!media.equalsIgnoreCase(JSON)) {
            throw new ApiError(
                    415,
                    "The body must be JSON and say so, and its type is " + ConfigException.shown(media)
                            + "; add -H 'Content-Type: application/json'.");
        }
    }

    private void resume(RoutingContext context) {
        EngineLink engine = engine(context);
        await(engine.resume(), OUTCOME_SECONDS, controllerSilent(engine))
                .onSuccess(was -> reply(context, 200, new JsonObject().put("resumed", was)))
                .onFailure(context::fail);
    }

    /** The caller of a hold that comes too late does not know its id, so nothing may be left of it. */
    private Future<HoldView> firstOutcome(EngineLink engine, HoldRequest request, RequestBodies.Body body) {
        CompletionStage<HoldView> outcome = engine.hold(request);
        // Until the controller took it the request is in a queue, and counts.
        outcome.whenComplete((hold, refusal) -> body.close());
        return await(
                        outcome,
                        OUTCOME_SECONDS,
                        "The engine gave no outcome within " + OUTCOME_SECONDS
                                + " s, so the hold is withdrawn; ask again when the engine answers.")
                .onFailure(late -> {
                    // Who has a name need not know the id: it asks again, and may have had a part in it before.
                    if (request.requester().isEmpty()) {
                        outcome.thenCompose(hold -> engine.release(hold.id()));
                    }
                });
    }

    private void replyHeld(RoutingContext context, EngineLink engine, HoldView hold, JsonObject json) {
        switch (hold.state()) {
            case RELEASED, EXPIRING -> reply(context, 409, ApiJson.error(hold.reason()));
            case REQUESTED, HELD, LOST -> {
                context.response().putHeader("location", "/api/v1/engines/" + engine.id() + "/holds/" + hold.id());
                reply(context, hold.timesAsked() == 1 ? 201 : 200, json);
            }
        }
    }

    private void release(RoutingContext context) {
        EngineLink engine = engine(context);
        long id = holdId(context);
        Optional<String> requester = requester(context);
        await(
                        requester.map(name -> engine.leave(id, name)).orElseGet(() -> engine.release(id)),
                        UNPIN_SECONDS,
                        unanswered(engine))
                .onSuccess(released -> released.ifPresentOrElse(
                        hold -> replyReleased(context, engine, hold),
                        () -> context.fail(noSuchHold(context, requester))))
                .onFailure(context::fail);
    }

    /** For whom a hold is released, where the request says so. */
    private static Optional<String> requester(RoutingContext context) {
        return Optional.ofNullable(context.request().getParam("requester")).map(LeaseFields::requester);
    }

    private void replyReleased(RoutingContext context, EngineLink engine, HoldView hold) {
        if (hold.state() == HoldState.EXPIRING) {
            context.fail(new ApiError(503, refused(engine, hold)));
        } else {
            reply(context, 200, engine.holdJson(hold, true));
        }
    }

    /** The hold's own reason says whether its unpin is repeated; there are unpins that never are. */
    private static String refused(EngineLink engine, HoldView hold) {
        return "Hold " + hold.id() + " is not released (" + hold.reason() + "); "
                + (engine.endsByItself(hold.id()) ? "it ends by itself." : "the ledger keeps it until it is.");
    }

    /** Where the controller runs, it asks on by itself; where it does not, nobody does. */
    private String unanswered(EngineLink engine) {
        String fault = thread.fault(engine.controller());
        return fault.isEmpty()
                ? "The engine has not let go within " + UNPIN_SECONDS + " s; it is asked again until it does."
                : "The engine has not let go within " + UNPIN_SECONDS + " s and is not asked again (" + fault
                        + "); the ledger keeps what is pinned for the next start.";
    }

    private void releaseAll(RoutingContext context) {
        EngineLink engine = engine(context);
        String path = String.valueOf(context.request().path());
        if (!path.endsWith("/holds")) {
            // The path of one hold with its id left out must not be the call that releases all.
            throw new ApiError(
                    404,
                    "There is nothing at " + ConfigException.shown(path)
                            + "; a hold's id is missing, or what is behind /holds is to go.");
        }
        if (context.request().getParam("requester") != null) {
            throw ApiError.badRequest(
                    "This call releases the holds of everybody, and has a requester; say which hold is"
                            + " released for it: DELETE …/holds/N?requester=….");
        }
        await(engine.releaseAll(), UNPIN_SECONDS, unanswered(engine))
                .compose(done -> pauseWritten(engine)
                        .onSuccess(written -> replyReleased(context, engine, done, written))
                        .mapEmpty())
                .onFailure(context::fail);
    }

    /** Releasing waits for no disk; what is said of the pause does, for a moment. */
    private Future<Boolean> pauseWritten(EngineLink engine) {
        return await(engine.pauseWritten(), OUTCOME_SECONDS, "The ledger is not written in time.")
                .otherwise(false);
    }

    private void replyReleased(RoutingContext context, EngineLink engine, Released done, boolean pauseWritten) {
        JsonObject body = new JsonObject()
                .put("released", done.released())
                .put("pending", done.pending())
                .put("paused", true);
        if (!pauseWritten) {
            body.put("note", "The pause is not in the ledger yet, so that a restart of the sidecar would end it.");
        }
        engine.unreleasable().ifPresent(why -> body.put("unreleasable", why + "."));
        reply(context, done.pending() > 0 ? 503 : 200, body);
    }

    <T> Future<T> await(CompletionStage<T> stage, int seconds, String late) {
        return Future.fromCompletionStage(stage, vertx.getOrCreateContext())
                .timeout(seconds, TimeUnit.SECONDS)
                .recover(cause -> Future.failedFuture(
                        switch (cause instanceof CompletionException && cause.getCause() != null
                                ? cause.getCause()
                                : cause) {
                            case TimeoutException slow -> new ApiError(503, late);
                            case RejectedExecutionException full ->
                                new ApiError(503, String.valueOf(full.getMessage()));
                            case IllegalArgumentException never ->
                                new ApiError(409, String.valueOf(never.getMessage()));
                            case Throwable other -> other;
                        }));
    }

    EngineLink engine(RoutingContext context) {
        String id = parameter(context, "engine");
        EngineLink engine = engines.get(id);
        if (engine == null) {
            throw new ApiError(
                    404,
                    "There is no engine " + ConfigException.shown(id) + "; known are "
                            + String.join(", ", engines.keySet()) + ".");
        }
        return engine;
    }

    static String parameter(RoutingContext context, String name) {
        return String.valueOf(context.pathParam(name));
    }

    static long holdId(RoutingContext context) {
        try {
            return Long.parseLong(parameter(context, "hold"));
        } catch (NumberFormatException e) {
            throw noSuchHold(context);
        }
    }

    private static ApiError noSuchHold(RoutingContext context) {
        return noSuchHold(context, Optional.empty());
    }

    static ApiError noSuchHold(RoutingContext context, Optional<String> requester) {
        return new ApiError(
                404,
                "Engine " + parameter(context, "engine") + " has no hold "
                        + ConfigException.shown(parameter(context, "hold"))
                        + requester
                                .map(name -> " that requester " + ConfigException.shown(name) + " wants")
                                .orElse("")
                        + ".");
    }

    private void fail(RoutingContext context) {
        Throwable cause = context.failure();
        if (cause instanceof RequestBodies.HungUp || cause instanceof HttpClosedException) {
            LOG.debug("A client hung up before it was answered.");
        } else if (cause instanceof ApiError error) {
            if (error.status() == 401) {
                context.response().putHeader("www-authenticate", "Bearer");
            }
            reply(context, error.status(), ApiJson.error(error.sentence()));
        } else if (cause instanceof RejectedExecutionException full) {
            reply(context, 503, ApiJson.error(String.valueOf(full.getMessage())));
        } else if (context.statusCode() >= 400 && context.statusCode() < 500) {
            reply(context, context.statusCode(), ApiJson.error(refusal(context)));
        } else {
            LOG.error(
                    "{} {} failed.",
                    Metrics.method(context.request().method().name()),
                    ConfigException.shown(String.valueOf(context.request().path())),
                    cause);
            // What failed may quote what it failed at: that is for the log alone.
            reply(context, 500, ApiJson.error("The sidecar failed at this request; its log says where."));
        }
    }

    private static String refusal(RoutingContext context) {
        String path = ConfigException.shown(String.valueOf(context.request().path()));
        return switch (context.statusCode()) {
            case 404 -> "There is nothing at " + path + ".";
            case 405 ->
                path + " does not take "
                        + Metrics.method(context.request().method().name()) + ".";
            default -> "The request is malformed (status " + context.statusCode() + ").";
        };
    }

    void reply(RoutingContext context, int status, JsonObject body) {
        send(context, status, JSON, body.toBuffer());
    }

    private void send(RoutingContext context, int status, String type, Buffer text) {
        send(context.request(), status, type, text);
    }

    private void send(HttpServerRequest request, int status, String type, Buffer text) {
        HttpServerResponse response = request.response();
        if (response.ended() || response.closed()) {
            return;
        }
        boolean room = answers.take(text.length());
        Buffer sent = room
                ? text
                : ApiJson.error("Too many answers wait to be read by their clients; ask again later.")
                        .toBuffer();
        Future<Void> written = response.setStatusCode(room ? status : 503)
                .putHeader("content-type", room ? type : JSON)
                .end(sent);
        guard.answering(request, sent.length(), written);
        if (room) {
            written.onComplete(done -> answers.give(text.length()));
        }
    }
}
