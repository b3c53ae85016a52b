package io.holdfast.emulator;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** An HTTP client that speaks as the engine's users do. */
final class Client implements AutoCloseable {
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final URI base;

    Client(URI base) {
        this.base = base;
    }

    HttpResponse<String> get(String path) {
        return send(HttpRequest.newBuilder(base.resolve(path)).build());
    }

    HttpResponse<String> post(String path, String body) {
        return send(request(path, body));
    }

    CompletableFuture<HttpResponse<String>> postAsync(String path, JsonObject body) {
        return http.sendAsync(request(path, body.encode()), HttpResponse.BodyHandlers.ofString());
    }

    /** Serves the prompt with one token and returns how much of it was cached. */
    int cachedTokens(int[] prompt) {
        return new JsonObject(post("/generate", generate(prompt, 1).encode()).body())
                .getJsonObject("meta_info")
                .getInteger("cached_tokens");
    }

    int pin(String verb, long... blocks) {
        JsonArray hashes = new JsonArray();
        for (long block : blocks) {
            hashes.add(block);
        }
        String body = new JsonObject().put("block_hashes", hashes).encode();
        return new JsonObject(post("/hicache/" + verb + "_blocks", body).body()).getInteger(verb + "ned_count");
    }

    double metric(String sample) {
        return sample(sample).orElseThrow(() -> new AssertionError("There is no sample " + sample + "."));
    }

    /** A counter that was never counted has no sample, as on the real server. */
    boolean counted(String sample, double times) {
        return sample(sample).orElse(0) == times;
    }

    private OptionalDouble sample(String name) {
        Matcher line = Pattern.compile("(?m)^sglang:" + Pattern.quote(name) + "(?:\\{[^}]*})? (\\S+)$")
                .matcher(get("/metrics").body());
        return line.find() ? OptionalDouble.of(Double.parseDouble(line.group(1))) : OptionalDouble.empty();
    }

    static JsonObject generate(int[] prompt, int maxNew) {
        return new JsonObject()
                .put("input_ids", ids(prompt))
                .put("sampling_params", new JsonObject().put("max_new_tokens", maxNew));
    }

    static JsonArray ids(int[] prompt) {
        List<Integer> list = new ArrayList<>();
        for (int token : prompt) {
            list.add(token);
        }
        return new JsonArray(list);
    }

    /** Prompts of different numbers share no token; all are within the vocabulary. */
    static int[] prompt(int number, int tokens) {
        return IntStream.range(0, tokens).map(i -> number * 200 + i).toArray();
    }

    private HttpRequest request(String path, String body) {
        return HttpRequest.newBuilder(base.resolve(path))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
    }

    private HttpResponse<String> send(HttpRequest request) {
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        http.shutdownNow();
    }
}
