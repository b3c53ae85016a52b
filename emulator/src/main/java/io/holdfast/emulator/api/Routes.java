package io.holdfast.emulator.api;

import io.holdfast.rules.engine.EngineClock;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Common behaviour of both engines' servers, which are FastAPI applications behind uvicorn: finding a route, and the
 * answers where there is none.
 */
public final class Routes implements HttpFrontend {
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern(
                    "EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    private static final Set<String> METHODS =
            Set.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "QUERY");

    private final Vertx vertx;
    private final EngineClock clock;
    private final ErrorFormat errors;
    private final boolean sharesAcrossOrigins;
    private final boolean strict;
    private final HttpTally tally;
    private final Map<String, Map<String, Consumer<Call>>> routes = new HashMap<>();
    private final Map<String, Consumer<Call>> below = new LinkedHashMap<>();
    private Predicate<Call> unauthorized = _ -> false;

    /**
     * A server without routes so far.
     *
     * @param sharesAcrossOrigins whether web pages from anywhere may use it
     * @param strict whether requests without a host, or for one by its whole address, are refused (and not, as by the
     *     other parser, unknown methods)
     */
    public Routes(
            Vertx vertx,
            EngineClock clock,
            ErrorFormat errors,
            boolean sharesAcrossOrigins,
            boolean strict,
            HttpTally tally) {
        this.vertx = vertx;
        this.clock = clock;
        this.errors = errors;
        this.sharesAcrossOrigins = sharesAcrossOrigins;
        this.strict = strict;
        this.tally = tally;
    }

    public Routes get(String path, Consumer<Call> handler) {
        return on("GET", path, handler);
    }

    public Routes post(String path, Consumer<Call> handler) {
        return on("POST", path, handler);
    }

    public Routes on(String method, String path, Consumer<Call> handler) {
        routes.computeIfAbsent(path, _ -> new LinkedHashMap<>()).put(method, handler);
        return this;
    }

    /** GET of whatever comes after this beginning of a path. */
    public Routes getBelow(String beginning, Consumer<Call> handler) {
        below.put(beginning, handler);
        return this;
    }

    /** Answers calls that this says yes to with 401, whatever they are for. */
    public Routes refusing(Predicate<Call> calls) {
        unauthorized = calls;
        return this;
    }

    @Override
    public void handle(HttpServerRequest request) {
        Call call = new Call(vertx, clock, request, errors);
        request.response()
                .putHeader("date", DATE.format(Instant.ofEpochSecond((long) clock.unixSeconds())))
                .putHeader("server", "uvicorn")
                .putHeader("vary", "Origin");
        if (strict && call.isNewest() && call.header("host").isEmpty()) {
            invalid(request);
            return;
        }
        if (!strict && !METHODS.contains(call.method())) {
            invalid(request);
            return;
        }
        if (isPreflight(call)) {
            preflight(call);
            return;
        }
        if (sharesAcrossOrigins) {
            call.header("origin")
                    .ifPresent(origin -> request.response()
                            .putHeader("access-control-allow-origin", origin)
                            .putHeader("access-control-allow-credentials", "true"));
        }
        if (unauthorized.test(call)) {
            call.json(401, new JsonObject().put("error", "Unauthorized"));
            return;
        }
        route(call);
    }

    @Override
    public void invalid(HttpServerRequest request) {
        request.response().headers().remove("vary");
        request.response()
                .setStatusCode(400)
                .putHeader("content-type", "text/plain; charset=utf-8")
                .putHeader("connection", "close")
                .end("Invalid HTTP request received.")
                .onComplete(_ -> request.connection().close());
    }

    private void route(Call call) {
        Map<String, Consumer<Call>> methods =
                strict && !call.uri().startsWith("/") ? Map.of() : routes.getOrDefault(call.path(), Map.of());
        Optional<Consumer<Call>> handler = Optional.ofNullable(methods.get(call.method()));
        if (handler.isPresent()) {
            tally.count(call);
            call.attempt(() -> handler.get().accept(call));
        } else if (!methods.isEmpty()) {
            call.response().putHeader("allow", String.join(", ", methods.keySet()));
            call.json(405, new JsonObject().put("detail", "Method Not Allowed"));
        } else {
            elsewhere(call);
        }
    }

    private void elsewhere(Call call) {
        if (call.method().equals("GET")) {
            for (Map.Entry<String, Consumer<Call>> route : below.entrySet()) {
                if (call.path().startsWith(route.getKey())) {
                    call.attempt(() -> route.getValue().accept(call));
                    return;
                }
            }
        }
        String path = call.path();
        String other = path.endsWith("/") ? path.substring(0, path.length() - 1) : path + "/";
        if (!other.isEmpty() && routes.containsKey(other)) {
            String host = call.header("host").orElse("localhost");
            call.response().putHeader("location", "http://" + host + other);
            call.empty(307);
        } else {
            call.json(404, new JsonObject().put("detail", "Not Found"));
        }
    }

    private static boolean isPreflight(Call call) {
        return call.method().equals("OPTIONS")
                && call.header("origin").isPresent()
                && call.header("access-control-request-method").isPresent();
    }

    private void preflight(Call call) {
        String vary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers,"
                + " Access-Control-Request-Private-Network";
        call.response()
                .putHeader("vary", vary)
                .putHeader("access-control-allow-methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY")
                .putHeader("access-control-max-age", "600");
        call.header("access-control-request-headers")
                .ifPresent(headers -> call.response().putHeader("access-control-allow-headers", headers));
        if (sharesAcrossOrigins) {
            call.response()
                    .putHeader("access-control-allow-credentials", "true")
                    .putHeader(
                            "access-control-allow-origin", call.header("origin").orElse("*"));
        }
        call.text(
                sharesAcrossOrigins ? 200 : 400,
                "text/plain; charset=utf-8",
                sharesAcrossOrigins ? "OK" : "Disallowed CORS origin");
    }

    public List<String> paths() {
        return List.copyOf(routes.keySet());
    }
}
