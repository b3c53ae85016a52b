package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.testing.SteadyClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Salt;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An engine that does not always answer when a session is to be closed; over sockets. */
final class UnansweredCloseTest {
    private static final int PREFIX = 64;
    /** The rehearsal closes a session in each of its two legs. */
    private static final int IN_REHEARSAL = 2;

    private final Vertx vertx = Vertx.vertx();
    private final AtomicInteger closes = new AtomicInteger();
    /** Whether something was sent in the session that was to be closed last. */
    private volatile boolean closesAnOpenOne;

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    @Test
    void closeThatIsAnsweredAtTheSecondTime_isAClose() {
        Result result = run(number -> number == IN_REHEARSAL + 1, settings -> settings);
        assertThat(result.legs())
                .allSatisfy(leg ->
                        assertThat(leg.release().kind()).isIn(ReleaseReceipt.Kind.RELEASED, ReleaseReceipt.Kind.SHAM));
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.warnings()).noneMatch(warning -> warning.contains("/close_session"));
    }

    /** The flush before the next leg ends what the engine would not. */
    @Test
    void closesThatAreNeverAnswered_areSaidAndEndNoRun() {
        Result result = run(number -> number > IN_REHEARSAL && number <= IN_REHEARSAL + 12, settings -> settings);
        assertThat(result.legs())
                .filteredOn(leg -> leg.release().kind() == ReleaseReceipt.Kind.UNANSWERED)
                .hasSize(4);
        assertThat(result.verdict().finding()).isNotEqualTo(Finding.INVALID);
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.warnings())
                .anySatisfy(warning -> assertThat(warning)
                        .contains("was not answered in 4 of 24 legs", "/close_session was not answered, asked 3 times")
                        .endsWith("what was still held ended with the flush before the next leg."));
    }

    @Test
    void refusedClose_isSaidInTheEnginesWords() {
        Result result = run(
                number -> false,
                settings -> settings,
                StubEngine.status(500, "{\"error\":{\"message\":\"no such session\"}}"));
        assertThat(result.verdict().finding()).isNotEqualTo(Finding.INVALID);
        assertThat(result.warnings())
                .anySatisfy(warning -> assertThat(warning)
                        .contains("/close_session was answered with 500 no such session, asked 3 times"));
    }

    /** Nobody empties the cache then, so the pair runs again, and the next hold step closes what is open. */
    @Test
    void holdThatStaysWhereNothingIsFlushed_voidsItsPairAlone() {
        AtomicInteger unanswered = new AtomicInteger();
        Result result = run(
                number -> number > IN_REHEARSAL && closesAnOpenOne && unanswered.getAndIncrement() < 3,
                settings -> settings.salt(new Salt(5)).repeatPairs(1));
        assertThat(result.voided())
                .singleElement()
                .satisfies(voided -> assertThat(voided.reason())
                        .contains("the hold could not be ended (/close_session was not answered, asked 3 times)"));
        assertThat(result.verdict().finding()).isNotEqualTo(Finding.INVALID);
    }

    private Result run(IntPredicate drops, UnaryOperator<LoadTestPlan.Builder> change) {
        return run(drops, change, StubEngine.status(200, ""));
    }

    /** @param drops which closes, counted from 1, are not answered */
    private Result run(IntPredicate drops, UnaryOperator<LoadTestPlan.Builder> change, StubEngine.Script otherwise) {
        RunClock clock = new SteadyClock();
        try (StubEngine stub = StubEngine.start(vertx, PREFIX)) {
            stub.serverInfo = "{\"page_size\":16,\"max_total_num_tokens\":200,\"version\":\"stub\","
                    + "\"enable_session_radix_cache\":true}";
            stub.sessionCloses = request -> request.bodyHandler(body -> {
                String session = body.toJsonObject().getString("session_id");
                closesAnOpenOne = stub.bodies.stream()
                        .anyMatch(sent -> session.equals(sent.path("session_id").asText()));
                if (drops.test(closes.incrementAndGet())) {
                    request.connection().close();
                } else {
                    stub.held = false;
                    otherwise.play(request);
                }
            });
            try (HttpEngine engine =
                            new HttpEngine(vertx, new ExistingServer(stub.uri()), HttpSettings.defaults(), clock);
                    ArmSwitch arm = Arms.session(engine, 7)) {
                LoadTestPlan.Builder settings = LoadTestPlan.defaults().toBuilder()
                        .rounds(4)
                        .concurrency(2)
                        .burnIn(false)
                        .rehearsal(true)
                        .holdSlot(Duration.ofMillis(200))
                        .slotTolerance(Duration.ofSeconds(60));
                return LoadTestRun.run(
                        new RunEnvironment(engine, arm, clock),
                        IdlePrefixFlood.workload(
                                3, FloodShape.of(PREFIX, 8, 4, 48, 1).withOutputTokens(1, 2)),
                        change.apply(settings).build(),
                        folder.resolve("run.jsonl"),
                        Progress.silent());
            }
        }
    }
}
