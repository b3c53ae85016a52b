package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.FileViewSource;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.FleetRunner;
import io.holdfast.embed.PrefixMatch;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.events.EventSource;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.http.HttpClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A router that dies in the middle of its work, beside engines that no longer repeat how they began. */
class RestartedRouterTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int DECISIONS = DEEP ? 2_000 : 600;
    private static final int BLOCK = 16;
    private static final int ENGINES = 3;
    private static final int WRITTEN_EVERY = 25;
    /** What was written last is within it, and the beginning is not: an engine makes a batch or two a request. */
    private static final int REPEATS = DECISIONS / 10;

    @TempDir
    private Path directory;

    /**
     * What the second router did not know.
     *
     * @param blind decisions made while what an engine has was not certain
     * @param unforeseen decisions that found more cached than the router knew
     */
    private record Ignorance(long blind, long unforeseen, long viewsTaken) {}

    @Test
    void restartedRouter_withItsLastView_decidesBlindlyForAMomentOnly() throws Exception {
        Ignorance without = play(false);
        Ignorance with = play(true);
        System.out.printf(
                "Of %d decisions, the router killed after half of them: without a view %d are blind and %d find more"
                        + " cached than was known; with the last one written, %d and %d.%n",
                DECISIONS, without.blind, without.unforeseen, with.blind, with.unforeseen);
        assertThat(without.viewsTaken).isZero();
        assertThat(without.blind).as("until the cache is cleared").isEqualTo(DECISIONS / 2);
        assertThat(without.unforeseen).isPositive();
        assertThat(with.viewsTaken).isEqualTo(ENGINES);
        assertThat(with.blind).isLessThan(without.blind / 4);
        assertThat(with.unforeseen).isLessThan(without.unforeseen);
    }

    private Ignorance play(boolean views) throws Exception {
        EmulatorSettings settings = EmulatorSettings.defaults()
                .withTokenizer(Tokenizer.named("words"))
                .withPageTokens(BLOCK)
                .withCapacityTokens(1 << 16)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(0)
                .withEndpoints(Endpoints.FREE.withReplay(0).withRepeats(REPEATS));
        Vertx vertx = Vertx.vertx();
        List<Emulator> emulators = Stream.generate(() -> Emulator.start(vertx, settings))
                .limit(ENGINES)
                .toList();
        FileViewSource files = new FileViewSource(directory, Runnable::run);
        Random random = new Random(1);
        List<int[]> systems = IntStream.range(0, 200)
                .mapToObj(i -> random.ints(256, 0, 30_000).toArray())
                .toList();
        try (HttpClient http = HttpClient.newHttpClient()) {
            Router first = new Router(emulators, views, files);
            try (FleetRunner _ = runner(first.fleet)) {
                Eventually.see(
                        "the router hears all engines",
                        () -> first.fleet.engines().stream()
                                .allMatch(engine ->
                                        engine.subscriptions().stream().anyMatch(each -> each.connected())));
                for (int i = 0; i < DECISIONS / 2; i++) {
                    first.decide(http, systems, random, i);
                    if (views && i % WRITTEN_EVERY == 0) {
                        for (Engine engine : first.fleet.engines()) {
                            files.keep(
                                    engine.id(),
                                    engine.snapshot().toCompletableFuture().join());
                        }
                    }
                }
            }
            // Nothing is written on the way out: what the file has is as old as a kill finds it.
            Router second = new Router(emulators, views, files);
            long unforeseen = 0;
            try (FleetRunner _ = runner(second.fleet)) {
                for (int i = DECISIONS / 2; i < DECISIONS; i++) {
                    unforeseen += second.decide(http, systems, random, i) ? 1 : 0;
                }
                List<Engine> engines = second.fleet.engines();
                return new Ignorance(
                        engines.stream().mapToLong(Engine::blind).max().orElseThrow(),
                        unforeseen,
                        engines.stream().mapToLong(Engine::viewsTaken).sum());
            }
        } finally {
            emulators.forEach(Emulator::close);
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    private static FleetRunner runner(Fleet fleet) {
        return FleetRunner.start(fleet, Thread.ofPlatform().name("fleet").factory());
    }

    /** One life of a router. */
    private static final class Router {
        final Fleet fleet = new Fleet(BLOCK);
        private final List<PrefixRouter.Target> targets = new ArrayList<>();

        Router(List<Emulator> emulators, boolean views, FileViewSource files) {
            for (Emulator each : emulators) {
                EngineOptions options = EngineOptions.sglang("engine " + emulators.indexOf(each))
                        .withEvents(EventSource.of(each.eventsEndpoint(), "")
                                .withReplay(each.replayEndpoint().orElseThrow()));
                targets.add(new PrefixRouter.Target(each.uri(), fleet.add(views ? options.withViews(files) : options)));
            }
        }

        /** Sends a prompt where most of it is; returns true if the engine had more of it than was known. */
        boolean decide(HttpClient http, List<int[]> systems, Random random, int number)
                throws IOException, InterruptedException {
            int[] system = systems.get(random.nextInt(systems.size()));
            int[] prompt = Session.joined(system, random.ints(40, 0, 30_000).toArray());
            PrefixMatch match = fleet.match(prompt);
            PrefixRouter.Target best = targets.get(number % ENGINES);
            for (PrefixRouter.Target each : targets) {
                best = match.tokens(each.engine()) > match.tokens(best.engine()) ? each : best;
            }
            JsonObject answer = new JsonObject(Main.forward(http, best.url(), prompt));
            JsonObject details = answer.getJsonObject("usage").getJsonObject("prompt_tokens_details");
            return (details == null ? 0 : details.getInteger("cached_tokens")) > match.tokens(best.engine());
        }
    }
}
