package io.holdfast.sidecar.http;

import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.PrefixResolver.Resolved;
import io.holdfast.sidecar.http.HttpApi.Asked;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** The API's routes about holds: asked for, shown, released. */
final class HoldRoutes implements HttpApi.Routes {
    private static final String HOLDS = "/api/v1/engines/:engine/holds";
    /** Longer than a controller that hangs may stay in office. */
    private static final int UNPIN_SECONDS = 20;
    /** Longer than the engine's link takes for an outcome and the disk together. */
    private static final int HELD_SECONDS = 3 * HttpApi.OUTCOME_SECONDS;

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
        router.post(HOLDS).handler(this::refuseWhileClosing).handler(api.onPrefix(HoldBody::parse, this::hold));
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

    private void refuseWhileClosing(RoutingContext context) {
        if (closing.getAsBoolean()) {
            throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
        }
        context.next();
    }

    private Future<?> hold(Asked<HoldBody> asked) {
        return asked.resolved()
                .compose(
                        resolved -> hold(asked, resolved),
                        refused -> refused instanceof ApiError error && error.yet()
                                ? waits(asked, error)
                                : Future.failedFuture(refused));
    }

    private Future<HoldView> hold(Asked<HoldBody> asked, Resolved resolved) {
        // Until the controller took it the request is in a queue, and its blocks count in place of the body.
        asked.body().becomes((long) resolved.request().blocks() * Long.BYTES);
        EngineLink engine = asked.engine();
        HoldBody said = asked.said();
        return api.await(
                        engine.hold(said.asked(resolved.request()), said.source(), asked.body()::close),
                        HELD_SECONDS,
                        HttpApi.controllerSilent(engine))
                .map(held -> {
                    JsonObject json = ApiJson.hold(engine.id(), held.hold(), true);
                    resolved.droppedTokens().ifPresent(dropped -> json.put("droppedTokens", dropped));
                    if (said.lease().refreshOnHit()) {
                        HttpApi.note(json, LeaseRoutes.UNSEEN);
                    }
                    if (!held.written()) {
                        HttpApi.note(json, LeaseRoutes.NOT_WRITTEN);
                    }
                    return replyHeld(asked, held.hold(), json);
                });
    }

    /** Answers a hold that cannot be resolved yet: it waits with the reason, and is met as soon as it can be. */
    private Future<HoldView> waits(Asked<HoldBody> asked, ApiError why) {
        EngineLink engine = asked.engine();
        return api.await(
                        engine.holdUnnamed(asked.said().source(), asked.said().wish(), why),
                        HttpApi.OUTCOME_SECONDS,
                        HttpApi.controllerSilent(engine))
                .map(hold -> replyHeld(asked, hold, ApiJson.hold(engine.id(), hold, true)));
    }

    private HoldView replyHeld(Asked<HoldBody> asked, HoldView hold, JsonObject json) {
        RoutingContext context = asked.context();
        String location = locationOf(asked.engine(), hold);
        switch (hold.state()) {
            case RELEASED, EXPIRING ->
                api.refuse(context, 409, sentence(hold.reason()), new JsonObject().put("instance", location));
            case REQUESTED, HELD, LOST -> {
                context.response().putHeader("location", location);
                api.reply(context, hold.timesAsked() == 1 ? 201 : 200, json);
            }
        }
        return hold;
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
        engine.report().unreleasable().ifPresent(why -> body.put("unreleasable", why + "."));
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
