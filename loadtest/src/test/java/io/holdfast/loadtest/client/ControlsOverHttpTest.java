package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.testing.SteadyClock;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A/A by text and by chat messages over sockets, on both engines' own servers. */
final class ControlsOverHttpTest {
    private static final Workload WORKLOAD =
            IdlePrefixFlood.workload(3, FloodShape.of(96, 8, 4, 48, 1).withOutputTokens(1, 2));
    private static final EmulatorSettings SGLANG = EmulatorSettings.defaults()
            .withPrefillMicrosPerToken(5)
            .withFirstTokenMicros(500)
            .withDecodeMillis(1);
    private static final EmulatorSettings VLLM =
            SGLANG.withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()));
    private static final LoadTestPlan SETTINGS = LoadTestPlan.defaults().toBuilder()
            .design(Design.CONTROLS)
            .rounds(4)
            .concurrency(4)
            .burnIn(false)
            .rehearsal(true)
            .holdSlot(Duration.ofMillis(50))
            .slotTolerance(Duration.ofSeconds(60))
            .salt(new Salt(9))
            .build();

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource(
            value = CompletionRoute.class,
            names = {"OPENAI_TEXT", "OPENAI_CHAT"})
    void bothEngines_areMeasuredByEitherRoute(CompletionRoute route) {
        for (EmulatorSettings settings : new EmulatorSettings[] {SGLANG, VLLM}) {
            try (Emulator emulator = Emulator.start(vertx, settings);
                    HttpEngine engine = engine(emulator, route, "")) {
                RunEnvironment environment = new RunEnvironment(engine, Arms.none(), new SteadyClock());
                RunPlan plan = RunPlan.of(environment, WORKLOAD, SETTINGS);
                ControlResult result = LoadTestRun.controls(
                        environment,
                        WORKLOAD,
                        SETTINGS,
                        folder.resolve(route + "-" + settings.kind().getClass().getSimpleName()),
                        Progress.silent());
                assertThat(result.broken()).isEmpty();
                assertThat(result.standing()).isEqualTo(4);
                assertThat(result.estimate().orderBiasCi95()).isPresent();
                assertThat(result.spread()).isPresent();
                assertThat(result.legs().stream()
                                .mapToLong(leg -> leg.requests().size())
                                .sum())
                        .isEqualTo(plan.requests());
                assertThat(result.header().client()).containsEntry("route", route.name());
                assertThat(result.legs())
                        .allSatisfy(leg -> assertThat(
                                        leg.requests().getFirst().cachedTokens().orElse(0))
                                .as("what a leg finds of those before it")
                                .isLessThan(16));
            }
        }
    }

    @Test
    void modelThatIsNotServed_isNamedAtOnce() {
        try (Emulator emulator = Emulator.start(vertx, VLLM);
                HttpEngine engine = engine(emulator, CompletionRoute.OPENAI_CHAT, "nosuch")) {
            assertThatThrownBy(engine::beginLife)
                    .isInstanceOf(LoadTestException.class)
                    .hasMessageContaining("404")
                    .hasMessageContaining("nosuch")
                    .hasMessageEndingWith(
                            "; ask for a model that it serves: --model, or 'path' of the model in --config.");
        }
    }

    private HttpEngine engine(Emulator emulator, CompletionRoute route, String model) {
        RunClock clock = new SteadyClock();
        HttpSettings http = HttpSettings.defaults().withRoute(route);
        String asked = model.isEmpty()
                ? HttpEngine.firstModel(emulator.uri(), http, clock).orElseThrow()
                : model;
        return new HttpEngine(vertx, new ExistingServer(emulator.uri()), http.withModel(asked), clock);
    }
}
