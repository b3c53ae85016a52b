package io.holdfast.sidecar.http;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.PrefixResolver.Resolved;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;

/** The API's routes about holds: asked for, shown, released. */
final class HoldRoutes implements HttpApi.Routes {
    private static final String HOLDS = "/api/v1/engines/:engine/holds";
    /** Longer than a controller that hangs may stay in office. */
    private static final int UNPIN_SECONDS = 20;

    private final HttpApi api;
    private final Access access;
    private final EventThread thread;
    private final BooleanSupplier closing;

    HoldRoutes(HttpApi api, Access access, EventThread thread, BooleanSupplier closing) {
        this.api = api;
        this.access = access;
        this.thread = thread;
        this.closing = closing;
    }

    @Override
    public void addTo(Router router) {
        router.post(HOLDS).handler(this::hold);
        router.get(HOLDS).handler(this::listHolds);
        router.delete(HOLDS).handler(this::releaseAll);
        router.get(HOLDS + "/:hold").handler(this::showHold);
        router.delete(HOLDS + "/:hold").handler(this::release);
    }

    private static String locationOf(EngineLink engine, HoldView hold) {
        return "/api/v1/engines/" + engine.id() + "/holds/" + hold.id();
    }

    private static String sentence(String reason) {
        String text = Character.toUpperCase(reason.charAt(0)) + reason.substring(1);
        return text.endsWith(".") ? text : text + ".";
    }

    private void listHolds(RoutingContext context) {
        EngineLink engine = api.engine(context);
        int from = HttpApi.number(context, "from", 0, 0, 1_000_000);
        int limit = HttpApi.number(context, "limit", 100, 1, 1_000);
        boolean why = access.mayAct(context.request());
        api.show(context, () -> {
            List<HoldView> all = engine.holds();
            return ApiJson.page(
                    "holds",
                    all.size(),
                    from,
                    all.stream()
                            .skip(from)
                            .limit(limit)
                            .map(hold -> ApiJson.hold(engine, hold, why))
                            .toList());
        });
    }

    private void showHold(RoutingContext context) {
        EngineLink engine = api.engine(context);
        long id = holdId(context);
        HoldView hold = engine.holds().stream()
                .filter(each -> each.id() == id)
                .findFirst()
                .orElseThrow(() -> noSuchHold(context));
        api.reply(context, 200, ApiJson.hold(engine, hold, access.mayAct(context.request())));
    }

    private void hold(RoutingContext context) {
        EngineLink engine = api.engine(context);
        if (closing.getAsBoolean()) {
            throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
        }
        HttpApi.requireJson(context.request());
        api.body(context).onSuccess(body -> hold(context, engine, body)).onFailure(context::fail);
    }

    private void hold(RoutingContext context, EngineLink engine, RequestBodies.Body body) {
        api.work(() -> HoldBody.parse(body.bytes(), engine.mostBlocks()))
                .compose(asked -> api.resolved(engine, asked.source(), asked.lease())
                        .compose(
                                resolved -> {
                                    body.becomes((long) resolved.request().blocks() * Long.BYTES);
                                    return firstOutcome(engine, asked.asked(resolved.request()), body)
                                            .compose(hold -> kept(engine, hold, asked, resolved)
                                                    .onSuccess(json -> replyHeld(context, engine, hold, json)));
                                },
                                refused -> refused instanceof ApiError error && error.yet()
                                        ? waits(context, engine, asked, error, body)
                                        : Future.failedFuture(refused)))
                .onFailure(refused -> body.close())
                .onFailure(context::fail);
    }

