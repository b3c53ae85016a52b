package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.http.HttpApi.Asked;
import io.holdfast.sidecar.http.HttpApi.PrefixBody;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.Future;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/** The API's routes about prefixes: which ones requests share, and what was decided about one and why. */
final class PrefixRoutes implements HttpApi.Routes {
    private final HttpApi api;
    private final Access access;

    PrefixRoutes(HttpApi api, Access access) {
        this.api = api;
        this.access = access;
    }

    @Override
    public void addTo(Router router) {
        router.get("/api/v1/engines/:engine/prefixes").handler(this::list);
        router.post("/api/v1/engines/:engine/explain").handler(api.onPrefix(PrefixRoutes::asked, this::explain));
    }

    private void list(RoutingContext context) {
        EngineLink engine = api.engine(context);
        int from = HttpApi.number(context, "from", 0, 0, 1_000_000);
        int limit = HttpApi.number(context, "limit", 50, 1, 500);
        boolean why = access.mayAct(context.request());
        api.await(engine.controller().prefixes(), HttpApi.OUTCOME_SECONDS, HttpApi.controllerSilent(engine))
                .onSuccess(prefixes -> api.reply(context, 200, ApiJson.prefixes(prefixes, from, limit, why)))
                .onFailure(context::fail);
    }

    private static PrefixBody asked(byte[] bytes, int mostBlocks) {
        PrefixFields prefix = new PrefixFields(mostBlocks);
        PrefixFields.each(bytes, "{\"tokens\":[1,2,3]}", (field, json) -> {
            if (!prefix.take(field, json)) {
                throw badRequest("The field " + shown(field) + " is unknown; what is to be explained is given by "
                        + PrefixFields.WAYS + ".");
            }
        });
        PrefixSource source = prefix.source();
        return () -> source;
    }

    /** Nothing is changed by it, but a prefix does not fit an address, and reasons are for those who may act. */
    private Future<?> explain(Asked<PrefixBody> asked) {
        EngineLink engine = asked.engine();
        return asked.resolved()
                .compose(resolved -> api.await(
                        engine.controller().explain(resolved.request()),
                        HttpApi.OUTCOME_SECONDS,
                        HttpApi.controllerSilent(engine)))
                .onSuccess(found -> api.reply(asked.context(), 200, ApiJson.explanation(found)));
    }
}
