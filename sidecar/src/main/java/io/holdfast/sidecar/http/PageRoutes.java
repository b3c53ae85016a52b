package io.holdfast.sidecar.http;

import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The operator's page: a few files of this jar, read once. It has no data in it, so it needs no token; what it shows it asks
 * the API for, by whose rules.
 */
final class PageRoutes implements HttpApi.Routes {
    private static final String ASSETS = "/page/";
    private static final List<String> FILES = List.of(
            "index.html",
            "page.css",
            "page.js",
            "live.js",
            "dom.js",
            "words.js",
            "chart.js",
            "detail.js",
            "fleet.js",
            "holdform.js",
            "icon.svg");
    /** Nothing from elsewhere, nothing inline, and no frame of another page around it. */
    private static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
            + " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    private final Sender sender;
    private final Map<String, Buffer> files;

    /** Answers a request, by the rules of the server that has it. */
    @FunctionalInterface
    interface Sender {
        void send(RoutingContext context, String type, Buffer text);
    }

    PageRoutes(Sender sender) {
        this.sender = sender;
        this.files = FILES.stream().collect(Collectors.toMap(Function.identity(), PageRoutes::read));
    }

    /** Returns true if only the page is served at this path. */
    static boolean isPage(String path) {
        return path.equals("/") || path.startsWith(ASSETS);
    }

    @Override
    public void addTo(Router router) {
        router.get("/").handler(context -> send(context, "index.html"));
        for (String name : FILES) {
            router.get(ASSETS + name).handler(context -> send(context, name));
        }
    }

    private void send(RoutingContext context, String name) {
        context.response()
                .putHeader("content-security-policy", POLICY)
                .putHeader("x-content-type-options", "nosniff")
                .putHeader("referrer-policy", "no-referrer")
                .putHeader("cache-control", "no-cache");
        sender.send(context, type(name), files.getOrDefault(name, Buffer.buffer()));
    }

    private static String type(String name) {
        return switch (name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT)) {
            case "html" -> "text/html; charset=utf-8";
            case "css" -> "text/css; charset=utf-8";
            case "js" -> "text/javascript; charset=utf-8";
            default -> "image/svg+xml";
        };
    }

    private static Buffer read(String name) {
        try (InputStream file = PageRoutes.class.getResourceAsStream("page/" + name)) {
            if (file == null) {
                throw new IllegalStateException("The file page/" + name + " is missing in this jar; build it again.");
            }
            return Buffer.buffer(file.readAllBytes());
        } catch (IOException e) {
            throw new IllegalStateException("The file page/" + name + " cannot be read in this jar.", e);
        }
    }
}
