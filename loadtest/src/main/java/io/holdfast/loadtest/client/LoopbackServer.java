package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * A server in this process that streams tokens nobody computed, at a pace of its own, and knows when it wrote each of
 * them: what a client says of it beyond that is the client's own doing.
 *
 * <p>It lives on an event loop of its own, which no client shares. A pace of no time at all has it write as fast as the
 * connection takes it.
 */
final class LoopbackServer implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final CompletionRoute route;
    private final Duration pace;
    private final LongSupplier nanos;
    private final Vertx vertx;
    private final HttpServer server;
    private final Map<Integer, long[]> stamps = new ConcurrentHashMap<>();

    /** @param pace between two tokens, and before the first */
    LoopbackServer(CompletionRoute route, Duration pace, LongSupplier nanos) {
        this.vertx = Vertx.vertx(new VertxOptions()
                .setEventLoopPoolSize(1)
                .setWorkerPoolSize(1)
                .setFileSystemOptions(
                        new FileSystemOptions().setFileCachingEnabled(false).setClassPathResolvingEnabled(false)));
        this.route = route;
        this.pace = pace;
        this.nanos = nanos;
        HttpServerOptions options =
                new HttpServerOptions().setHost("127.0.0.1").setPort(0).setTcpNoDelay(true);
        this.server = EngineClient.await(
                vertx.createHttpServer(options)
                        // A client that was told to stop goes away in the middle, which is nothing to print.
                        .connectionHandler(connection -> connection.exceptionHandler(told -> {}))
                        .requestHandler(this::answer)
                        .listen(),
                LIMIT,
                "starting a server of the client's own");
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.actualPort());
    }

    /** Returns the times at which the tokens were written of the request whose prompt begins with that token. */
    long[] stampsOf(int firstToken) {
        return stamps.getOrDefault(firstToken, new long[0]);
    }

    private void answer(HttpServerRequest request) {
        request.body().onSuccess(body -> {
            try {
                JsonNode asked = JSON.readTree(body.getBytes());
                JsonNode most = asked.path("max_tokens");
                int tokens = most.isInt()
                        ? most.asInt()
                        : asked.path("sampling_params").path("max_new_tokens").asInt(1);
                JsonNode prompt = asked.has("prompt") ? asked.path("prompt") : asked.path("input_ids");
                HttpServerResponse response =
                        request.response().setChunked(true).putHeader("content-type", "text/event-stream");
                new Answer(response, tokens, prompt.size(), prompt.path(0).asInt()).next();
            } catch (IOException e) {
                request.response().setStatusCode(400).end(String.valueOf(e.getMessage()));
            }
        });
    }

    @Override
    public void close() {
        EngineClient.await(vertx.close(), LIMIT, "stopping the client's own server");
    }

    /** One stream under way. */
    private final class Answer {
        private final HttpServerResponse response;
        private final int tokens;
        private final int promptTokens;
        private final long[] written;
        private final long began = nanos.getAsLong();
        private final Context loop = vertx.getOrCreateContext();
        private int next;

        Answer(HttpServerResponse response, int tokens, int promptTokens, int id) {
            this.response = response;
            this.tokens = tokens;
            this.promptTokens = promptTokens;
            this.written = new long[tokens];
            stamps.put(id, written);
        }

        void next() {
            long due = began + (next + 1L) * pace.toNanos();
            long wait = (due - nanos.getAsLong()) / 1_000_000;
            if (pace.isZero() || wait < 1) {
                loop.runOnContext(ignored -> write());
            } else {
                vertx.setTimer(wait, fired -> write());
            }
        }

        private void write() {
            if (response.closed()) {
                return;
            }
            Buffer event = Buffer.buffer(route.sample(next + 1, tokens, promptTokens));
            written[next] = nanos.getAsLong();
            next++;
            if (next == tokens) {
                response.end(event);
            } else {
                response.write(event);
                next();
            }
        }
    }
}
