package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.kvcached.ByteSize;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.util.OptionalLong;

/** The API's routes about how much memory an engine's cache may take. */
final class LimitRoutes implements HttpApi.Routes {
    private final HttpApi api;

    LimitRoutes(HttpApi api) {
        this.api = api;
    }

    @Override
    public void addTo(Router router) {
        router.get("/api/v1/engines/:engine/limit").handler(this::show);
        router.put("/api/v1/engines/:engine/limit").handler(this::request);
        router.delete("/api/v1/engines/:engine/limit").handler(this::restore);
        router.post("/api/v1/engines/:engine/limit/resume").handler(this::resume);
    }

    private EngineLimit limit(RoutingContext context) {
        EngineLink engine = api.engine(context);
        return engine.limit()
                .orElseThrow(() -> new ApiError(
                        404,
                        "Engine " + engine.id()
                                + " has no limit that can be seen; write its kvcachedSegment into the configuration if"
                                + " it runs under kvcached."));
    }

    private void show(RoutingContext context) {
        api.reply(context, 200, ApiJson.limit(limit(context)));
    }

    private void request(RoutingContext context) {
        EngineLimit limit = limit(context);
        HttpApi.requireJson(context.request());
        api.body(context)
                .map(body -> {
                    try (body) {
                        return bytes(body.bytes());
                    }
                })
                .compose(bytes -> api.await(limit.request(bytes), HttpApi.OUTCOME_SECONDS, silent(limit)))
                .onSuccess(view -> api.reply(context, 200, ApiJson.limit(limit)))
                .onFailure(context::fail);
    }

    private void restore(RoutingContext context) {
        EngineLimit limit = limit(context);
        api.await(limit.restore(), HttpApi.OUTCOME_SECONDS, silent(limit))
                .onSuccess(view -> api.reply(context, 200, ApiJson.limit(limit)))
                .onFailure(context::fail);
    }

    private void resume(RoutingContext context) {
        EngineLimit limit = limit(context);
        api.await(limit.resume(), HttpApi.OUTCOME_SECONDS, silent(limit))
                .onSuccess(was -> api.reply(context, 200, new JsonObject().put("resumed", was)))
                .onFailure(context::fail);
    }

    private static String silent(EngineLimit limit) {
        return "The segment " + limit.file() + " was not looked at within " + HttpApi.OUTCOME_SECONDS
                + " s; ask again, and see what became of it by GET …/limit.";
    }

    private static long bytes(byte[] body) {
        OptionalLong[] found = {OptionalLong.empty()};
        PrefixFields.each(body, "{\"limit\":\"8G\"}", (field, json) -> {
            if (!field.equals("limit")) {
                throw badRequest("The field " + shown(field) + " is unknown; the only field is limit.");
            }
            found[0] = OptionalLong.of(size(json));
        });
        return found[0].orElseThrow(() -> badRequest("The limit is missing; write {\"limit\":\"8G\"}, or bytes."));
    }

    private static long size(JsonParser json) throws IOException {
        if (json.currentToken() == JsonToken.VALUE_NUMBER_INT) {
            try {
                return json.getLongValue();
            } catch (IOException e) {
                throw badRequest("The limit is larger than any memory; write bytes, or a size such as 8G.");
            }
        }
        String written = json.currentToken() == JsonToken.VALUE_STRING ? json.getText() : "";
        return ByteSize.parse(written)
                .orElseThrow(() ->
                        badRequest("The limit is " + (written.isEmpty() ? "no number and no text" : shown(written))
                                + "; write a number of bytes, or a size such as 8G, 512M or 1.5g."));
    }
}
