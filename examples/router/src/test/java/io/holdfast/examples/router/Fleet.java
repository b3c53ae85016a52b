package io.holdfast.examples.router;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.events.KvEventLoop;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Two emulated engines with empty caches, and a router that hears both. */
final class Fleet implements AutoCloseable {
    static final int BLOCK = 16;
    private static final Pattern SAID = Pattern.compile("t(\\d+)");

    /** What an engine answered, and how much of the prompt it had cached. */
    record Answer(int cachedTokens, String text) {
        /** The emulated model's words are its tokens. */
        int[] said() {
            return SAID.matcher(text)
                    .results()
                    .mapToInt(token -> Integer.parseInt(token.group(1)))
                    .toArray();
        }
    }

    final PrefixRouter router = new PrefixRouter(BLOCK);
    final List<PrefixRouter.Engine> engines;

    private final Vertx vertx = Vertx.vertx();
    private final KvEventLoop loop = new KvEventLoop(System::nanoTime);
    private final HttpClient http = HttpClient.newHttpClient();
    private final List<Emulator> emulators;
    private final Thread follower = Thread.ofPlatform().unstarted(this::follow);
    private volatile boolean closing;

    Fleet(int capacityTokens) {
        EmulatorSettings settings = EmulatorSettings.defaults()
                .withTokenizer(Tokenizer.named("words"))
                .withCapacityTokens(capacityTokens)
                .withPageTokens(BLOCK)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(0);
        emulators =
                Stream.generate(() -> Emulator.start(vertx, settings)).limit(2).toList();
        engines = emulators.stream()
                .map(each -> {
                    PrefixRouter.Engine engine = router.add(each.uri(), CacheTraits.sglang());
                    loop.subscribe(each.eventsEndpoint(), "", engine.cache());
                    return engine;
                })
                .toList();
        follower.start();
        engines.forEach(this::meet);
    }

    /** Sends a prompt through the router's own client. */
    Answer send(PrefixRouter.Engine engine, int[] prompt) {
        try {
            JsonObject answer = new JsonObject(Main.forward(http, engine.url(), prompt));
            JsonObject details = answer.getJsonObject("usage").getJsonObject("prompt_tokens_details");
            return new Answer(
                    details == null ? 0 : details.getInteger("cached_tokens"),
                    answer.getJsonArray("choices").getJsonObject(0).getString("text"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Blocks until the router has heard that the engine holds every full block of the tokens. */
    void awaitHeard(PrefixRouter.Engine engine, int[] tokens) {
        int full = tokens.length / BLOCK * BLOCK;
        Eventually.see("the router hears what is stored", () -> router.cachedTokens(engine, tokens) == full);
    }

    /** A subscription is in force some time after it was asked for: what the engine stored before is never heard. */
    private void meet(PrefixRouter.Engine engine) {
        int[] greetings = {0};
        Eventually.see("the router hears the engine", () -> {
            send(engine, greeting(greetings[0]++));
            return heard(engine, greetings[0]);
        });
        flush(engine.url());
        Eventually.see("the router hears that the cache is empty", () -> !heard(engine, greetings[0]));
    }

    private boolean heard(PrefixRouter.Engine engine, int greetings) {
        return IntStream.range(0, greetings).anyMatch(i -> router.cachedTokens(engine, greeting(i)) > 0);
    }

    private static int[] greeting(int number) {
        int[] tokens = new int[2 * BLOCK];
        Arrays.fill(tokens, 31_000 + number);
        return tokens;
    }

    private void flush(URI engine) {
        HttpRequest request = HttpRequest.newBuilder(engine.resolve("/flush_cache"))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        // Refused while the engine has not put its last request away.
        Eventually.see("the engine empties its cache", () -> {
            try {
                return http.send(request, HttpResponse.BodyHandlers.discarding())
                                .statusCode()
                        == 200;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        });
    }

    private void follow() {
        try (loop) {
            while (!closing) {
                loop.doWork(1000);
            }
        }
    }

    @Override
    public void close() {
        closing = true;
        loop.wakeup();
        try {
            follower.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        http.close();
        emulators.forEach(Emulator::close);
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
