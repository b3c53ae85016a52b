package io.holdfast.loadtest.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.KeyCertOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A real HTTP server that answers as a test tells it to, rightly or wrongly. By default it knows one prefix, which a
 * flood evicts unless it is held.
 */
public final class StubEngine implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpServer server;
    private final String scheme;
    public final List<JsonNode> bodies = new CopyOnWriteArrayList<>();
    public final List<String> paths = new CopyOnWriteArrayList<>();
    public final List<Map<String, String>> headers = new CopyOnWriteArrayList<>();
    public final AtomicInteger connections = new AtomicInteger();
    private final List<Future<Void>> closes = new CopyOnWriteArrayList<>();
    public final AtomicInteger inFlight = new AtomicInteger();
    public final AtomicInteger mostInFlight = new AtomicInteger();
    public final AtomicInteger flushRefusals = new AtomicInteger();
    public final AtomicInteger flushes = new AtomicInteger();
    public volatile int health = 200;
    public volatile boolean held;
    public volatile String serverInfo = "{\"page_size\":16,\"max_total_num_tokens\":200,\"version\":\"stub\"}";
    public volatile Script models = status(404, "no list");
    public volatile Function<JsonNode, Script> answers;
    /** What it says when a session is to be closed. */
    public volatile Script sessionCloses = status(200, "");

    /** None, unless a test has some. */
    public volatile Script metrics = status(404, "");

    /** What it says to tokens whose text is asked for. */
    public volatile Script texts = status(404, "");

    private volatile int @Nullable [] cachedPrefix;
    private volatile int prefixTokens;

    /** What is sent in answer to one completion. */
    public interface Script {
        void play(HttpServerRequest request);
    }

    private StubEngine(Vertx vertx, HttpServerOptions options) {
        answers = this::asCache;
        scheme = options.isSsl() ? "https" : "http";
        server = vertx.createHttpServer(options.setHost("127.0.0.1").setPort(0))
                .connectionHandler(connection -> {
                    connections.incrementAndGet();
                    Promise<Void> closed = Promise.promise();
                    closes.add(closed.future());
                    connection.closeHandler(ended -> closed.complete());
                })
                .requestHandler(this::route);
    }

    public static StubEngine start(Vertx vertx, int prefixTokens) {
        return start(vertx, prefixTokens, new HttpServerOptions());
    }

    /** Behind TLS. */
    public static StubEngine start(Vertx vertx, int prefixTokens, KeyCertOptions identity) {
        return start(vertx, prefixTokens, new HttpServerOptions().setSsl(true).setKeyCertOptions(identity));
    }

    private static StubEngine start(Vertx vertx, int prefixTokens, HttpServerOptions options) {
        StubEngine engine = new StubEngine(vertx, options);
        engine.prefixTokens = prefixTokens;
        try {
            engine.server.listen().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return engine;
    }

    public URI uri() {
        return URI.create(scheme + "://127.0.0.1:" + server.actualPort());
    }

    /** Completes when every connection that there ever was is closed. */
    public CompletableFuture<?> closeOfAllConnections() {
        return Future.join(closes).toCompletionStage().toCompletableFuture();
    }

    private void route(HttpServerRequest request) {
        paths.add(request.method() + " " + request.path());
        headers.add(request.headers().entries().stream()
                .collect(Collectors.toMap(
                        header -> header.getKey().toLowerCase(Locale.ROOT), Map.Entry::getValue, (one, two) -> two)));
        switch (String.valueOf(request.path())) {
            case "/health" -> request.response().setStatusCode(health).end();
            case "/server_info" -> request.response().end(serverInfo);
            case "/metrics" -> metrics.play(request);
            case "/v1/models" -> models.play(request);
            case "/detokenize" -> texts.play(request);
            case "/close_session" -> sessionCloses.play(request);
            case "/flush_cache" -> {
                boolean refused = flushRefusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
                if (!refused) {
                    cachedPrefix = null;
                    held = false;
                    flushes.incrementAndGet();
                }
                request.response().setStatusCode(refused ? 400 : 200).end(refused ? "pending requests" : "flushed");
            }
            default ->
                request.bodyHandler(body -> {
                    JsonNode json = body.length() == 0 ? MissingNode.getInstance() : parse(body.getBytes());
                    bodies.add(json);
                    mostInFlight.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
                    HttpServerResponse response = request.response();
                    response.endHandler(ended -> inFlight.decrementAndGet());
                    answers.apply(json).play(request);
                });
        }
    }

    private Script asCache(JsonNode body) {
        int[] tokens = JSON.convertValue(body.path("input_ids"), int[].class);
        int max = body.path("sampling_params").path("max_new_tokens").asInt();
        int[] known = cachedPrefix;
        boolean primes = tokens.length == prefixTokens;
        boolean probes = known != null && startsWith(tokens, known);
        if (primes) {
            cachedPrefix = tokens;
            held |= body.has("session_id");
        } else if (!probes && !held) {
            cachedPrefix = null;
        }
        if (tokens.length > prefixTokens && !probes && known == null) {
            // A probe that found nothing brings its prefix back.
            cachedPrefix = java.util.Arrays.copyOf(tokens, prefixTokens);
        }
        return stream(tokens.length, max, OptionalInt.of(probes && !primes ? prefixTokens : 0));
    }

    private static boolean startsWith(int[] tokens, int[] prefix) {
        return tokens.length >= prefix.length
                && java.util.Arrays.equals(tokens, 0, prefix.length, prefix, 0, prefix.length);
    }

    /** A proper stream in the manner of SGLang's own route. */
    public static Script stream(int prompt, int completion, OptionalInt cached) {
        return request -> {
            HttpServerResponse response = request.response().setChunked(true);
            response.putHeader("content-type", "text/event-stream");
            StringBuilder text = new StringBuilder();
            for (int i = 1; i <= completion; i++) {
                text.append(" a");
                response.write(
                        "data: {\"text\":\"%s\",\"meta_info\":{\"prompt_tokens\":%d,\"completion_tokens\":%d%s%s}}\n\n"
                                .formatted(
                                        text,
                                        prompt,
                                        i,
                                        cached.isPresent() ? ",\"cached_tokens\":" + cached.getAsInt() : "",
                                        i == completion ? ",\"finish_reason\":{\"type\":\"length\"}" : ""));
            }
            response.end("data: [DONE]\n\n");
        };
    }

    /** A tokenizer's answer, which has no text for ids beyond its vocabulary. */
    public static Script textsOf(int vocabulary) {
        return request -> request.bodyHandler(body -> {
            StringBuilder text = new StringBuilder();
            parse(body.getBytes())
                    .path("tokens")
                    .forEach(token -> text.append(token.asInt() < vocabulary ? " " + token.asInt() : ""));
            request.response()
                    .end(JSON.createObjectNode().put("text", text.toString()).toString());
        });
    }

    /** These bytes as a stream, and a regular end. */
    public static Script events(String text) {
        return request -> request.response().setChunked(true).end(text);
    }

    public static Script status(int status, String body) {
        return request -> request.response().setStatusCode(status).end(body);
    }

    /** Says a little and closes the connection. */
    public static Script breakAfter(String text) {
        return request -> request.response()
                .setChunked(true)
                .write(text)
                .onComplete(written -> request.connection().close());
    }

    /** Begins a stream and never ends it. */
    public static Script stall() {
        return request -> request.response().setChunked(true).write(": still here\n\n");
    }

    private static JsonNode parse(byte[] body) {
        try {
            return JSON.readTree(body);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            server.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
