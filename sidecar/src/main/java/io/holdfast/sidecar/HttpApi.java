package io.holdfast.sidecar;

import io.holdfast.core.HoldRequest;
import io.holdfast.core.HoldState;
import io.holdfast.core.HoldView;
import io.holdfast.sidecar.SidecarConfig.Listen;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.HostAndPort;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP API: holds and engines as JSON, liveness, readiness, metrics.
 *
 * <p>No handler waits: what a controller will answer later is awaited as a future, what costs time (a long prompt's
 * names, a scrape) runs on Vert.x's workers. Every refusal is {@code {"error": one sentence}}.
 */
final class HttpApi {
    private static final Logger LOG = LoggerFactory.getLogger(HttpApi.class);
    private static final long MOST_BODY_BYTES = 8 << 20;
    private static final int OUTCOME_SECONDS = 2;
    /** Longer than a controller that hangs may stay in office. */
    private static final int UNPIN_SECONDS = 15;

    private final Vertx vertx;
    private final Listen listen;
    private final Map<String, EngineLink> engines;
    private final EventThread thread;
    private final PrometheusMeterRegistry registry;
    private final BooleanSupplier closing;

    HttpApi(
            Vertx vertx,
            Listen listen,
            Map<String, EngineLink> engines,
            EventThread thread,
            PrometheusMeterRegistry registry,
            BooleanSupplier closing) {
        this.vertx = vertx;
        this.listen = listen;
        this.engines = engines;
        this.thread = thread;
        this.registry = registry;
        this.closing = closing;
    }

    Router router() {
        Router router = Router.router(vertx);
        router.route()
                .failureHandler(this::fail)
                .handler(this::refuseForeignNames)
                .handler(HttpApi::refuseForeignPages);
        router.get("/livez").handler(this::live);
        router.get("/readyz").handler(this::ready);
        router.get("/metrics").handler(this::metrics);
        router.get("/api/v1/engines").handler(this::listEngines);
        router.get("/api/v1/engines/:engine").handler(this::showEngine);
        router.post("/api/v1/engines/:engine/holds")
                .handler(BodyHandler.create(false).setBodyLimit(MOST_BODY_BYTES))
                .handler(this::hold);
        router.post("/api/v1/engines/:engine/resume").handler(this::resume);
        router.get("/api/v1/engines/:engine/holds").handler(this::listHolds);
        router.delete("/api/v1/engines/:engine/holds").handler(this::releaseAll);
        router.get("/api/v1/engines/:engine/holds/:hold").handler(this::showHold);
        router.delete("/api/v1/engines/:engine/holds/:hold").handler(this::release);
        for (int status : new int[] {400, 404, 405, 413, 500}) {
            router.errorHandler(status, this::fail);
        }
        return router;
    }

    /** A page from elsewhere whose name was made to lead here counts as ours to a browser: only the name itself tells. */
    private void refuseForeignNames(RoutingContext context) {
        HostAndPort asked = context.request().authority();
        if (!listen.loopback() || (asked != null && Listen.isLoopback(asked.host()))) {
            context.next();
        } else {
            context.fail(
                    new ApiError(403, "This API listens on the loopback address: ask for localhost or 127.0.0.1."));
        }
    }

    /** A web page from elsewhere may make a browser on this machine send requests here; none of them is meant. */
    private static void refuseForeignPages(RoutingContext context) {
        String origin = context.request().getHeader("Origin");
        if (origin == null || sameHost(origin, context.request())) {
            context.next();
        } else {
            context.fail(new ApiError(403, "Pages of other sites may not use this API."));
        }
    }

    private static boolean sameHost(String origin, HttpServerRequest request) {
        try {
            String host = request.getHeader("Host");
            return host != null && host.equals(new URI(origin).getRawAuthority());
        } catch (URISyntaxException e) {
            return false;
        }
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
        engines.values()
                .forEach(engine ->
                        engine.unreadiness().forEach(reason -> reasons.add("engine " + engine.id() + ": " + reason)));
        List<String> notes = new ArrayList<>();
        engines.values()
                .forEach(engine -> engine.notes().forEach(note -> notes.add("engine " + engine.id() + ": " + note)));
        reply(
                context,
                reasons.isEmpty() ? 200 : 503,
                new JsonObject()
                        .put("ready", reasons.isEmpty())
                        .put("reasons", new JsonArray(reasons))
                        .put("notes", new JsonArray(notes)));
    }

    private void metrics(RoutingContext context) {
        vertx.executeBlocking(registry::scrape, false)
                .onSuccess(text -> context.response()
                        .putHeader("content-type", "text/plain; version=0.0.4; charset=utf-8")
                        .end(text))
                .onFailure(context::fail);
    }

    private void listEngines(RoutingContext context) {
        reply(
                context,
                200,
                new JsonObject()
                        .put(
                                "engines",
                                ApiJson.array(engines.values().stream()
                                        .map(EngineLink::json)
                                        .toList())));
    }

    private void showEngine(RoutingContext context) {
        reply(context, 200, engine(context).json());
    }

    private void listHolds(RoutingContext context) {
        reply(
                context,
                200,
                new JsonObject()
                        .put(
                                "holds",
                                ApiJson.holds(
                                        engine(context).id(), engine(context).holds())));
    }

    private void showHold(RoutingContext context) {
        EngineLink engine = engine(context);
        long id = holdId(context);
        HoldView hold = engine.holds().stream()
                .filter(each -> each.id() == id)
                .findFirst()
                .orElseThrow(() -> noSuchHold(context));
        reply(context, 200, ApiJson.hold(engine.id(), hold));
    }

