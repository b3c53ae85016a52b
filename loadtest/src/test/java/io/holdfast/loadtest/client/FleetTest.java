package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.Shares;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.vertx.core.Vertx;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two emulated engines behind a router, over sockets. */
final class FleetTest {
    private static final FloodShape SHAPE = FloodShape.of(256, 32, 8, 320, 1).withOutputTokens(1, 2);
    private static final EmulatorSettings ENGINE = EmulatorSettings.defaults()
            .withCapacityTokens(2_048)
            .withContextTokens(1_024)
            .withPrefillMicrosPerToken(5)
            .withFirstTokenMicros(500)
            .withDecodeMillis(1);

    private final Vertx vertx = Vertx.vertx();
    private final Emulator first = Emulator.start(vertx, ENGINE);
    private final Emulator second = Emulator.start(vertx, ENGINE);
    private final RoundRobin router = new RoundRobin(vertx, List.of(first.uri(), second.uri()));

    @TempDir
    private Path folder = Path.of("");

    @BeforeEach
    void begin() {
        assertThat(folder).isEmptyDirectory();
    }

    @AfterEach
    void stop() throws Exception {
        router.close();
        first.close();
        second.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    @Test
    void engines_areFlushedAndCountedEachByItself() {
        Result result = run(List.of(first.uri(), second.uri()), Progress.silent());
        assertThat(result.header().engine().capacityTokens()).hasValue(2 * 2_048);
        assertThat(result.header().unit()).endsWith("before 2 engines");
        assertThat(result.legs()).allSatisfy(leg -> {
            assertThat(leg.shares())
                    .extracting(EngineShare::engine)
                    .containsExactly(first.uri().toString(), second.uri().toString());
            assertThat(leg.shares())
                    .allSatisfy(share -> assertThat(share.promptTokens()).isPositive());
            assertThat(tokens(leg.shares())).as("%s", leg.label()).isEqualTo(asked(leg));
            assertThat(leg.requests().getFirst().cachedTokens())
                    .as("of an emptied cache, whichever engine answers")
                    .hasValue(0);
        });
        assertThat(Shares.of(result.legs())).hasSize(2);
        assertThat(contradictions(result)).isEmpty();
        assertThat(Journal.read(folder.resolve("run.jsonl")).legs())
                .extracting(LegRecord::shares)
                .containsExactlyElementsOf(
                        result.legs().stream().map(LegRecord::shares).toList());
    }

    @Test
    void engineThatIsNotNamed_isMissed() {
        assertThat(contradictions(run(List.of(first.uri()), Progress.silent())))
                .singleElement()
                .asString()
                .contains("a part of it was served elsewhere; name each engine behind a router by --engine");
    }

    /** Between two legs, where nothing is under way: the address answers as before, and one cache is another. */
    @Test
    void engineThatIsRestarted_makesTheRunInvalid() {
        boolean[] begun = {false};
        Result result = run(List.of(first.uri(), second.uri()), event -> {
            if (event instanceof Progress.LegFinished finished
                    && finished.leg().isMeasured()
                    && finished.leg().position() == 1
                    && !begun[0]) {
                begun[0] = true;
                second.restart();
            }
        });
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains(LegRecord.RESTARTED);
    }

    @Test
    void enginesThatDiffer_areRefusedByTheirAddresses() {
        try (Emulator smaller = Emulator.start(vertx, ENGINE.withCapacityTokens(1_536))) {
            assertThatThrownBy(() -> run(List.of(first.uri(), smaller.uri()), Progress.silent()))
                    .isInstanceOf(LoadTestException.class)
                    .hasMessageStartingWith("The engines behind the router are not alike: that at " + first.uri())
                    .hasMessageContaining("that at " + smaller.uri() + " is ", "1536 tokens of cache");
        }
        URI gone = URI.create("http://127.0.0.1:1");
        assertThatThrownBy(() -> run(List.of(first.uri(), gone), Progress.silent()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("The engine at " + gone + " is not ready");
    }

    private static List<String> contradictions(Result result) {
        return result.warnings().stream()
                .filter(warning -> warning.startsWith("The server counted") || warning.startsWith("By the answers"))
                .toList();
    }

    private static long tokens(List<EngineShare> shares) {
        return shares.stream().mapToLong(EngineShare::promptTokens).sum();
    }

    private static long asked(LegRecord leg) {
        return leg.requests().stream()
                .map(RequestRecord::promptTokens)
                .mapToLong(tokens -> tokens.orElseThrow())
                .sum();
    }

    private Result run(List<URI> engines, Progress progress) {
        RunClock clock = RunClock.system();
        ServerUnit unit = new Fleet(new ExistingServer(router.uri()), engines);
        try (HttpEngine tested = new HttpEngine(vertx, unit, HttpSettings.defaults(), clock);
                ArmSwitch arms = Arms.none()) {
            return LoadTestRun.run(
                    new RunEnvironment(tested, arms, clock),
                    IdlePrefixFlood.workload(11, SHAPE),
                    LoadTestPlan.defaults().toBuilder()
                            .rounds(1)
                            .concurrency(4)
                            .burnIn(false)
                            .repeatPairs(50)
                            .holdSlot(Duration.ofMillis(20))
                            .slotTolerance(Duration.ofSeconds(60))
                            .build(),
                    folder.resolve("run.jsonl"),
                    progress);
        }
    }
}
