package io.holdfast.sidecar.http;

import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** The routes for whoever runs the process: whether it lives, whether it is ready, its metrics. */
final class ProbeRoutes implements HttpApi.Routes {
    private final HttpApi api;
    private final Access access;
    private final Map<String, EngineLink> engines;
    private final EventThread thread;
    private final PrometheusMeterRegistry registry;
    private final BooleanSupplier closing;
    private final Operations operations;

    ProbeRoutes(
            HttpApi api,
            Access access,
            Map<String, EngineLink> engines,
            EventThread thread,
            PrometheusMeterRegistry registry,
            BooleanSupplier closing,
            Operations operations) {
        this.api = api;
        this.access = access;
        this.engines = engines;
        this.thread = thread;
        this.registry = registry;
        this.closing = closing;
        this.operations = operations;
    }

    @Override
    public void addTo(Router router) {
        router.get("/livez").handler(this::live);
        router.get("/healthz").handler(this::live);
        router.get("/readyz").handler(this::ready);
        router.get("/metrics").handler(this::metrics);
    }

    private void live(RoutingContext context) {
        // A thread that has ended because the sidecar closes is no fault, and a restart would mend nothing.
        Optional<String> fault = closing.getAsBoolean() ? Optional.empty() : thread.fault();
        fault.ifPresentOrElse(
                sentence -> api.refuse(context, 503, sentence, new JsonObject().put("live", false)),
                () -> api.reply(context, 200, new JsonObject().put("live", true)));
    }

    private void ready(RoutingContext context) {
        List<String> reasons = new ArrayList<>();
        if (closing.getAsBoolean()) {
            reasons.add("the sidecar is shutting down");
        }
        boolean mayRead = access.mayRead(context.request());
        List<String> notes = new ArrayList<>(mayRead ? operations.notes() : List.of());
        for (EngineLink engine : engines.values()) {
            List<String> why = engine.report().unreadiness();
            if (mayRead) {
                why.forEach(reason -> reasons.add("engine " + engine.id() + ": " + reason));
                engine.report().notes().forEach(note -> notes.add("engine " + engine.id() + ": " + note));
            } else if (!why.isEmpty()) {
                reasons.add("an engine is not ready; callers who may read see why");
            }
        }
        operations
                .absent()
                .forEach((id, why) -> reasons.add(
                        mayRead
                                ? "engine " + id + " is not looked after: " + why
                                : "an engine is not ready; callers who may read see why"));
        JsonObject said = new JsonObject()
                .put("ready", reasons.isEmpty())
                .put("reasons", new JsonArray(reasons))
                .put("notes", new JsonArray(notes));
        if (reasons.isEmpty()) {
            api.reply(context, 200, said);
        } else {
            String first = reasons.getFirst();
            api.refuse(context, 503, "Not ready: " + first + (first.endsWith(".") ? "" : "."), said);
        }
    }

    private void metrics(RoutingContext context) {
        api.show(context, "text/plain; version=0.0.4; charset=utf-8", () -> Buffer.buffer(registry.scrape()));
    }
}
