package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pins that leave no room for the largest request stop such an engine for good. One seeded storm of holds and requests is
 * sent twice: through the sidecar, whose hard guard has to prevent that, and past it, which shows that it would happen.
 */
class WedgeTest {
    private static final int CONTEXT = 1_030;
    private static final int ANSWER = 5;
    /** What the engine says it accepts, so what the guard keeps room for. */
    private static final int LARGEST_PROMPT = CONTEXT - 1 - 5;

    /** What it really accepts: an input has to be shorter than what it says. */
    private static final int LONGEST_SERVED = LARGEST_PROMPT - 1;

    private static final EmulatorSettings ENGINE =
            TestBed.fast().withVariant(Variant.PIN_GPU).withContextTokens(CONTEXT);

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    Path state;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void withTheGuard_theLargestRequestIsAlwaysAdmitted(long seed) {
        String keys = "readingsMillis: 50, tickMillis: 10";
        try (Emulator emulator = Emulator.start(vertx, ENGINE);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        SidecarConfig.parse(
                                "{listen: {port: 0}, stateDirectory: '" + state
                                        + "', engines: {demo: {type: sglang," + " url: '" + emulator.uri() + "', "
                                        + keys + "}}}",
                                "test"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            int[] first = EngineClient.prompt(8_000, 256);
            engine.generate(first);
            client.held(first);

            List<CompletableFuture<Http.Answer>> answers = new Storm(seed, engine)
                    .run(prefix ->
                            assertThat(client.hold(prefix, 3600).status()).isIn(201, 409, 503));

            for (CompletableFuture<Http.Answer> answer : answers) {
                EngineClient.cached(answer.orTimeout(60, TimeUnit.SECONDS).join());
            }
            // In the storm a bound may have come down and holds been let go; at rest what fits is held again.
            Eventually.see(
                    "something is held after the storm",
                    client::holds,
                    holds -> holds.stream().anyMatch(hold -> "held".equals(hold.getString("state"))));
            EngineClient.cached(engine.generateLater(EngineClient.prompt(9_999, LONGEST_SERVED), ANSWER)
                    .join());
            assertThat(client.holds()).anyMatch(hold -> "held".equals(hold.getString("state")));
            assertThat(engine.usedTokens())
                    .as("something is pinned, and room is left")
                    .isBetween(1L, (long) TestBed.CAPACITY - CONTEXT);
        }
    }

    @Test
    void shortPromptsThenTheLargest_withThreeKeysOnly_isServed() {
        try (Emulator emulator = Emulator.start(vertx, ENGINE);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        SidecarConfig.parse(
                                "{listen: {port: 0}, stateDirectory: '" + state
                                        + "', engines: {demo: {type: sglang, url: '" + emulator.uri() + "'}}}",
                                "test"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            List<int[]> prefixes = new ArrayList<>();
            for (int i = 0; i < 120; i++) {
                int[] prefix = EngineClient.prompt(i, 64);
                engine.generate(prefix);
                prefixes.add(prefix);
            }
            for (int i = 60; i < 120; i++) {
                assertThat(client.hold(prefixes.get(i), 3600).status()).isIn(201, 409, 503);
            }
            assertThat(engine.usedTokens()).isBetween(1L, (long) TestBed.CAPACITY - CONTEXT);
            EngineClient.cached(engine.generateLater(EngineClient.prompt(9_999, 1_000), 20)
                    .orTimeout(60, TimeUnit.SECONDS)
                    .join());
            EngineClient.cached(engine.generateLater(EngineClient.prompt(9_998, 20), 1)
                    .orTimeout(60, TimeUnit.SECONDS)
                    .join());
        }
    }

    @Test
    void pinsOfOthers_areLeftOutOfTheGuard() throws Exception {
        try (var executor = Executors.newVirtualThreadPerTaskExecutor();
                var timer = Executors.newSingleThreadScheduledExecutor();
                Emulator emulator = Emulator.start(vertx, ENGINE);
                EngineClient engine = new EngineClient(emulator.uri());
                EngineHttp http =
                        new EngineHttp(EngineHttpSettings.of(emulator.uri()), executor, timer, System::nanoTime)) {
            PinBlocksBackend backend = new PinBlocksBackend(http, timer);
            for (int i = 0; i < 3; i++) {
                int[] prefix = EngineClient.prompt(5_000 + i, 512);
                engine.generate(prefix);
                long[] blocks = SglangBlockNames.of(prefix, TestBed.BLOCK);
                backend.pin(new PinCommand(1, 0, new HoldRequest(blocks, Duration.ofMinutes(1)), blocks.length))
                        .toCompletableFuture()
                        .join();
            }
            engine.generate(EngineClient.prompt(5_100, 20));
            try (Sidecar sidecar = Sidecar.start(
                            vertx,
                            SidecarConfig.parse(
                                    "{listen: {port: 0}, stateDirectory: '" + state
                                            + "', engines: {demo: {type: sglang, url: '" + emulator.uri()
                                            + "', readingsMillis: 50, tickMillis: 10}}}",
                                    "test"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                Eventually.see(
                        "readyz names the pins of others",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("1536 tokens are pinned that are not ours"));
                assertThat(client.http.get("/metrics").text())
                        .contains("holdfast_foreign_pinned_tokens{engine=\"demo\"} 1536.0");
                client.ready();
                client.hear(engine);
                int[] beside = EngineClient.prompt(0, 256);
                engine.generate(beside);
                Http.Answer wanted = Eventually.see(
                        "something may be held beside them",
                        () -> client.hold(beside, 3600),
                        answer -> answer.status() == 201);
                client.holdIn(wanted.json().getString("id"), "held");
                for (int i = 0; i < 12; i++) {
                    int[] prefix = EngineClient.prompt(1_000 + i, 256);
                    engine.generate(prefix);
                    assertThat(client.hold(prefix, 3600).status()).isIn(201, 409, 503);
                }
                assertThat(engine.usedTokens()).isBetween(1_537L, (long) TestBed.CAPACITY - CONTEXT);
                EngineClient.cached(engine.generateLater(EngineClient.prompt(9_999, LONGEST_SERVED), ANSWER)
                        .orTimeout(60, TimeUnit.SECONDS)
                        .join());
            }
        }
    }

    @Test
    void contextAsLargeAsTheCache_autoHoldsAnotherWay_andSaysWhy() {
        try (TestBed bed = TestBed.withoutSizes(TestBed.fast().withVariant(Variant.PIN_GPU), state, "auto")) {
            Eventually.see(
                    "another way is chosen",
                    () -> bed.client.engine().getJsonObject("backend").getString("why"),
                    why -> why.startsWith("Chosen: keep_warm.")
                            && why.contains("Not pin_blocks: the guard leaves 0 tokens for pins")
                            && why.contains("no room: context 4,096 of 4,096"));
            int[] prefix = EngineClient.prompt(1, 256);
            bed.engine.generate(prefix);
            bed.client.held(prefix);
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    @Test
    void contextAsLargeAsTheCache_nothingIsPinnedAndReadyzSaysWhy() {
        try (TestBed bed = TestBed.withoutSizes(TestBed.fast().withVariant(Variant.PIN_GPU), state, "pin_blocks")) {
            int[] prefix = EngineClient.prompt(1, 256);
            bed.engine.generate(prefix);
            assertThat(bed.client.hold(prefix, 3600).text())
                    .contains("no room: context 4,096 of 4,096", "--context-length");
            assertThat(bed.client.http.get("/readyz").status()).isEqualTo(200);
            assertThat(bed.client
                            .http
                            .get("/readyz")
                            .json()
                            .getJsonArray("notes")
                            .encode())
                    .contains("no room: context 4,096 of 4,096");
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void withoutTheGuard_theSameStormStopsTheEngineForGood(long seed) throws Exception {
        try (var executor = Executors.newVirtualThreadPerTaskExecutor();
                var timer = Executors.newSingleThreadScheduledExecutor();
                Emulator emulator = Emulator.start(vertx, ENGINE);
                EngineClient engine = new EngineClient(emulator.uri());
                EngineHttp http =
                        new EngineHttp(EngineHttpSettings.of(emulator.uri()), executor, timer, System::nanoTime)) {
            PinBlocksBackend backend = new PinBlocksBackend(http, timer);

            List<CompletableFuture<Http.Answer>> answers = new Storm(seed, engine).run(prefix -> {
                long[] blocks = SglangBlockNames.of(prefix, TestBed.BLOCK);
                backend.pin(new PinCommand(1, 0, new HoldRequest(blocks, Duration.ofMinutes(1)), blocks.length))
                        .toCompletableFuture()
                        .join();
            });
            answers.add(engine.generateLater(EngineClient.prompt(9_998, LONGEST_SERVED), ANSWER));

            Eventually.see(
                    "requests wait while nothing runs",
                    () -> engine.metric("sglang:num_queue_reqs") > 0 && engine.metric("sglang:num_running_reqs") == 0,
                    waiting -> waiting);
            CompletableFuture<Http.Answer> small = engine.generateLater(EngineClient.prompt(9_999, 20), 1);
            Eventually.see(
                    "even a small request waits",
                    () -> engine.metric("sglang:num_queue_reqs") > 1 && engine.metric("sglang:num_running_reqs") == 0,
                    waiting -> waiting);
            for (int look = 0; look < 200; look++) {
                assertThat(engine.metric("sglang:num_running_reqs")).isZero();
            }
            assertThat(small).isNotDone();
            assertThat(answers).anyMatch(answer -> !answer.isDone());
        }
    }

    /** The same prefixes, requests and order for the same seed. */
    private static final class Storm {
        private static final int STEPS = 80;

        private final Random random;
        private final EngineClient engine;

        Storm(long seed, EngineClient engine) {
            this.random = new Random(seed);
            this.engine = engine;
        }

        /** Ends early when the engine stops serving; answers what was sent and not waited for. */
        List<CompletableFuture<Http.Answer>> run(Consumer<int[]> keep) {
            List<CompletableFuture<Http.Answer>> large = new ArrayList<>();
            for (int step = 0; step < STEPS && !stuck(large); step++) {
                int[] prefix = EngineClient.prompt(step, TestBed.BLOCK * (4 + random.nextInt(24)));
                CompletableFuture<Http.Answer> stored = engine.generateLater(prefix, 1);
                if (random.nextBoolean()) {
                    int size = random.nextInt(3) == 0 ? LONGEST_SERVED : 200 + random.nextInt(LONGEST_SERVED - 200);
                    large.add(engine.generateLater(EngineClient.prompt(1_000 + step, size), ANSWER));
                }
                Eventually.see(
                        "the prefix is stored or the engine is stuck",
                        () -> stored.isDone() || stuck(List.of(stored)),
                        over -> over);
                if (stored.isDone()) {
                    keep.accept(prefix);
                }
            }
            return large;
        }

        /** Many looks in a row that see requests wait while nothing runs. */
        private boolean stuck(List<CompletableFuture<Http.Answer>> sent) {
            if (sent.stream().filter(answer -> !answer.isDone()).count() == 0) {
                return false;
            }
            for (int look = 0; look < 50; look++) {
                if (engine.metric("sglang:num_queue_reqs") == 0 || engine.metric("sglang:num_running_reqs") > 0) {
                    return false;
                }
            }
            return true;
        }
    }
}
