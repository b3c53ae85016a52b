package io.holdfast.sidecar.client;

import io.holdfast.embed.ViewSource;
import io.holdfast.sidecar.config.FleetConfig;
import io.holdfast.sidecar.config.PemFiles;
import io.holdfast.sidecar.config.Secret;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Views from sidecars that follow the same engines by the same names; one that does not answer has none. */
public final class SiblingViews implements AutoCloseable {
    private static final Duration CONNECTING = Duration.ofSeconds(2);
    private static final Duration LIMIT = Duration.ofSeconds(15);
    /** The largest view has 16 M blocks of 9 bytes, and what it counts. */
    private static final long MOST_BYTES = 512L << 20;

    private final HttpClient client;
    private final List<URI> apis;
    private final Optional<Secret> token;

    private SiblingViews(HttpClient client, List<URI> apis, Optional<Secret> token) {
        this.client = client;
        this.apis = apis;
        this.token = token;
    }

    /**
     * Creates the client, which asks nobody yet; absent where the configuration names no siblings.
     *
     * @param token that they act by, since the names of a cache's blocks answer any guess of a prompt
     * @throws IOException with one sentence, where a file of certificates cannot be used
     */
    public static Optional<SiblingViews> of(FleetConfig config, Optional<Secret> token) throws IOException {
        if (config.siblings().isEmpty()) {
            return Optional.empty();
        }
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(CONNECTING)
                .followRedirects(HttpClient.Redirect.NEVER);
        if (config.caFile().isPresent()) {
            builder.sslContext(PemFiles.trust(config.caFile().get(), "fleet.caFile"));
        }
        return Optional.of(new SiblingViews(builder.build(), config.siblings(), token));
    }

    /** Returns a source for each of them. */
    public List<ViewSource> sources() {
        return apis.stream()
                .<ViewSource>map(api -> (engineId, rank) -> ask(api, engineId, rank))
                .toList();
    }

    private CompletionStage<Optional<byte[]>> ask(URI api, String engineId, int rank) {
        URI tree;
        try {
            tree = URI.create(api.toString().replaceAll("/+$", "") + "/api/v1/engines/"
                    + URLEncoder.encode(engineId, StandardCharsets.UTF_8) + "/tree?rank=" + rank);
        } catch (IllegalArgumentException e) {
            return CompletableFuture.failedFuture(e);
        }
        HttpRequest.Builder request = HttpRequest.newBuilder(tree).timeout(LIMIT);
        token.ifPresent(secret -> request.header("Authorization", secret.bearer()));
        return client.sendAsync(request.GET().build(), BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_BYTES))
                .thenApply(answer -> Optional.of(answer)
                        .filter(given -> given.statusCode() == 200)
                        .map(HttpResponse::body));
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
