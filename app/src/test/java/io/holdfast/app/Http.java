package io.holdfast.app;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** A plain HTTP client of one server. */
public final class Http implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_LOOKS = 6_000;
    private static final long PAUSE_NANOS = Duration.ofMillis(5).toNanos();

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final URI server;

    public Http(URI server) {
        this.server = server;
    }

    URI server() {
        return server;
    }

    /** A status and a body. */
    public record Answer(int status, String text) {
        public JsonNode json() {
            try {
                return JSON.readTree(text);
            } catch (IOException e) {
                throw new AssertionError(text, e);
            }
        }
    }

    public Answer get(String path) {
        return send(HttpRequest.newBuilder(server.resolve(path)).GET());
    }

    public Answer post(String path, String body) {
        return send(HttpRequest.newBuilder(server.resolve(path))
                .header("content-type", "application/json")
                .POST(BodyPublishers.ofString(body)));
    }

    Answer delete(String path) {
        return send(HttpRequest.newBuilder(server.resolve(path)).DELETE());
    }

    /** Looks until the answer is the wanted one. */
    public Answer await(String path, Predicate<Answer> wanted) {
        Answer seen = get(path);
        for (int i = 0; i < MOST_LOOKS && !wanted.test(seen); i++) {
            LockSupport.parkNanos(PAUSE_NANOS);
            seen = get(path);
        }
        if (!wanted.test(seen)) {
            throw new AssertionError("Never came at " + path + "; last seen: " + seen);
        }
        return seen;
    }

    private Answer send(HttpRequest.Builder request) {
        try {
            HttpResponse<String> response =
                    client.send(request.timeout(Duration.ofSeconds(60)).build(), BodyHandlers.ofString());
            return new Answer(response.statusCode(), response.body());
        } catch (IOException e) {
            throw new AssertionError("No answer from " + server, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
    }
}
