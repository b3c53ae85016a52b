package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.emulator.EmulatorSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Over sockets, by what the engines say that they found; no time is looked at. */
class HoldingRouterTest {
    private static final int SYSTEM = 512;
    private static final int USER = 40;
    private static final int ROUNDS = 4;
    /** A stock SGLang whose sessions protect a prefix. */
    private static EmulatorSettings stock(EmulatorSettings settings) {
        return settings.withSizes(4_096, TwoEngines.BLOCK, 1_024).withSglang(engine -> engine.withSessions(true));
    }

    @TempDir
    Path state;

    /** Four system prompts that come again after each flood, which is larger than both caches. */
    private record Traffic(List<int[]> systems, Random random) {
        static Traffic of(long seed) {
            Random random = new Random(seed);
            return new Traffic(
                    Stream.generate(() -> tokens(random, SYSTEM)).limit(4).toList(), random);
        }

        /** What the system prompts' requests found cached after the first round. */
        long play(Consumer<int[]> flood, Function<int[], TwoEngines.Answer> ask, Runnable afterTheFirst) {
            long cached = 0;
            for (int round = 0; round < ROUNDS; round++) {
                for (int[] system : systems) {
                    int found = ask.apply(Session.joined(system, tokens(random, USER)))
                            .cachedTokens();
                    cached += round == 0 ? 0 : found;
                }
                if (round == 0) {
                    afterTheFirst.run();
                }
                for (int i = 0; i < 20; i++) {
                    flood.accept(tokens(random, 600));
                }
            }
            return cached;
        }

        static int[] tokens(Random random, int count) {
            return random.ints(count, 0, 30_000).toArray();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void flood_leavesHeldPrefixes_andTakesThoseThatAreOnlyRoutedTo(long seed) throws IOException {
        long routed;
        PrefixRouter[] plain = new PrefixRouter[1];
        try (TwoEngines two = TwoEngines.routedByPrefix(plain, HoldingRouterTest::stock)) {
            routed = Traffic.of(seed)
                    .play(
                            prompt -> two.send(plain[0].choose(prompt), prompt),
                            prompt -> two.send(plain[0].choose(prompt), prompt),
                            () -> {});
        }
        long held;
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        try (TwoEngines two = new TwoEngines(HoldingRouterTest::stock);
                HoldingRouter router = new HoldingRouter(two.fleet, "model", state, timer)) {
            two.routedBy((engine, number) -> router.add("engine-" + number, engine.uri(), engine.eventsEndpoint()));
            Traffic traffic = Traffic.of(seed);
            traffic.systems().forEach(router::keep);
            Eventually.see(
                    "what both engines can do is known",
                    () -> views(two)
                            .allMatch(view -> view.capabilities().canPin()
                                    && view.readings().capacityTokens().number().isPresent()));

            held = traffic.play(
                    prompt -> two.send(router.choose(prompt), prompt),
                    prompt -> two.send(router.choose(prompt), prompt),
                    () -> Eventually.see("each system prompt is held", () -> held(two) == 4));
        } finally {
            timer.shutdownNow();
        }

        assertThat(held).as("all of each of them, each time").isGreaterThanOrEqualTo((ROUNDS - 1) * 4L * SYSTEM);
        assertThat(routed).as("without a hold").isLessThan(held / 2);
    }

    @Test
    void close_letsGoOfEverything() throws IOException {
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        try (TwoEngines two = new TwoEngines(HoldingRouterTest::stock)) {
            HoldingRouter router = new HoldingRouter(two.fleet, "model", state, timer);
            two.routedBy((engine, number) -> router.add("engine-" + number, engine.uri(), engine.eventsEndpoint()));
            int[] system = Traffic.tokens(new Random(3), SYSTEM);
            router.keep(system);
            int[] prompt = Session.joined(system, new int[USER]);
            two.send(router.choose(prompt), prompt);
            Eventually.see("it is held", () -> {
                router.choose(prompt);
                return held(two) == 1;
            });

            router.close();

            assertThat(held(two)).isZero();
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void keep_copies_bothEnginesOfOneProcessGetIt() throws IOException {
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        try (TwoEngines two = new TwoEngines(HoldingRouterTest::stock);
                HoldingRouter router = new HoldingRouter(two.fleet, "model", state, timer)) {
            two.routedBy((engine, number) -> router.add("engine-" + number, engine.uri(), engine.eventsEndpoint()));
            int[] system = Traffic.tokens(new Random(4), SYSTEM);

            Eventually.see(
                    "an engine takes part",
                    () -> router.keep(system, FleetHold.ALL).isPresent());
            Eventually.see("each engine holds it", () -> views(two).allMatch(view -> held(view) == 1));

            assertThat(views(two).flatMap(view -> view.holds().stream()))
                    .extracting(HoldView::heldTokens)
                    .containsExactly((long) SYSTEM, (long) SYSTEM);
        } finally {
            timer.shutdownNow();
        }
    }

    private static long held(EngineView view) {
        return view.holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .count();
    }

    private static long held(TwoEngines two) {
        return views(two).mapToLong(HoldingRouterTest::held).sum();
    }

    private static Stream<EngineView> views(TwoEngines two) {
        return IntStream.range(0, 2)
                .mapToObj(two.engines::get)
                .map(target -> target.engine().view().orElseThrow());
    }
}
