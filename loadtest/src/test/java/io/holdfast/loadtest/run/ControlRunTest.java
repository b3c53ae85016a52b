package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.testing.SteadyClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A/A runs against a server that can be told to misbehave. */
final class ControlRunTest {
    private static final Workload WORKLOAD = IdlePrefixFlood.workload(1, new FloodShape(64, 8, 3, 80, 1, 1, 1, 1));
    private static final LoadTestPlan SETTINGS = LoadTestPlan.defaults().toBuilder()
            .design(Design.CONTROLS)
            .rounds(5)
            .concurrency(2)
            .burnIn(false)
            .rehearsal(true)
            .holdSlot(Duration.ofMillis(50))
            .slotTolerance(Duration.ofSeconds(60))
            .salt(new Salt(7))
            .build();
    private static final LoadTestPlan FLUSHING = LoadTestPlan.defaults().toBuilder()
            .design(Design.CONTROLS)
            .rounds(4)
            .concurrency(2)
            .burnIn(false)
            .holdSlot(Duration.ofMillis(50))
            .slotTolerance(Duration.ofSeconds(60))
            .build();
    /** Legs of the rehearsal. */
    private static final int REHEARSED = 2;

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64 + Salt.tokens());
    private final List<Progress.Event> events = new ArrayList<>();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        engine.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void run_isPairsOfBaselineLegsAndNoFlush() {
        ControlResult result = run(SETTINGS);
        assertThat(result.broken()).isEmpty();
        assertThat(result.standing()).isEqualTo(5);
        assertThat(result.isEnough()).isTrue();
        assertThat(result.legs()).hasSize(REHEARSED + 10);
        assertThat(result.header().isSalted()).isTrue();
        assertThat(engine.flushes).hasValue(0);
        assertThat(events).noneMatch(Progress.RunFinished.class::isInstance);
        assertThat(ControlAnalysis.of(journal())).isEqualTo(result);
    }

    @Test
    void salted_noLegFindsWhatAnotherLeftBehind() {
        ControlResult result = run(SETTINGS);
        assertThat(result.legs().stream().map(LegRecord::bodies).distinct())
                .as("what a leg asks for but its salt")
                .hasSize(2);
        assertThat(result.legs()).allSatisfy(leg -> {
            assertThat(leg.workloadId()).isEqualTo(WORKLOAD.id());
            assertThat(leg.requests().getFirst().cachedTokens()).hasValue(0);
        });
        List<Integer> lengths = engine.bodies.stream()
                .map(body -> body.path("input_ids").size())
                .filter(length -> length > 4)
                .distinct()
                .toList();
        assertThat(lengths).containsExactlyInAnyOrder(64 + 4, 72 + 4, 80 + 4);
    }

    @Test
    void flushing_emptiesTheCacheBeforeEachLegAndSaltsNothing() {
        ControlResult result = run(FLUSHING);
        assertThat(engine.flushes).hasValue(8);
        assertThat(result.header().isSalted()).isFalse();
        assertThat(result.legs().stream().map(LegRecord::bodies).distinct()).hasSize(2);
    }

    @Test
    void brokenPair_isLeftOutAndNamed() {
        failFrom(REHEARSED * 5 + 11, REHEARSED * 5 + 12);
        ControlResult result = run(SETTINGS.toBuilder().repeatPairs(0).build());
        assertThat(result.standing()).isEqualTo(4);
        assertThat(result.isEnough()).isTrue();
        assertThat(result.legs()).hasSize(REHEARSED + 10);
        assertThat(result.broken()).singleElement().asString().contains("life 2 AA, leg 1", "1 of 5 requests failed");
    }

    @Test
    void pairWithAStrayError_runsAgainAndStands() {
        failFrom(REHEARSED * 5 + 11, REHEARSED * 5 + 12);
        ControlResult result = run(SETTINGS);
        assertThat(result.standing()).isEqualTo(5);
        assertThat(result.broken()).isEmpty();
        assertThat(result.legs()).hasSize(REHEARSED + 10);
        assertThat(result.voided()).singleElement().satisfies(pair -> {
            assertThat(pair.life()).isEqualTo(2);
            assertThat(pair.bySurroundings()).isTrue();
        });
    }

    @Test
    void tooManyBrokenPairs_endTheRunEarly() {
        failFrom(REHEARSED * 5, Integer.MAX_VALUE);
        ControlResult result = run(SETTINGS);
        assertThat(result.isEnough()).isFalse();
        assertThat(result.standing()).isZero();
        assertThat(result.legs()).as("both legs of one pair, and one more").hasSize(REHEARSED + 3);
        assertThat(result.spread()).isEmpty();
        assertThat(result.detectable()).isEmpty();
    }

    @Test
    void fewPairsPlanned_areMeasuredAndNotEnough() {
        ControlResult result = run(SETTINGS.toBuilder().rounds(3).build());
        assertThat(result.standing()).isEqualTo(3);
        assertThat(result.isEnough()).isFalse();
        assertThat(result.detectable()).isPresent();
    }

    @Test
    void journalWithALegTwice_isRefused() throws IOException {
        run(SETTINGS);
        List<String> lines = Files.readAllLines(journal());
        Path doubled = folder.resolve("doubled.jsonl");
        lines.add(lines.getLast());
        Files.write(doubled, lines);
        assertThatThrownBy(() -> ControlAnalysis.of(doubled))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("is life 5 AA, leg 2 (baseline) again, which stands in line 13 already");
    }

    @Test
    void plan_countsWhatTheRunThenSends() {
        RunPlan plan = with(environment -> RunPlan.of(environment, WORKLOAD, SETTINGS));
        assertThat(plan.pairs()).isEqualTo(5);
        assertThat(plan.legs()).isEqualTo(12);
        assertThat(plan.requests()).isEqualTo(12 * 5);
        assertThat(plan.tokens()).isEqualTo(12L * (68 + 3 * 84 + 76));
        assertThat(plan.estimate()).isPositive();
        engine.bodies.clear();
        run(SETTINGS);
        assertThat(engine.bodies.stream().filter(ControlRunTest::isOfTheWorkload))
                .hasSize((int) plan.requests());
    }

    @Test
    void requestThatTheEngineRefuses_isSaidBeforeTheLoad() {
        failFrom(0, Integer.MAX_VALUE);
        assertThatThrownBy(() -> with(environment -> RunPlan.of(environment, WORKLOAD, SETTINGS)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("failed before the load began: the engine answered 400: no; ask for smaller");
    }

    @Test
    void flushThatDoesNotWork_isSaidBeforeTheLoad() {
        HttpSettings wrong = HttpSettings.defaults().withFlushPath("/generate").withFlushTimeout(Duration.ofMillis(1));
        engine.answers = body -> body.path("input_ids").isMissingNode()
                ? StubEngine.status(404, "")
                : StubEngine.stream(4, 1, OptionalInt.of(0));
        assertThatThrownBy(() -> with(wrong, environment -> RunPlan.of(environment, WORKLOAD, FLUSHING)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("leave the flush path out");
    }

    /** The requests of the workload from one to before another fail; what asks whether the engine is ready does not. */
    private void failFrom(int first, int end) {
        int[] seen = {0};
        engine.answers = body -> {
            boolean fails = isOfTheWorkload(body) && seen[0] >= first && seen[0] < end;
            seen[0] += isOfTheWorkload(body) ? 1 : 0;
            return fails
                    ? StubEngine.status(400, "no")
                    : StubEngine.stream(body.path("input_ids").size(), 1, OptionalInt.of(0));
        };
    }

    private static boolean isOfTheWorkload(JsonNode body) {
        return body.path("input_ids").size() > 4;
    }

    private Path journal() {
        return folder.resolve("aa.jsonl");
    }

    private ControlResult run(LoadTestPlan settings) {
        return with(environment -> LoadTestRun.controls(environment, WORKLOAD, settings, journal(), events::add));
    }

    private <T> T with(Function<RunEnvironment, T> task) {
        return with(HttpSettings.defaults(), task);
    }

    private <T> T with(HttpSettings http, Function<RunEnvironment, T> task) {
        RunClock clock = new SteadyClock();
        try (HttpEngine tested = new HttpEngine(vertx, new ExistingServer(engine.uri()), http, clock)) {
            return task.apply(new RunEnvironment(tested, Arms.none(), clock));
        }
    }
}