    /** Answers a hold that cannot be resolved yet: it waits with the reason, and is met as soon as it can be. */
    private Future<JsonObject> waits(
            RoutingContext context, EngineLink engine, HoldBody asked, ApiError why, RequestBodies.Body body) {
        return api.await(
                        engine.holdUnnamed(asked.source(), asked.wish(), why),
                        HttpApi.OUTCOME_SECONDS,
                        HttpApi.controllerSilent(engine))
                .map(hold -> {
                    body.close();
                    JsonObject json = ApiJson.hold(engine.id(), hold, true);
                    replyHeld(context, engine, hold, json);
                    return json;
                });
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
                : api.await(
                                engine.lasting().keep(hold, asked.source(), asked.asked(resolved.request())),
                                HttpApi.OUTCOME_SECONDS,
                                "The state directory is not written in time.")
                        .otherwise(false)
                        .map(written -> written ? json : HttpApi.note(json, LeaseRoutes.NOT_WRITTEN));
    }

    /** The caller of a hold that comes too late does not know its id, so nothing may be left of it. */
    private Future<HoldView> firstOutcome(EngineLink engine, HoldRequest request, RequestBodies.Body body) {
        CompletionStage<HoldView> outcome = engine.hold(request);
        // Until the controller took it the request is in a queue, and counts.
        outcome.whenComplete((hold, refusal) -> body.close());
        return api.await(
                        outcome,
                        HttpApi.OUTCOME_SECONDS,
                        "The engine gave no outcome within " + HttpApi.OUTCOME_SECONDS
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
            case RELEASED, EXPIRING ->
                api.refuse(
                        context,
                        409,
                        sentence(hold.reason()),
                        new JsonObject().put("instance", locationOf(engine, hold)));
            case REQUESTED, HELD, LOST -> {
                context.response().putHeader("location", locationOf(engine, hold));
                api.reply(context, hold.timesAsked() == 1 ? 201 : 200, json);
            }
        }
    }

    private void release(RoutingContext context) {
        EngineLink engine = api.engine(context);
        long id = holdId(context);
        Optional<String> requester = requester(context);
        api.await(
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
            api.reply(context, 200, ApiJson.hold(engine, hold, true));
        }
    }

    /** The hold's own reason says whether its unpin is repeated; there are unpins that never are. */
    private static String refused(EngineLink engine, HoldView hold) {
        return "Hold " + hold.id() + " is not released (" + hold.reason() + "); "
                + (engine.endsByItself(hold.id()) ? "it ends automatically." : "the ledger keeps it until it is.");
    }

    /** Returns the sentence for an unpin without an answer: the controller repeats it while it runs. */
    private String unanswered(EngineLink engine) {
        String fault = thread.fault(engine.controller());
        return fault.isEmpty()
                ? "The engine has not released it within " + UNPIN_SECONDS + " s; it is asked again until it does."
                : "The engine has not released it within " + UNPIN_SECONDS + " s and is not asked again (" + fault
                        + "); the ledger keeps the pin for the next start.";
    }

    private void releaseAll(RoutingContext context) {
        EngineLink engine = api.engine(context);
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
        api.await(engine.releaseAll(), UNPIN_SECONDS, unanswered(engine))
                .compose(done -> pauseWritten(engine)
                        .onSuccess(written -> replyReleased(context, engine, done, written))
                        .mapEmpty())
                .onFailure(context::fail);
    }

    /** Releasing waits for no disk; what is said of the pause does, for a moment. */
    private Future<Boolean> pauseWritten(EngineLink engine) {
        return api.await(engine.pauseWritten(), HttpApi.OUTCOME_SECONDS, "The ledger is not written in time.")
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
        if (done.pending() > 0) {
            api.refuse(
                    context,
                    503,
                    done.pending() + " holds of engine " + engine.id()
                            + " are not released yet; the ledger keeps them until they are.",
                    body);
        } else {
            api.reply(context, 200, body);
        }
    }

    static long holdId(RoutingContext context) {
        try {
            return Long.parseLong(HttpApi.parameter(context, "hold"));
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
                "Engine " + HttpApi.parameter(context, "engine") + " has no hold "
                        + ConfigException.shown(HttpApi.parameter(context, "hold"))
                        + requester
                                .map(name -> " that requester " + ConfigException.shown(name) + " wants")
                                .orElse("")
                        + ".");
    }
}