    private void hold(RoutingContext context) {
        EngineLink engine = engine(context);
        if (closing.getAsBoolean()) {
            throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
        }
        byte[] body = context.body().buffer() == null
                ? new byte[0]
                : context.body().buffer().getBytes();
        vertx.executeBlocking(() -> engine.holdRequest(HoldBody.parse(body)), false)
                .compose(request -> firstOutcome(engine, request))
                .onSuccess(hold -> replyHeld(context, engine, hold))
                .onFailure(context::fail);
    }

    /** The caller of a hold that comes too late does not know its id, so nothing may be left of it. */
    private Future<HoldView> firstOutcome(EngineLink engine, HoldRequest request) {
        CompletionStage<HoldView> outcome = engine.hold(request);
        return await(
                        outcome,
                        OUTCOME_SECONDS,
                        "The engine gave no outcome within " + OUTCOME_SECONDS
                                + " s, so the hold is withdrawn; ask again when the engine answers.")
                .onFailure(late -> outcome.thenCompose(hold -> engine.release(hold.id())));
    }

    private void replyHeld(RoutingContext context, EngineLink engine, HoldView hold) {
        if (hold.state() == HoldState.RELEASED) {
            reply(context, 409, ApiJson.error(hold.reason()));
        } else {
            context.response().putHeader("location", "/api/v1/engines/" + engine.id() + "/holds/" + hold.id());
            reply(context, 201, ApiJson.hold(engine.id(), hold));
        }
    }

    private void release(RoutingContext context) {
        EngineLink engine = engine(context);
        long id = holdId(context);
        await(
                        engine.release(id),
                        UNPIN_SECONDS,
                        "The engine has not let go within " + UNPIN_SECONDS + " s; it is asked again until it does.")
                .onSuccess(released -> released.ifPresentOrElse(
                        hold -> replyReleased(context, engine, hold), () -> context.fail(noSuchHold(context))))
                .onFailure(context::fail);
    }

    private void replyReleased(RoutingContext context, EngineLink engine, HoldView hold) {
        if (hold.state() == HoldState.EXPIRING) {
            reply(context, 503, ApiJson.error("Hold " + hold.id() + " is not released yet: " + hold.reason() + "."));
        } else {
            reply(context, 200, ApiJson.hold(engine.id(), hold));
        }
    }

    private void resume(RoutingContext context) {
        EngineLink engine = engine(context);
        await(
                        engine.resume(),
                        OUTCOME_SECONDS,
                        "The controller of engine " + engine.id() + " gave no answer within " + OUTCOME_SECONDS
                                + " s; /livez says whether it runs.")
                .onSuccess(was -> reply(context, 200, new JsonObject().put("resumed", was)))
                .onFailure(context::fail);
    }

    private void releaseAll(RoutingContext context) {
        EngineLink engine = engine(context);
        await(
                        engine.releaseAll(),
                        UNPIN_SECONDS,
                        "The engine has not let go of everything within " + UNPIN_SECONDS
                                + " s; it is asked again until it does.")
                .onSuccess(done -> reply(
                        context,
                        done.pending() > 0 ? 503 : 200,
                        new JsonObject().put("released", done.released()).put("pending", done.pending())))
                .onFailure(context::fail);
    }

    private <T> Future<T> await(CompletionStage<T> stage, int seconds, String late) {
        return Future.fromCompletionStage(stage, vertx.getOrCreateContext())
                .timeout(seconds, TimeUnit.SECONDS)
                .recover(cause -> Future.failedFuture(
                        switch (cause instanceof CompletionException && cause.getCause() != null
                                ? cause.getCause()
                                : cause) {
                            case TimeoutException slow -> new ApiError(503, late);
                            case RejectedExecutionException full ->
                                new ApiError(503, String.valueOf(full.getMessage()));
                            case Throwable other -> other;
                        }));
    }

    private EngineLink engine(RoutingContext context) {
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

    private static String parameter(RoutingContext context, String name) {
        return String.valueOf(context.pathParam(name));
    }

    private static long holdId(RoutingContext context) {
        try {
            return Long.parseLong(parameter(context, "hold"));
        } catch (NumberFormatException e) {
            throw noSuchHold(context);
        }
    }

    private static ApiError noSuchHold(RoutingContext context) {
        return new ApiError(
                404,
                "Engine " + parameter(context, "engine") + " has no hold "
                        + ConfigException.shown(parameter(context, "hold")) + ".");
    }

    private void fail(RoutingContext context) {
        Throwable cause = context.failure();
        if (cause instanceof ApiError error) {
            reply(context, error.status(), ApiJson.error(error.sentence()));
        } else if (cause instanceof RejectedExecutionException full) {
            reply(context, 503, ApiJson.error(String.valueOf(full.getMessage())));
        } else if (context.statusCode() >= 400 && context.statusCode() < 500) {
            reply(context, context.statusCode(), ApiJson.error(refusal(context)));
        } else {
            LOG.error(
                    "{} {} failed.",
                    context.request().method(),
                    context.request().path(),
                    cause);
            reply(context, 500, ApiJson.error("The sidecar failed (" + cause + "); its log says where."));
        }
    }

    private static String refusal(RoutingContext context) {
        String path = ConfigException.shown(String.valueOf(context.request().path()));
        return switch (context.statusCode()) {
            case 404 -> "There is nothing at " + path + ".";
            case 405 -> path + " does not take " + context.request().method() + ".";
            case 413 -> "The body is larger than " + (MOST_BODY_BYTES >> 20) + " MiB; no prefix is that long.";
            default -> "The request is malformed (status " + context.statusCode() + ").";
        };
    }

    private static void reply(RoutingContext context, int status, JsonObject body) {
        if (!context.response().ended()) {
            context.response()
                    .setStatusCode(status)
                    .putHeader("content-type", "application/json")
                    .end(body.toBuffer());
        }
    }
}
