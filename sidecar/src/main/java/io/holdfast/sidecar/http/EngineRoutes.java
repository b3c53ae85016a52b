package io.holdfast.sidecar.http;

import io.holdfast.core.EngineView;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.view.ApiJson;
import io.holdfast.sidecar.view.OtherSegments;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The API's routes that show engines: all that is known, or a part of it. */
final class EngineRoutes implements HttpApi.Routes {
    private static final String ENGINES = "/api/v1/engines";
    private static final int MOST_RANK = 1_023;
    private static final int TREE_SECONDS = 10;

    private final HttpApi api;
    private final Access access;
    private final Map<String, EngineLink> engines;
    private final OtherSegments otherSegments;

    EngineRoutes(HttpApi api, Access access, Map<String, EngineLink> engines) {
        this.api = api;
        this.access = access;
        this.engines = engines;
        this.otherSegments = new OtherSegments(engines);
    }

    @Override
    public void addTo(Router router) {
        router.get(ENGINES).handler(this::list);
        router.get(ENGINES + "/:engine").handler(this::show);
        router.get(ENGINES + "/:engine/readings").handler(this::readings);
        router.get(ENGINES + "/:engine/plan").handler(this::plan);
        router.get(ENGINES + "/:engine/tree").handler(this::tree);
        router.get("/api/v1/snapshot").handler(this::snapshot);
    }

    private void list(RoutingContext context) {
        boolean why = access.mayAct(context.request());
        api.show(
                context,
                () -> new JsonObject()
                        .put(
                                "engines",
                                ApiJson.array(engines.values().stream()
                                        .map(engine -> ApiJson.engine(engine, why))
                                        .toList()))
                        .put("otherSegments", ApiJson.array(otherSegments.now())));
    }

    private void show(RoutingContext context) {
        EngineLink engine = api.engine(context);
        boolean why = access.mayAct(context.request());
        api.show(context, () -> ApiJson.engine(engine, why));
    }

    private void readings(RoutingContext context) {
        EngineLink engine = api.engine(context);
        api.reply(context, 200, ApiJson.readings(engine.view().readings()).put("engine", engine.id()));
    }

    private void plan(RoutingContext context) {
        EngineLink engine = api.engine(context);
        boolean why = access.mayAct(context.request());
        api.show(context, () -> ApiJson.plan(engine.view().lastPlan(), why).put("engine", engine.id()));
    }

    /**
     * Gives the view of one cache to another process, in its binary form. The names of all blocks answer any guess of what
     * others' prompts begin with, so it is for who may act.
     */
    private void tree(RoutingContext context) {
        EngineLink engine = api.engine(context);
        if (!access.mayAct(context.request())) {
            throw new ApiError(
                    403,
                    "The tree of a cache is for callers who may act: send the act token as Authorization: Bearer"
                            + " TOKEN.");
        }
        int rank = HttpApi.number(context, "rank", 0, 0, MOST_RANK);
        api.await(engine.views().encoded(rank), TREE_SECONDS, HttpApi.controllerSilent(engine))
                .onSuccess(view -> view.ifPresentOrElse(
                        bytes -> api.reply(context, Buffer.buffer(bytes)),
                        () -> context.fail(new ApiError(
                                409,
                                "What engine " + engine.id() + " has is not certain ("
                                        + engine.view().certainty() + "), so there is nothing to take over."))))
                .onFailure(context::fail);
    }

    /** Pictures are taken first and written down then, so that all are as of one moment. */
    private void snapshot(RoutingContext context) {
        boolean why = access.mayAct(context.request());
        Map<EngineLink, EngineView> pictures = new LinkedHashMap<>();
        engines.values().forEach(engine -> pictures.put(engine, engine.view()));
        List<String> notes = new ArrayList<>();
        List<String> reasons = new ArrayList<>();
        engines.values().forEach(engine -> {
            engine.report().unreadiness().forEach(reason -> reasons.add("engine " + engine.id() + ": " + reason));
            engine.report().notes().forEach(note -> notes.add("engine " + engine.id() + ": " + note));
        });
        api.show(
                context,
                () -> new JsonObject()
                        .put("ready", reasons.isEmpty())
                        .put("reasons", reasons)
                        .put("notes", notes)
                        .put(
                                "engines",
                                ApiJson.array(pictures.entrySet().stream()
                                        .map(each -> ApiJson.engine(each.getKey(), each.getValue(), why))
                                        .toList())));
    }
}
