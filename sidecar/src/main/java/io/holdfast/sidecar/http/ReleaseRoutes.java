package io.holdfast.sidecar.http;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/** The API's route by which those who are finished give memory back. */
final class ReleaseRoutes implements HttpApi.Routes {
    /** Longer than a controller that hangs may stay in office. */
    static final int UNPIN_SECONDS = 20;

    private static final String UNSEEN =
            "The engine does not say what the session kept, so what this gave back is not known.";

    private final HttpApi api;

    ReleaseRoutes(HttpApi api) {
        this.api = api;
    }

    @Override
    public void addTo(Router router) {
        router.post("/api/v1/engines/:engine/release").handler(this::release);
    }

    private void release(RoutingContext context) {
        EngineLink engine = api.engine(context);
        HttpApi.requireJson(context.request());
        api.body(context)
                .onSuccess(body -> api.work(() -> ReleaseBody.parse(body.bytes(), engine.mostBlocks()))
                        .compose(said -> release(context, engine, said))
                        .onComplete(done -> body.close())
                        .onFailure(context::fail))
                .onFailure(context::fail);
    }

    private Future<?> release(RoutingContext context, EngineLink engine, ReleaseBody said) {
        return switch (said) {
            case ReleaseBody.OfRequester of ->
                given(context, engine, engine.releases().of(of.requester()));
            case ReleaseBody.OnPrefix on ->
                api.resolved(engine, on.source(), Lease.absolute(Duration.ofSeconds(1)))
                        .compose(resolved ->
                                given(context, engine, engine.releases().on(resolved.request())));
            case ReleaseBody.OfSession of -> session(context, engine, of.session());
        };
    }

    private Future<?> given(RoutingContext context, EngineLink engine, CompletionStage<GivenBack> asked) {
        return api.await(asked, UNPIN_SECONDS, unanswered(engine))
                .onSuccess(given -> api.reply(context, 200, json(engine, given)));
    }

    private Future<?> session(RoutingContext context, EngineLink engine, String session) {
        OptionalLong hold = engine.releases().holdOfSession(session);
        if (hold.isPresent()) {
            return given(context, engine, engine.releases().hold(hold.getAsLong()));
        }
        return api.await(engine.releases().closeSession(session), UNPIN_SECONDS, unanswered(engine))
                .onSuccess(closed -> {
                    if (closed.kind() != Outcome.Kind.ACCEPTED) {
                        context.fail(new ApiError(
                                closed.kind() == Outcome.Kind.REJECTED || closed.kind() == Outcome.Kind.MISSING
                                        ? 409
                                        : 503,
                                closed.reason()));
                        return;
                    }
                    api.reply(
                            context,
                            200,
                            new JsonObject()
                                    .putNull("gaveBack")
                                    .put("holds", ApiJson.array(List.of()))
                                    .put("wanted", ApiJson.array(List.of()))
                                    .put("see", see(engine))
                                    .put("note", UNSEEN));
                });
    }

    private static JsonObject json(EngineLink engine, GivenBack given) {
        return new JsonObject()
                .put("gaveBack", ApiJson.givenBack(given))
                .put("holds", holds(engine, given.ended()))
                .put("wanted", holds(engine, given.wanted()))
                .put("see", see(engine));
    }

    static JsonArray holds(EngineLink engine, List<HoldView> holds) {
        return ApiJson.array(
                holds.stream().map(hold -> ApiJson.hold(engine, hold, true)).toList());
    }

    /** Where what others found because of it is shown. */
    private static String see(EngineLink engine) {
        return "/api/v1/engines/" + engine.id();
    }

    static String unanswered(EngineLink engine) {
        return "Engine " + engine.id() + " has not released it within " + UNPIN_SECONDS
                + " s; it is asked again until it does, and the engine's holds show what became of it.";
    }
}
