package io.holdfast.sidecar.http;

import io.holdfast.core.hold.Lease;
import io.holdfast.sidecar.cell.Cells;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.PrefixResolver.Resolved;
import io.holdfast.sidecar.view.ApiJson;
import io.holdfast.sidecar.view.Metrics;
import io.holdfast.sidecar.view.Overviews;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The door of the HTTP API: who is let in, how bodies come and answers go, and what a refusal looks like. What is behind it
 * is in classes of their own, whose routes are named in {@link #routes}.
 *
 * <p>No handler waits: what a controller will answer later is awaited as a future, what costs time (a long prompt's
 * names, an engine's JSON, a scrape) runs on a few threads of its own. Every refusal is a problem as RFC 9457 has it, with
 * one sentence as its detail.
 */
public final class HttpApi implements AutoCloseable {
    /** Adds routes of one kind. */
    interface Routes {
        void addTo(Router router);
    }

    private static final Logger LOG = LoggerFactory.getLogger(HttpApi.class);
    static final int OUTCOME_SECONDS = 2;
    private static final int RESOLVE_SECONDS = 15;

    private static final int SWEEP_MILLIS = 250;
    /** Limit on bodies that are parsed at once, since each takes several times its bytes for a moment. */
    private static final int WORKERS = 2;

    static final String JSON = "application/json";
    private static final String PROBLEM = "application/problem+json";
    private static final Pattern BAD_ESCAPE = Pattern.compile("%(?![0-9A-Fa-f]{2})");
    private static final String BODY = "holdfast.body";
    private static final String REPEATED = "holdfast.repeated";
    /** Calls that a router makes for each of its requests, by the last part of the path. */
    private static final Set<String> QUERIES =
            Set.of("query", "query_by_hash", "touches", "first-tokens", "explain", "hints");

    private static final Set<HttpMethod> RATED = Set.of(HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH);

    private final Vertx vertx;
    private final Access access;
    private final ConnectionGuard guard;
    private final Map<String, EngineLink> engines;
    private final Optional<Cells> cells;
    private final EventThread thread;
    private final LongSupplier clock;
    private final PrometheusMeterRegistry registry;
    private final BooleanSupplier closing;
    private final Operations operations;
    private final RequestBodies bodies;
    private final ByteQuota answers;
    private final CallRate acts;
    private final CallRate queries;
    private final RepeatedCalls repeated;
    private final WorkerExecutor workers;
    private final StreamRoutes streams;
    private OptionalLong sweeping = OptionalLong.empty();

    public HttpApi(
            Vertx vertx,
            Access access,
            HttpLimits limits,
            LongSupplier clock,
            Map<String, EngineLink> engines,
            Optional<Cells> cells,
            EventThread thread,
            PrometheusMeterRegistry registry,
            Overviews overviews,
            BooleanSupplier closing,
            Operations operations) {
        this.vertx = vertx;
        this.access = access;
        this.guard = new ConnectionGuard(limits, clock);
        this.engines = engines;
        this.cells = cells;
        this.thread = thread;
        this.clock = clock;
        this.registry = registry;
        this.closing = closing;
        this.operations = operations;
        this.bodies = new RequestBodies(limits, guard);
        this.answers = new ByteQuota(limits.answersBytes());
        this.acts = new CallRate(limits.rates().actsPerSecond(), clock);
        this.queries = new CallRate(limits.rates().queriesPerSecond(), clock);
        this.repeated = new RepeatedCalls(clock);
        this.workers = vertx.createSharedWorkerExecutor("holdfast-api", WORKERS);
        this.streams = new StreamRoutes(this, access, overviews, new EventStreams(vertx, guard, clock));
    }

    /** One line for each class of routes. */
    private List<Routes> routes() {
        return List.of(
                new ProbeRoutes(this, access, engines, thread, registry, closing, operations),
                new OperationRoutes(this, operations),
                new EngineRoutes(this, access, engines),
                new SteeringRoutes(this, closing),
                new HoldRoutes(this, access, thread, closing),
                new LeaseRoutes(this),
                new ReleaseRoutes(this),
                new ExampleRoutes(this),
                new LimitRoutes(this),
                new PrefixRoutes(this, access),
                new RouterReportRoutes(this),
                new FleetRoutes(this, access, cells),
                new QueryRoutes(this, engines, clock),
                new DocumentRoutes(this),
                streams,
                new PageRoutes((context, type, text) -> send(context, 200, type, text)));
    }

    /** Returns options of a server for this API: HTTP/1.1 alone, and a head of a few lines. */
    public static HttpServerOptions serverOptions(String host, int port) {
        return new HttpServerOptions()
                .setHost(host)
                .setPort(port)
                .setHttp2ClearTextEnabled(false)
                .setMaxInitialLineLength(4096)
                .setMaxHeaderSize(8192);
    }

    /** Has the server, which does not listen yet, answer for this API. */
    public void serve(HttpServer server) {
        Router router = router();
        server.invalidRequestHandler(this::refuseInvalid)
                .connectionHandler(guard::opened)
                .requestHandler(request -> {
                    if (!guard.began(request)) {
                        return;
                    }
                    // The router would take it for a fault of its own.
                    Optional<String> broken = brokenEscape(request);
                    if (broken.isPresent()) {
                        refuse(
                                request,
                                400,
                                "The " + broken.get()
                                        + " has a % that no two hexadecimal digits follow; escape it as %25.");
                    } else {
                        router.handle(request);
                    }
                });
        sweeping = OptionalLong.of(vertx.setPeriodic(SWEEP_MILLIS, timer -> guard.sweep()));
        streams.begin(vertx);
    }

    /** Tells whoever listens that the sidecar ends; completed when they know. */
    public Future<Void> endStreams() {
        return streams.end();
    }

    private static Optional<String> brokenEscape(HttpServerRequest request) {
        if (BAD_ESCAPE.matcher(String.valueOf(request.path())).find()) {
            return Optional.of("path");
        }
        return BAD_ESCAPE.matcher(String.valueOf(request.query())).find() ? Optional.of("query") : Optional.empty();
    }

    @Override
    public void close() {
        sweeping.ifPresent(vertx::cancelTimer);
        streams.close();
        workers.close();
    }

    Router router() {
        Router router = Router.router(vertx);
        router.route().failureHandler(this::fail).handler(this::admit);
        routes().forEach(each -> each.addTo(router));
        for (int status : new int[] {400, 404, 405, 500}) {
            router.errorHandler(status, this::fail);
        }
        return router;
    }

    /** Before a request is one, there is no router to refuse it. */
    private void refuseInvalid(HttpServerRequest request) {
        Throwable cause = request.decoderResult().cause();
        int status = cause instanceof TooLongHttpLineException
                ? 414
                : cause instanceof TooLongHttpHeaderException ? 431 : 400;
        refuse(
                request,
                status,
                switch (status) {
                    case 414 -> "The request line is longer than 4 KiB; send what is long in a body.";
                    case 431 -> "The headers are larger than 8 KiB; send fewer.";
                    default -> "This is no HTTP/1.1 request; send one.";
                });
        // What follows cannot be told from what was meant.
        Future<Void> _ = request.connection().close();
    }

    private void admit(RoutingContext context) {
        HttpServerRequest request = context.request();
        access.check(request, context.normalizedPath());
        // Releasing is never turned away for what others ask.
        String path = context.normalizedPath();
        String does = path.substring(path.lastIndexOf('/') + 1);
        if (RATED.contains(request.method()) && !does.equals("release")) {
            boolean asks = QUERIES.contains(does);
            (asks ? queries : acts).take(asks ? "queries and reports of routers" : "acting calls");
        }
        String key = request.getHeader(RepeatedCalls.HEADER);
        if (key == null || !request.method().equals(HttpMethod.POST)) {
            context.next();
            return;
        }
        RepeatedCalls.requireOne(request.headers().getAll(RepeatedCalls.HEADER).size());
        RepeatedCalls.requireKey(key);
        bodies.receive(request)
                .onSuccess(body -> {
                    context.put(BODY, body);
                    context.addEndHandler(done -> body.close());
                    once(context, request.path() + "?" + request.query() + " " + key, body);
                })
                .onFailure(context::fail);
    }

    /** Has a call that was made before answered as it was then. */
    private void once(RoutingContext context, String key, RequestBodies.Body body) {
        try {
            Optional<RepeatedCalls.Answer> before = repeated.begin(key, body.bytes());
            if (before.isEmpty()) {
                context.put(REPEATED, key);
                context.next();
            } else {
                RepeatedCalls.Answer answer = before.get();
                context.response().putHeader("idempotent-replayed", "true");
                answer.location().ifPresent(location -> context.response().putHeader("location", location));
                send(context.request(), answer.status(), answer.type(), answer.text());
            }
        } catch (ApiError refusal) {
            context.fail(refusal);
        }
    }

    /** The body of a request, which the caller closes. */
    Future<RequestBodies.Body> body(RoutingContext context) {
        RequestBodies.Body received = context.remove(BODY);
        return received == null ? bodies.receive(context.request()) : Future.succeededFuture(received);
    }

    /** Runs slow work away from the event loop. */
    <T> Future<T> work(Callable<T> made) {
        return workers.executeBlocking(made, false).map(Objects::requireNonNull);
    }

    void show(RoutingContext context, Supplier<JsonObject> json) {
        show(context, JSON, () -> json.get().toBuffer());
    }

    /** Builds a large answer away from the event loop. */
    void show(RoutingContext context, String type, Callable<Buffer> text) {
        work(text).onSuccess(made -> send(context, 200, type, made)).onFailure(context::fail);
    }

    /** A body that names a prefix, and how long it is to be held where that matters. */
    @FunctionalInterface
    interface PrefixBody {
        PrefixSource source();

        default Lease lease() {
            return Lease.absolute(Lease.LONGEST);
        }
    }

    /** A call about a prefix: its body as it was read, and the blocks that the engine has for it. */
    record Asked<T extends PrefixBody>(
            RoutingContext context, EngineLink engine, T said, Future<Resolved> resolved, RequestBodies.Body body) {}

    /** Returns a route that reads a body and has the engine name the blocks of its prefix before it acts. */
    <T extends PrefixBody> Handler<RoutingContext> onPrefix(
            BiFunction<byte[], Integer, T> parse, Function<Asked<T>, Future<?>> act) {
        return context -> {
            EngineLink engine = engine(context);
            requireJson(context.request());
            body(context)
                    .onSuccess(body -> work(() -> parse.apply(body.bytes(), engine.mostBlocks()))
                            .compose(said -> act.apply(new Asked<>(
                                    context, engine, said, resolved(engine, said.source(), said.lease()), body)))
                            .onComplete(done -> body.close())
                            .onFailure(context::fail))
                    .onFailure(context::fail);
        };
    }

    Future<Resolved> resolved(EngineLink engine, PrefixSource source, Lease lease) {
        return tokenized(engine.prefixes().resolve(source, lease));
    }

    /** Tokens that prompts share which begin with such a prefix. */
    Future<int[]> sharedTokens(EngineLink engine, PrefixSource source) {
        return tokenized(engine.prefixes().sharedTokens(source));
    }

    /** Tokens of a text. */
    Future<int[]> tokens(EngineLink engine, String text) {
        return tokenized(engine.prefixes().tokens(text));
    }

    private <T> Future<T> tokenized(CompletionStage<T> answer) {
        return await(
                answer,
                RESOLVE_SECONDS,
                "The engine did not say within " + RESOLVE_SECONDS
                        + " s which tokens it makes of the prefix; ask again when it answers.");
    }

    static JsonObject note(JsonObject json, String sentence) {
        String before = json.getString("note");
        return json.put("note", before == null ? sentence : before + " " + sentence);
    }

    static String controllerSilent(EngineLink engine) {
        return "The controller of engine " + engine.id() + " gave no answer within " + OUTCOME_SECONDS
                + " s; /livez says whether it runs.";
    }

    static void requireJson(HttpServerRequest request) {
        String type = request.getHeader("Content-Type");
        String media = type == null ? "" : type.split(";", 2)[0].strip();
        if (!media.equalsIgnoreCase(JSON)) {
            throw new ApiError(
                    415,
                    "The body must be JSON and say so, and its type is " + ConfigException.shown(media)
                            + "; add -H 'Content-Type: application/json'.");
        }
    }

    <T> Future<T> await(CompletionStage<T> stage, int seconds, String late) {
        return Future.fromCompletionStage(stage, vertx.getOrCreateContext())
                .timeout(seconds, TimeUnit.SECONDS)
                .recover(cause -> Future.failedFuture(
                        switch (cause instanceof CompletionException && cause.getCause() != null
                                ? cause.getCause()
                                : cause) {
                            case TimeoutException slow -> new ApiError(503, late);
                            case RejectedExecutionException full ->
                                new ApiError(503, String.valueOf(full.getMessage()));
                            case IllegalArgumentException never ->
                                new ApiError(409, String.valueOf(never.getMessage()));
                            case Throwable other -> other;
                        }));
    }

    EngineLink engine(RoutingContext context) {
        return engine(parameter(context, "engine"));
    }

    EngineLink engine(String id) {
        EngineLink engine = engines.get(id);
        if (engine == null) {
            throw noEngine("There is no engine " + ConfigException.shown(id), Optional.of(id));
        }
        return engine;
    }

    /** Why there is none to ask: it may be a moment before it is looked after again. */
    ApiError noEngine(String sentence, Optional<String> id) {
        Map<String, String> absent = operations.absent();
        Optional<String> one = id.filter(absent::containsKey)
                .or(() -> absent.keySet().stream().findFirst().filter(any -> id.isEmpty()));
        return one.map(each -> new ApiError(
                        503,
                        "Engine " + ConfigException.shown(each) + " is not looked after at the moment: "
                                + absent.get(each) + "; ask again later."))
                .orElseGet(() -> new ApiError(
                        404,
                        sentence
                                + (engines.isEmpty()
                                        ? "; none is looked after."
                                        : "; known are " + String.join(", ", engines.keySet()) + ".")));
    }

    static String parameter(RoutingContext context, String name) {
        return String.valueOf(context.pathParam(name));
    }

    /** A whole number of the query, in its bounds. */
    static int number(RoutingContext context, String name, int otherwise, int least, int most) {
        String written = context.request().getParam(name);
        if (written == null) {
            return otherwise;
        }
        int number = written.matches("[0-9]{1,7}") ? Integer.parseInt(written) : -1;
        if (number < least || number > most) {
            throw ApiError.badRequest(
                    name + " is " + ConfigException.shown(written) + "; write " + least + " to " + most + ".");
        }
        return number;
    }

    private void fail(RoutingContext context) {
        Throwable cause = context.failure();
        if (cause instanceof RequestBodies.HungUp || cause instanceof HttpClosedException) {
            LOG.debug("A client hung up before it was answered.");
            forget(context);
        } else if (cause instanceof ApiError error) {
            if (error.status() == 401) {
                context.response().putHeader("www-authenticate", "Bearer");
            } else if (error.status() == 429) {
                context.response().putHeader("retry-after", "1");
            }
            refuse(context, error.status(), error.sentence(), new JsonObject());
        } else if (cause instanceof RejectedExecutionException full) {
            refuse(context, 503, String.valueOf(full.getMessage()), new JsonObject());
        } else if (context.statusCode() >= 400 && context.statusCode() < 500) {
            refuse(context, context.statusCode(), refusal(context), new JsonObject());
        } else {
            LOG.error(
                    "{} {} failed.",
                    Metrics.method(context.request().method().name()),
                    ConfigException.shown(String.valueOf(context.request().path())),
                    cause);
            // What failed may quote what it failed at: that is for the log alone.
            refuse(context, 500, "The sidecar failed at this request; its log says where.", new JsonObject());
        }
    }

    private static String refusal(RoutingContext context) {
        String path = ConfigException.shown(String.valueOf(context.request().path()));
        return switch (context.statusCode()) {
            case 404 -> "There is nothing at " + path + ".";
            case 405 ->
                path + " does not take "
                        + Metrics.method(context.request().method().name()) + ".";
            default -> "The request is malformed (status " + context.statusCode() + ").";
        };
    }

    void reply(RoutingContext context, int status, JsonObject body) {
        send(context, status, JSON, body.toBuffer());
    }

    /** Answers with bytes that are for programs. */
    void reply(RoutingContext context, Buffer bytes) {
        send(context, 200, "application/octet-stream", bytes);
    }

    /** Answers with a problem: one sentence, and perhaps members beside it. */
    void refuse(RoutingContext context, int status, String sentence, JsonObject more) {
        send(
                context,
                status,
                PROBLEM,
                ApiJson.problem(status, sentence).mergeIn(more).toBuffer());
    }

    private void refuse(HttpServerRequest request, int status, String sentence) {
        send(request, status, PROBLEM, ApiJson.problem(status, sentence).toBuffer());
    }

    private void send(RoutingContext context, int status, String type, Buffer text) {
        String key = context.remove(REPEATED);
        if (key != null) {
            Optional<String> location =
                    Optional.ofNullable(context.response().headers().get("location"));
            repeated.ended(key, new RepeatedCalls.Answer(status, type, text, location));
        }
        send(context.request(), status, type, text);
    }

    /** Forgets a call whose answer nobody received, so that its repetition is carried out. */
    private void forget(RoutingContext context) {
        String key = context.remove(REPEATED);
        if (key != null) {
            repeated.forget(key);
        }
    }

    private void send(HttpServerRequest request, int status, String type, Buffer text) {
        HttpServerResponse response = request.response();
        if (response.ended() || response.closed()) {
            return;
        }
        boolean room = answers.take(text.length());
        Buffer sent = room
                ? text
                : ApiJson.problem(503, "Too many answers wait to be read by their clients; ask again later.")
                        .toBuffer();
        Future<Void> written = response.setStatusCode(room ? status : 503)
                .putHeader("content-type", room ? type : PROBLEM)
                .end(sent);
        guard.answering(request, sent.length(), written);
        if (room) {
            written.onComplete(done -> answers.give(text.length()));
        }
    }
}
