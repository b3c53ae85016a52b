package io.holdfast.sidecar.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.Secret;
import io.holdfast.sidecar.config.SidecarException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Optional;

/** Calls of the API of a running sidecar by another process of this machine; each waits for its answer. */
public final class SidecarCalls implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Longer than the API takes for anything. */
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private static final Duration CONNECTING = Duration.ofSeconds(5);

    private final URI api;
    private final Optional<Secret> token;
    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECTING)
            .build();

    /** An answer; the JSON is missing where there was none. */
    public record Answer(int status, JsonNode json) {
        /** One sentence, as the API gives for whatever it does not do. */
        public String error() {
            return json.path("detail").asText("HTTP " + status + " without a word.");
        }
    }

    private SidecarCalls(URI api, Optional<Secret> token) {
        this.api = api;
        this.token = token;
    }

    /**
     * Returns a client of the API at an address.
     *
     * @throws SidecarException with one sentence, when there is no such address or no such token
     */
    public static SidecarCalls open(URI api, Optional<String> tokenEnv) {
        if (!"http".equalsIgnoreCase(api.getScheme()) || api.getHost() == null) {
            throw new SidecarException("--sidecar is " + ConfigException.shown(api.toString())
                    + "; write where its API is, such as http://127.0.0.1:8471.");
        }
        try {
            return new SidecarCalls(
                    api,
                    tokenEnv.isEmpty()
                            ? Optional.empty()
                            : Optional.of(Secret.read(System.getenv(), tokenEnv.get(), "listen.actTokenEnv")));
        } catch (IOException e) {
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        }
    }

    public URI api() {
        return api;
    }

    public Answer get(String path) {
        return send(request(path).GET());
    }

    public Answer delete(String path) {
        return send(request(path).DELETE());
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create(api.toString().replaceAll("/+$", "") + path))
                .timeout(LIMIT);
        token.ifPresent(secret -> request.header("Authorization", secret.bearer()));
        return request;
    }

    private Answer send(HttpRequest.Builder request) {
        try {
            HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
            return new Answer(response.statusCode(), json(response.body()));
        } catch (IOException e) {
            throw new SidecarException(
                    "No sidecar answers at " + api + "; name where its API is with --sidecar, or start it.", e);
        } catch (IllegalArgumentException e) {
            throw new SidecarException(
                    "--sidecar is " + ConfigException.shown(api.toString()) + ", where nothing can be" + " asked ("
                            + e.getMessage() + "); write the address of its API, such as http://127.0.0.1:8471.",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SidecarException("It was interrupted while the sidecar at " + api + " was asked; try again.", e);
        }
    }

    private static JsonNode json(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            return JSON.missingNode();
        }
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
