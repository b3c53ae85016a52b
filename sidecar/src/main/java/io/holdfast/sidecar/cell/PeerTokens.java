package io.holdfast.sidecar.cell;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.TokenSource;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.FleetConfig;
import io.holdfast.sidecar.config.Peers;
import io.holdfast.sidecar.config.PemFiles;
import io.holdfast.sidecar.config.Secret;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Asks other sidecars for tokens, of holds that they took and of what is hot there: those that the configuration names, and
 * nobody else.
 *
 * <p>The address comes from a store, which may say anything. So it is compared with the configuration before anybody is
 * called, redirections are not followed, and of an answer no more is read than the hold has tokens.
 */
final class PeerTokens implements TokenSource, AutoCloseable {
    /** Route by which one sidecar asks another. */
    static final String PATH = "/api/v1/fleet/tokens";

    private static final Duration LIMIT = Duration.ofSeconds(5);
    /** A token has at most ten digits, and a comma. */
    private static final int BYTES_A_TOKEN = 12;

    private static final int BYTES_BESIDE = 1_024;

    private static final JsonFactory JSON = new JsonFactory();

    private final Peers peers;
    private final Optional<String> own;
    private final Optional<Secret> token;
    private final ExecutorService executor;
    private final HttpClient client;

    /**
     * Asks with the act token, which all sidecars of a fleet share.
     *
     * @throws IOException with one sentence, where a file of certificates cannot be used
     */
    PeerTokens(FleetConfig config, Optional<Secret> token, ExecutorService executor) throws IOException {
        this.peers = config.mayBeAsked();
        this.own = config.address().map(URI::toString);
        this.token = token;
        this.executor = executor;
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(LIMIT);
        if (config.caFile().isPresent()) {
            builder.sslContext(PemFiles.trust(config.caFile().get(), "fleet.caFile"));
        }
        this.client = builder.build();
    }

    @Override
    public Optional<String> whyNot(FleetHold hold) {
        if (hold.address().isEmpty()) {
            return Optional.of("the sidecar that took the hold says no address: write fleet.address there");
        }
        if (peers.none()) {
            return Optional.of("nobody may be asked for tokens: write fleet.peers here");
        }
        if (own.equals(Optional.of(hold.address()))) {
            return Optional.of("this sidecar began anew since it took the hold, and keeps no tokens of it: ask for it"
                    + " again, or declare it in the configuration");
        }
        return mayAsk(hold.address())
                ? Optional.empty()
                : Optional.of("the sidecar that took the hold is at "
                        + ConfigException.shown(hold.address())
                        + ", which fleet.peers does not cover (host and port; a peer without a port has "
                        + peers.usualPort() + "), or it is without https beyond this machine");
    }

    @Override
    public CompletionStage<int[]> tokens(FleetHold hold) {
        URI peer = url(hold.address()).orElseThrow();
        HttpRequest request = request(peer, "{\"hold\":\"" + hold.id() + "\"}");
        return answered(request, hold.tokens(), peer);
    }

    @Override
    public boolean mayAsk(String address) {
        return url(address).isPresent();
    }

    @Override
    public CompletionStage<int[]> tokens(String address, long name, int count) {
        URI peer = url(address).orElseThrow();
        HttpRequest request = request(peer, "{\"name\":\"" + HexFormat.of().toHexDigits(name) + "\"}");
        return answered(request, count, peer);
    }

    private Optional<URI> url(String address) {
        try {
            return Optional.of(URI.create(address)).filter(peers::may);
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private HttpRequest request(URI peer, String body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create(peer.getScheme() + "://" + peer.getRawAuthority() + PATH))
                .timeout(LIMIT)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body));
        token.ifPresent(secret -> request.header("Authorization", secret.bearer()));
        return request.build();
    }

    /** An answer that stops in its middle would be waited for without end. */
    private CompletionStage<int[]> answered(HttpRequest request, int most, URI peer) {
        String who = "the sidecar at " + peer.getRawAuthority();
        AtomicReference<Optional<InputStream>> open = new AtomicReference<>(Optional.empty());
        return CompletableFuture.supplyAsync(() -> ask(request, most, who, open), executor)
                .orTimeout(2 * LIMIT.toSeconds(), TimeUnit.SECONDS)
                .whenComplete((tokens, failure) -> open.get().ifPresent(PeerTokens::hangUp))
                .exceptionallyCompose(failure -> CompletableFuture.failedFuture(
                        failure instanceof TimeoutException || failure.getCause() instanceof TimeoutException
                                ? new IllegalStateException(who + " did not answer in time")
                                : failure));
    }

    private static void hangUp(InputStream body) {
        try {
            body.close();
        } catch (IOException e) {
            // It is of no use any more.
        }
    }

    private int[] ask(HttpRequest request, int most, String who, AtomicReference<Optional<InputStream>> open) {
        try {
            HttpResponse<InputStream> answer = client.send(request, BodyHandlers.ofInputStream());
            open.set(Optional.of(answer.body()));
            if (answer.statusCode() != 200) {
                throw new IllegalStateException(who + " answered with HTTP " + answer.statusCode()
                        + (answer.statusCode() == 401 || answer.statusCode() == 403
                                ? ": both need the same act token"
                                : ""));
            }
            return read(answer.body().readNBytes(most * BYTES_A_TOKEN + BYTES_BESIDE), most, who);
        } catch (IOException e) {
            throw new IllegalStateException(
                    who + " did not answer (" + e.getClass().getSimpleName() + ")", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("it was interrupted", e);
        }
    }

    private static int[] read(byte[] body, int most, String who) throws IOException {
        int[] tokens = new int[most];
        int count = 0;
        try (JsonParser json = JSON.createParser(body)) {
            boolean list = json.nextToken() == JsonToken.START_OBJECT
                    && "tokens".equals(json.nextFieldName())
                    && json.nextToken() == JsonToken.START_ARRAY;
            while (list && json.nextToken() == JsonToken.VALUE_NUMBER_INT && count < most) {
                tokens[count++] = (int) json.getLongValue();
            }
        }
        if (count != most) {
            throw new IllegalStateException(who + " sent " + count + " tokens in place of " + most);
        }
        return tokens;
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
