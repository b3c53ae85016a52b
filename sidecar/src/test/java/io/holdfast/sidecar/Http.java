package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.http.ApiContract;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A plain HTTP client of one server. */
public final class Http implements AutoCloseable {
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final URI server;

    public Http(URI server) {
        this.server = server;
    }

    /** A status and a body. */
    public record Answer(int status, String text) {
        public JsonObject json() {
            return new JsonObject(text);
        }

        public String error() {
            return json().getString("detail");
        }
    }

    public Answer get(String path) {
        return send("GET", path, "");
    }

    public Answer delete(String path) {
        return send("DELETE", path, "");
    }

    public Answer post(String path, String body) {
        return send("POST", path, body);
    }

    public Answer send(String method, String path, String body, String... headers) {
        try {
            return answer(method, path, client.send(request(method, path, body, headers), BodyHandlers.ofString()));
        } catch (IOException e) {
            throw new UncheckedIOException(method + " " + path, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    CompletableFuture<Answer> postLater(String path, String body) {
        return client.sendAsync(request("POST", path, body), BodyHandlers.ofString())
                .thenApply(response -> answer("POST", path, response));
    }

    private HttpRequest request(String method, String path, String body, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(server.resolve(path))
                .timeout(Duration.ofSeconds(60))
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        if (!body.isEmpty() && !List.of(headers).contains("content-type")) {
            request.header("content-type", "application/json");
        }
        if (headers.length > 0) {
            request.headers(headers);
        }
        return request.build();
    }

    /** Whatever a test asks a sidecar is held against its document as well. */
    private static Answer answer(String method, String path, HttpResponse<String> response) {
        String type = response.headers().firstValue("content-type").orElse("");
        assertThat(ApiContract.OF_THE_SIDECAR.faults(method, path, response.statusCode(), type, response.body()))
                .as("%s %s answered %d %s", method, path, response.statusCode(), response.body())
                .isEmpty();
        return new Answer(response.statusCode(), response.body());
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
    }
}
