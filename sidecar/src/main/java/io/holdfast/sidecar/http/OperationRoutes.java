package io.holdfast.sidecar.http;

import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/** Routes for health and for reading the configuration again. */
final class OperationRoutes implements HttpApi.Routes {
    private final HttpApi api;
    private final Operations operations;

    OperationRoutes(HttpApi api, Operations operations) {
        this.api = api;
        this.operations = operations;
    }

    @Override
    public void addTo(Router router) {
        router.get("/startupz").handler(this::started);
        router.post("/api/v1/reload").handler(this::reload);
    }

    /**
     * Answers as soon as the process serves, which it does once its configuration is valid and its sockets are open.
     */
    private void started(RoutingContext context) {
        api.reply(context, 200, new JsonObject().put("started", true));
    }

    private void reload(RoutingContext context) {
        api.work(operations::reload)
                .onSuccess(report -> api.reply(context, 200, report.json()))
                .onFailure(context::fail);
    }
}
