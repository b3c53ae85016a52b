package io.holdfast.loadtest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;

/** Blocking HTTP for what is not load: readiness, flush, the sidecar's API. */
final class ControlHttp implements AutoCloseable {
    static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient http;
    private final String base;
    private final Map<String, String> headers;
    private final Duration limit;

    ControlHttp(URI base, Map<String, String> headers, Duration limit) {
        this.http = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(limit)
                .build();
        String text = base.toString();
        this.base = text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
        this.headers = Map.copyOf(headers);
        this.limit = limit;
    }

    Answer get(String path) throws IOException {
        return send(request(path).GET());
    }

    Answer post(String path, String json) throws IOException {
        return send(request(path).header("content-type", "application/json").POST(BodyPublishers.ofString(json)));
    }

    Answer delete(String path) throws IOException {
        return send(request(path).DELETE());
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(base + path)).timeout(limit);
        headers.forEach(request::header);
        return request;
    }

    private Answer send(HttpRequest.Builder request) throws IOException {
        try {
            HttpResponse<String> response = http.send(request.build(), BodyHandlers.ofString());
            return new Answer(response.statusCode(), response.body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was interrupted while it waited for " + base + ".", e);
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
        http.close();
    }

    /** What was answered. */
    record Answer(int status, String text) {
        boolean isOk() {
            return status >= 200 && status < 300;
        }

        /** The body; a missing node when it is no JSON. */
        JsonNode json() {
            try {
                return JSON.readTree(text);
            } catch (JsonProcessingException e) {
                return MissingNode.getInstance();
            }
        }

        /** The error that the answer names, or its first line. */
        String problem() {
            JsonNode error = json().path("error");
            if (error.isTextual()) {
                return error.asText();
            }
            return status + " " + text.strip().lines().findFirst().orElse("");
        }
    }
}
