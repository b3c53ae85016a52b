package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.engine.EngineLink;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** The API's routes by which an operator steers: the pause that keeps, its end, and the dry run. */
final class SteeringRoutes implements HttpApi.Routes {
    private static final String UNTIL_RESTART = "It lasts until it is taken back or the sidecar ends.";

    private final HttpApi api;
    private final BooleanSupplier closing;

    SteeringRoutes(HttpApi api, BooleanSupplier closing) {
        this.api = api;
        this.closing = closing;
    }

    @Override
    public void addTo(Router router) {
        router.post("/api/v1/engines/:engine/pause").handler(this::pause);
        router.post("/api/v1/engines/:engine/resume").handler(this::resume);
        router.put("/api/v1/engines/:engine/dry-run").handler(this::dryRun);
    }

    private void pause(RoutingContext context) {
        EngineLink engine = api.engine(context);
        api.await(engine.keepHolding(), HttpApi.OUTCOME_SECONDS, HttpApi.controllerSilent(engine))
                .onSuccess(pauses -> {
                    boolean keeps = pauses || engine.view().keepsHeld();
                    api.reply(
                            context,
                            200,
                            new JsonObject()
                                    .put("paused", true)
                                    .put("keepsHeld", keeps)
                                    .put(
                                            "note",
                                            keeps
                                                    ? UNTIL_RESTART
                                                    : "It was paused before, with everything released, and stays so;"
                                                            + " resume first."));
                })
                .onFailure(context::fail);
    }

    private void resume(RoutingContext context) {
        EngineLink engine = api.engine(context);
        if (closing.getAsBoolean()) {
            throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
        }
        api.await(engine.resume(), HttpApi.OUTCOME_SECONDS, HttpApi.controllerSilent(engine))
                .onSuccess(was -> api.reply(context, 200, new JsonObject().put("resumed", was)))
                .onFailure(context::fail);
    }

    private void dryRun(RoutingContext context) {
        EngineLink engine = api.engine(context);
        HttpApi.requireJson(context.request());
        api.body(context)
                .map(body -> {
                    try (body) {
                        return on(body.bytes());
                    }
                })
                .compose(on -> api.await(engine.dryRun(on), HttpApi.OUTCOME_SECONDS, HttpApi.controllerSilent(engine))
                        .onSuccess(changed -> api.reply(
                                context,
                                200,
                                new JsonObject()
                                        .put("dryRun", on)
                                        .put("changed", changed)
                                        .put(
                                                "note",
                                                on
                                                        ? UNTIL_RESTART
                                                                + " Existing pins are released. To make it permanent,"
                                                                + " write backend: dry_run in the configuration."
                                                        : "What waits is held with the next plan."))))
                .onFailure(context::fail);
    }

    private static boolean on(byte[] body) {
        Optional<?>[] found = {Optional.empty()};
        PrefixFields.each(body, "{\"dryRun\":true}", (field, json) -> {
            if (!field.equals("dryRun")) {
                throw badRequest("The field " + shown(field) + " is unknown; what is switched is dryRun.");
            }
            found[0] = switch (json.currentToken()) {
                case VALUE_TRUE -> Optional.of(true);
                case VALUE_FALSE -> Optional.of(false);
                default -> throw badRequest("dryRun is neither true nor false.");
            };
        });
        return (Boolean) found[0].orElseThrow(() -> badRequest("dryRun is missing; write {\"dryRun\":true} or false."));
    }
}
