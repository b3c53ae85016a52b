package io.holdfast.sidecar.http;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The routes that describe all others: the OpenAPI document, as it is written and as JSON. */
final class DocumentRoutes implements HttpApi.Routes {
    private final HttpApi api;

    DocumentRoutes(HttpApi api) {
        this.api = api;
    }

    @Override
    public void addTo(Router router) {
        router.get("/openapi.yaml")
                .handler(context -> api.show(context, "application/yaml", () -> Buffer.buffer(document())));
        router.get("/openapi.json").handler(this::json);
    }

    private void json(RoutingContext context) {
        api.show(
                context,
                HttpApi.JSON,
                () -> Buffer.buffer(new ObjectMapper()
                        .writeValueAsBytes(new ObjectMapper(new YAMLFactory()).readTree(document()))));
    }

    static byte[] document() {
        try (InputStream in = DocumentRoutes.class.getResourceAsStream("openapi.yaml")) {
            if (in == null) {
                throw new IllegalStateException("The jar lacks openapi.yaml; build it anew.");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
