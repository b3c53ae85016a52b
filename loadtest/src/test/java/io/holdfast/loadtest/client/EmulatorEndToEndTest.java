package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.LoadTestSettings;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole runs over sockets against emulated engines; what they find by time is the matter of {@code VerdictTest}. */
final class EmulatorEndToEndTest {
    private static final int PREFIX = 256;
    private static final FloodShape SHAPE = FloodShape.of(PREFIX, 32, 8, 320, 1).withOutputTokens(1, 2);
    private static final EmulatorSettings ENGINE = EmulatorSettings.defaults()
            .withCapacityTokens(2048)
            .withContextTokens(1024)
            .withPrefillMicrosPerToken(25)
            .withFirstTokenMicros(1_000)
            .withDecodeMillis(1)
            .withVariant(SglangSettings.Variant.PIN_GPU);
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    /** What the engine says of its cache is no matter of time, so a busy machine cannot change it. */
    @Test
    void heldPrefixUnderAFlood_isKeptAndLostWithoutAHold() {
        Result result = run(ENGINE, 2);
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.pinned().cachedTokens()).hasValue(PREFIX);
        assertThat(result.baseline().legs()).isEqualTo(8);
        assertThat(result.pinned().legs()).isEqualTo(4);
        assertThat(result.header().engine().pageTokens()).hasValue(16);
        assertThat(result.warnings()).isEmpty();
        assertThat(Analysis.of(folder.resolve("run.jsonl"))).isEqualTo(result);
    }

    @Test
    void ampleMemory_keepsThePrefixInBothArms() {
        Result result = run(ENGINE.withCapacityTokens(16_384), 1);
        assertThat(result.baseline().cachedTokens()).hasValue(PREFIX);
        assertThat(result.pinned().cachedTokens()).hasValue(PREFIX);
        assertThat(result.warnings()).singleElement().asString().contains("does not exceed the cache");
    }

    @Test
    void engineWithoutPinRoute_isInvalid() {
        Result result = run(ENGINE.withVariant(SglangSettings.Variant.STOCK), 4);
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains("was not held in full");
    }

    @Test
    void routesByIds_tellTheCachedTokensOfARepeatedPrompt() {
        try (EmulatedUnit unit = new EmulatedUnit(vertx, ENGINE)) {
            for (CompletionRoute route : List.of(CompletionRoute.SGLANG_GENERATE, CompletionRoute.OPENAI_COMPLETIONS)) {
                assertThat(route.sendsTokenIds()).isTrue();
                HttpSettings settings = HttpSettings.defaults().withRoute(route).withModel("toy");
                try (EngineClient client = new EngineClient(vertx, unit.uri(), settings, System::nanoTime)) {
                    EngineClient.await(client.open(1), LIMIT, "opening");
                    List<RequestRecord> records = EngineClient.await(
                            client.closedLoop(twice(route, route == CompletionRoute.SGLANG_GENERATE ? 1 : 2), 1),
                            LIMIT,
                            "the load");
                    assertThat(records).allMatch(RequestRecord::isOk);
                    assertThat(records).allSatisfy(record -> {
                        assertThat(record.promptTokens()).hasValue(64);
                        assertThat(record.completionTokens()).hasValue(3);
                    });
                    assertThat(records.get(1).cachedTokens()).hasValue(48);
                }
            }
        }
    }

    private static List<Prepared> twice(CompletionRoute route, int first) {
        int[] tokens = new int[64];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = 1000 * first + i;
        }
        List<Prepared> requests = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            LoadRequest request = new LoadRequest(Role.PROBE, 1, tokens, 3);
            requests.add(new Prepared(number, request, Buffer.buffer(route.body(Optional.of("toy"), request))));
        }
        return requests;
    }

    private Result run(EmulatorSettings engine, int rounds) {
        LoadTestSettings settings = LoadTestSettings.defaults().toBuilder()
                .rounds(rounds)
                .concurrency(4)
                .burnIn(false)
                .holdSlot(Duration.ofSeconds(1))
                .slotTolerance(Duration.ofSeconds(60))
                .build();
        RunClock clock = RunClock.system();
        try (EmulatedUnit unit = new EmulatedUnit(vertx, engine);
                HttpEngine tested = new HttpEngine(vertx, unit, HttpSettings.defaults(), clock);
                PinRouteHolder holder = new PinRouteHolder(unit.uri())) {
            Result result = LoadTestRun.run(
                    new RunEnvironment(tested, holder, clock),
                    IdlePrefixFlood.workload(11, SHAPE),
                    settings,
                    folder.resolve("run.jsonl"),
                    Progress.silent());
            assertThat(unit.lives()).isLessThanOrEqualTo(3 * rounds);
            return result;
        }
    }
}
