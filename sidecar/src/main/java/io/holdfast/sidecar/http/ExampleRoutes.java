package io.holdfast.sidecar.http;

import io.holdfast.core.example.ExampleView;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.view.ApiJson;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The API's routes about examples: somebody sends what is to be held, and is told what was seen. */
final class ExampleRoutes implements HttpApi.Routes {
    private static final String EXAMPLES = "/api/v1/engines/:engine/examples";

    private final HttpApi api;

    ExampleRoutes(HttpApi api) {
        this.api = api;
    }

    @Override
    public void addTo(Router router) {
        router.post(EXAMPLES).handler(this::start);
        router.get(EXAMPLES + "/:example").handler(this::show);
        router.post(EXAMPLES + "/:example/stop").handler(this::stop);
    }

    private void start(RoutingContext context) {
        EngineLink engine = api.engine(context);
        String written = context.request().getParam("seconds");
        String seconds = written == null ? "60" : written;
        if (!seconds.matches("[0-9]{1,3}") || Integer.parseInt(seconds) < 1 || Integer.parseInt(seconds) > 600) {
            throw ApiError.badRequest("seconds is " + ConfigException.shown(seconds) + "; write 1 to 600.");
        }
        api.await(
                        engine.controller().startExample(Duration.ofSeconds(Integer.parseInt(seconds))),
                        HttpApi.OUTCOME_SECONDS,
                        HttpApi.controllerSilent(engine))
                .onSuccess(begun -> begun.ifPresentOrElse(
                        example -> {
                            context.response()
                                    .putHeader(
                                            "location", "/api/v1/engines/" + engine.id() + "/examples/" + example.id());
                            api.reply(context, 201, ApiJson.example(example));
                        },
                        () -> context.fail(new ApiError(
                                409,
                                "Four examples run already; stop one (POST …/examples/{n}/stop), or wait for its"
                                        + " end."))))
                .onFailure(context::fail);
    }

    private void stop(RoutingContext context) {
        EngineLink engine = api.engine(context);
        answer(context, engine, engine.controller().stopExample(exampleId(context)));
    }

    private void show(RoutingContext context) {
        EngineLink engine = api.engine(context);
        answer(context, engine, engine.controller().example(exampleId(context)));
    }

    private void answer(RoutingContext context, EngineLink engine, CompletionStage<Optional<ExampleView>> asked) {
        api.await(asked, HttpApi.OUTCOME_SECONDS, HttpApi.controllerSilent(engine))
                .onSuccess(found -> found.ifPresentOrElse(
                        example -> api.reply(context, 200, ApiJson.example(example)),
                        () -> context.fail(noSuchExample(context))))
                .onFailure(context::fail);
    }

    private static long exampleId(RoutingContext context) {
        try {
            return Long.parseLong(HttpApi.parameter(context, "example"));
        } catch (NumberFormatException e) {
            throw noSuchExample(context);
        }
    }

    private static ApiError noSuchExample(RoutingContext context) {
        return new ApiError(
                404,
                "Engine " + HttpApi.parameter(context, "engine") + " has no example "
                        + ConfigException.shown(HttpApi.parameter(context, "example"))
                        + "; the last sixteen are remembered until the sidecar ends.");
    }
}
