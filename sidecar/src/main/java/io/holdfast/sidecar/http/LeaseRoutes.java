package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.http.HttpApi.Asked;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The API's routes about how long holds last: a lease is extended, an application says what becomes of a conversation. */
final class LeaseRoutes implements HttpApi.Routes {
    static final String NOT_WRITTEN =
            "It is not in the state directory, so that a restart of the sidecar would end it; its log says why.";
    static final String UNSEEN =
            "Only requests that store something are seen and prolong it. A request whose whole prompt is in the"
                    + " cache stores nothing; its sender can report it by POST …/hints.";

    private final HttpApi api;

    LeaseRoutes(HttpApi api) {
        this.api = api;
    }

    @Override
    public void addTo(Router router) {
        router.patch("/api/v1/engines/:engine/holds/:hold").handler(this::extend);
        router.post("/api/v1/engines/:engine/hints").handler(api.onPrefix(HintBody::parse, this::hint));
    }

    /** For how long a hold is to run from now, for one of its requesters or for all. */
    private record Extension(Duration length, Optional<String> requester) {
        static Extension parse(byte[] bytes) {
            LeaseFields fields = new LeaseFields();
            PrefixFields.each(bytes, "{\"leaseSeconds\":3600}", (field, json) -> {
                boolean known = field.equals("leaseSeconds") || field.equals("requester");
                if (!known || !fields.take(field, json)) {
                    throw badRequest("The field " + shown(field)
                            + " is unknown; what can be changed of a hold is leaseSeconds, perhaps of one requester.");
                }
            });
            return new Extension(fields.length(), fields.requester());
        }
    }

    private void extend(RoutingContext context) {
        EngineLink engine = api.engine(context);
        long id = HoldRoutes.holdId(context);
        HttpApi.requireJson(context.request());
        api.body(context)
                .map(body -> {
                    try (body) {
                        return Extension.parse(body.bytes());
                    }
                })
                .compose(asked -> extend(context, engine, id, asked))
                .onFailure(context::fail);
    }

    private Future<?> extend(RoutingContext context, EngineLink engine, long id, Extension asked) {
        engine.lasting().name(id).ifPresent(name -> {
            throw new ApiError(
                    409,
                    "Hold " + id + " is declared as " + shown(name)
                            + ", and lasts as long as the configuration names it.");
        });
        return api.await(
                        engine.controller().extend(id, asked.requester(), asked.length()),
                        HttpApi.OUTCOME_SECONDS,
                        HttpApi.controllerSilent(engine))
                .map(found -> found.orElseThrow(() -> HoldRoutes.noSuchHold(context, asked.requester())))
                .map(LeaseRoutes::mayBeExtended)
                .compose(hold -> kept(engine, hold).map(written -> {
                    JsonObject json = ApiJson.hold(engine, hold, true);
                    if (hold.leaseLeft().plusMillis(1).compareTo(asked.length()) < 0) {
                        HttpApi.note(
                                json,
                                "Its lease was asked to run no longer than that in all, so that it ends then; ask for"
                                        + " the prefix again.");
                    }
                    return written ? json : HttpApi.note(json, NOT_WRITTEN);
                }))
                .onSuccess(json -> api.reply(context, 200, json));
    }

    private static HoldView mayBeExtended(HoldView hold) {
        if (hold.state() == HoldState.RELEASED || hold.state() == HoldState.EXPIRING) {
            throw new ApiError(
                    409, "Hold " + hold.id() + " is over (" + hold.reason() + "); ask for its prefix again.");
        }
        if (hold.origin() == HoldOrigin.AUTOMATIC) {
            throw new ApiError(
                    409, "Hold " + hold.id() + " is an automatic one, which lasts as long as requests use it.");
        }
        return hold;
    }

    private Future<Boolean> kept(EngineLink engine, HoldView hold) {
        return api.await(
                        engine.lasting().changed(hold),
                        HttpApi.OUTCOME_SECONDS,
                        "The state directory is not written in time.")
                .otherwise(false);
    }

    private Future<?> hint(Asked<HintBody> asked) {
        return asked.resolved()
                .compose(resolved -> hint(asked.context(), asked.engine(), asked.said(), resolved.request()));
    }

    /** Takes a hint. A lease that a use prolongs is kept at the next look; what is over is kept before the answer. */
    private Future<?> hint(RoutingContext context, EngineLink engine, HintBody said, HoldRequest prefix) {
        if (said.says() == Hint.OVER) {
            return api.await(
                            engine.releases().over(prefix, said.requester()),
                            ReleaseRoutes.UNPIN_SECONDS,
                            ReleaseRoutes.unanswered(engine))
                    .onSuccess(given -> api.reply(
                            context,
                            200,
                            answer(engine, said, given.concerned()).put("gaveBack", ApiJson.givenBack(given))));
        }
        return api.await(
                        engine.controller().hint(said.says(), prefix, said.requester()),
                        HttpApi.OUTCOME_SECONDS,
                        HttpApi.controllerSilent(engine))
                .onSuccess(holds -> api.reply(context, 200, answer(engine, said, holds)));
    }

    private static JsonObject answer(EngineLink engine, HintBody said, List<HoldView> holds) {
        return new JsonObject()
                .put("says", said.says().name().toLowerCase(Locale.ROOT))
                .put("holds", ReleaseRoutes.holds(engine, holds));
    }
}
