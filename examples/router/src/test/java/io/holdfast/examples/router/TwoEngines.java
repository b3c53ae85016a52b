package io.holdfast.examples.router;

import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.FleetRunner;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.api.Tokenizer;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Two emulated engines with empty caches, and a fleet that hears both once a router has added them. */
final class TwoEngines implements AutoCloseable {
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

    /** Whoever routes to them. */
    interface Router {
        PrefixRouter.Target add(Emulator engine, int number) throws IOException;
    }

    final Fleet fleet = new Fleet(BLOCK);
    final List<PrefixRouter.Target> engines = new ArrayList<>();

    private final Vertx vertx = Vertx.vertx();
    private final FleetRunner runner =
            FleetRunner.start(fleet, Thread.ofPlatform().name("fleet").factory());
    private final HttpClient http = HttpClient.newHttpClient();
    private final List<Emulator> emulators = new ArrayList<>();

    /** With nobody connected to them yet. */
    TwoEngines(UnaryOperator<EmulatorSettings> kind) {
        EmulatorSettings settings = kind.apply(EmulatorSettings.defaults()
                .withTokenizer(Tokenizer.named("words"))
                .withPageTokens(BLOCK)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(0));
        Stream.generate(() -> Emulator.start(vertx, settings)).limit(2).forEach(emulators::add);
    }

    /** Has a router know them, and begins when it hears both. */
    TwoEngines routedBy(Router router) {
        try {
            for (Emulator each : emulators) {
                engines.add(router.add(each, engines.size()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        engines.forEach(this::meet);
        return this;
    }

    static TwoEngines routedByPrefix(PrefixRouter[] router, UnaryOperator<EmulatorSettings> kind) {
        TwoEngines two = new TwoEngines(kind);
        router[0] = new PrefixRouter(two.fleet);
        return two.routedBy((engine, number) -> router[0].add(
                engine.uri(), EngineOptions.sglang("engine " + number).withEvents(engine.eventsEndpoint())));
    }

    int cachedTokens(PrefixRouter.Target engine, int[] tokens) {
        return fleet.match(tokens).tokens(engine.engine());
    }

    /** Sends a prompt through the router's own client. */
    Answer send(PrefixRouter.Target engine, int[] prompt) {
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
    void awaitHeard(PrefixRouter.Target engine, int[] tokens) {
        int full = tokens.length / BLOCK * BLOCK;
        Eventually.see("the router hears what is stored", () -> cachedTokens(engine, tokens) == full);
    }

    /** A subscription is in force some time after it was asked for: what the engine stored before is never heard. */
    private void meet(PrefixRouter.Target engine) {
        int[] greetings = {0};
        Eventually.see("the router hears the engine", () -> {
            send(engine, greeting(greetings[0]++));
            return heard(engine, greetings[0]);
        });
        flush(engine.url());
        Eventually.see("the router hears that the cache is empty", () -> !heard(engine, greetings[0]));
    }

    private boolean heard(PrefixRouter.Target engine, int greetings) {
        return IntStream.range(0, greetings).anyMatch(i -> cachedTokens(engine, greeting(i)) > 0);
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

    @Override
    public void close() {
        runner.close();
        http.close();
        emulators.forEach(Emulator::close);
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
