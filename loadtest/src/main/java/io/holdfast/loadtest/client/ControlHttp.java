package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.http.EngineJson;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Blocking HTTP for what is not load: readiness, flush, the sidecar's API. */
final class ControlHttp implements AutoCloseable {
    static final ObjectMapper JSON = new ObjectMapper();

    /** An address that nobody has is known sooner than an engine that is slow to answer. */
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(4);

    private final HttpClient http;
    private final String base;
    private final Map<String, String> headers;
    /** The most that a whole exchange may take. */
    private final Duration limit;

    ControlHttp(URI base, Map<String, String> headers, Duration limit) {
        this(base, headers, Optional.empty(), limit);
    }

    ControlHttp(URI base, Map<String, String> headers, Optional<TrustedCa> ca, Duration limit) {
        HttpClient.Builder client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(limit.compareTo(CONNECT_LIMIT) < 0 ? limit : CONNECT_LIMIT);
        ca.map(TrustedCa::context).ifPresent(client::sslContext);
        this.http = client.build();
        this.base = withoutEndSlashes(base.toString());
        this.headers = Map.copyOf(headers);
        this.limit = limit;
    }

    /** Returns the text in a form that a path beginning with a slash can follow. */
    static String withoutEndSlashes(String text) {
        int end = text.length();
        while (end > 0 && text.charAt(end - 1) == '/') {
            end--;
        }
        return text.substring(0, end);
    }

    /** Returns a server's message in a form that fits into a sentence of ours. */
    static String withoutEnd(String told) {
        String text = told.strip();
        return text.endsWith(".") ? text.substring(0, text.length() - 1) : text;
    }

    Answer get(String path) throws IOException {
        return get(path, limit);
    }

    /** @param within the most that it may take */
    Answer get(String path, Duration within) throws IOException {
        return send(request(path).GET(), within);
    }

    Answer post(String path, String json) throws IOException {
        return post(path, json, limit);
    }

    /** @param within the most that it may take */
    Answer post(String path, String json, Duration within) throws IOException {
        return send(
                request(path).header("content-type", "application/json").POST(BodyPublishers.ofString(json)), within);
    }

    Answer delete(String path) throws IOException {
        return send(request(path).DELETE());
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
        headers.forEach(request::header);
        return request;
    }

    private Answer send(HttpRequest.Builder request) throws IOException {
        return send(request, limit);
    }

    private Answer send(HttpRequest.Builder request, Duration within) throws IOException {
        // The time-out of a request ends with the headers of its answer; this bound includes the body.
        CompletableFuture<HttpResponse<String>> exchange = http.sendAsync(request.build(), BodyHandlers.ofString());
        try {
            HttpResponse<String> response = exchange.get(within.toMillis(), TimeUnit.MILLISECONDS);
            return new Answer(response.statusCode(), response.body());
        } catch (TimeoutException e) {
            throw new IOException("There was no whole answer within " + within.toMillis() + " ms.", e);
        } catch (ExecutionException e) {
            throw new IOException(String.valueOf(e.getCause()), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was interrupted while it waited for " + base + ".", e);
        } finally {
            exchange.cancel(true);
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
        http.close();
    }

    /** A server's answer. */
    record Answer(int status, String text) {
        boolean isOk() {
            return status >= 200 && status < 300;
        }

        /** The body; a missing node when it is no JSON. */
        JsonNode json() {
            return EngineJson.read(text);
        }

        /**
         * Returns the problem that the answer names: a sidecar's problem details, an engine's error, or its first line.
         */
        String problem() {
            JsonNode detail = json().path("detail");
            if (detail.isTextual() && json().path("status").isInt()) {
                return detail.asText();
            }
            JsonNode error = json().path("error");
            if (error.isTextual()) {
                return error.asText();
            }
            String message = error.path("message").asText(json().path("message").asText(""));
            if (!message.isEmpty()) {
                return status + " " + message;
            }
            String line = text.strip().lines().findFirst().orElse("");
            return line.isEmpty() || line.startsWith("<") ? String.valueOf(status) : status + " " + line;
        }
    }
}
