package io.holdfast.sidecar.client;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.sidecar.config.SidecarException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** A running sidecar's overview of its engines, asked from another process. */
public final class OverviewCalls implements AutoCloseable {
    private final SidecarCalls calls;

    private OverviewCalls(SidecarCalls calls) {
        this.calls = calls;
    }

    /**
     * Ready to ask; nothing is asked yet.
     *
     * @param tokenEnv the environment variable with a token, where reading needs one
     * @throws SidecarException with one sentence, when there is no such address or no such token
     */
    public static OverviewCalls open(URI api, Optional<String> tokenEnv) {
        return new OverviewCalls(SidecarCalls.open(api, tokenEnv));
    }

    /**
     * The document of {@code GET /api/v1/overview}.
     *
     * @param engine the one in detail; absent, that which somebody should look at first
     * @throws SidecarException with one sentence, when the sidecar does not answer or refuses
     */
    public JsonNode overview(Optional<String> engine) {
        return read(
                "/api/v1/overview"
                        + engine.map(id -> "?engine=" + URLEncoder.encode(id, StandardCharsets.UTF_8))
                                .orElse(""),
                "engines");
    }

    /**
     * The document of {@code GET /api/v1/fleet}.
     *
     * @throws SidecarException with one sentence, when the sidecar does not answer or refuses
     */
    public JsonNode fleet() {
        return read("/api/v1/fleet", "cells");
    }

    private JsonNode read(String path, String list) {
        SidecarCalls.Answer answer = calls.get(path);
        if (answer.status() == 401) {
            throw new SidecarException("The sidecar at " + calls.api()
                    + " answers nothing without a token; name its variable with --token-env.");
        }
        if (answer.status() != 200 || !answer.json().path(list).isArray()) {
            throw new SidecarException("What answers at " + calls.api() + " does not report its " + list + " ("
                    + answer.error() + "); see that --sidecar is where a sidecar's API is.");
        }
        return answer.json();
    }

    @Override
    public void close() {
        calls.close();
    }
}
