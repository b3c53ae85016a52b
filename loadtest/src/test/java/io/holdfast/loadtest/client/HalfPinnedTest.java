package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.testing.SteadyClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An engine that answers a pin as if it held all that was asked, and keeps the first half of it; over sockets. */
final class HalfPinnedTest {
    private static final int PREFIX = 64;
    private static final int PROBE = PREFIX + 16;

    private final Vertx vertx = Vertx.vertx();
    private volatile boolean pinned;

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    /** A half is a gain all the same, so what is told is how much of the hold there was. */
    @Test
    void halfThatIsKept_isSaidOfEachLeg_andNoFullHoldIsClaimed() {
        Result result = run();
        assertThat(result.pinned().cachedTokens()).hasValue(PREFIX / 2.0);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().mechanism().orElseThrow().middle()).isEqualTo(0.5);
        assertThat(result.lostHolds().lost()).isEqualTo(8);
        assertThat(result.lostHolds().pinnedLegs()).isEqualTo(8);
        assertThat(result.warnings())
                .anySatisfy(warning -> assertThat(warning)
                        .startsWith("8 of 8 pinned legs did not keep their prefix, first ")
                        .contains("its probes found 50 % of it"));
        assertThat(result.verdict().finding()).isNotEqualTo(Finding.INVALID);
        assertThat(result.legs())
                .filteredOn(leg -> leg.arm() == Arm.PINNED)
                .as("what the engine answered to the pin")
                .allSatisfy(leg -> assertThat(leg.hold().isInFull()).isTrue());
    }

    private StubEngine.Script answer(JsonNode body) {
        if (body.has("block_hashes")) {
            pinned = !body.path("block_hashes").isEmpty() && !pinned;
            String counted = String.valueOf(body.path("block_hashes").size());
            return StubEngine.status(200, "{\"pinned_count\":" + counted + ",\"unpinned_count\":" + counted + "}");
        }
        int tokens = body.path("input_ids").size();
        return StubEngine.stream(
                tokens,
                body.path("sampling_params").path("max_new_tokens").asInt(),
                OptionalInt.of(tokens == PROBE && pinned ? PREFIX / 2 : 0));
    }

    private Result run() {
        RunClock clock = new SteadyClock();
        try (StubEngine stub = StubEngine.start(vertx, PREFIX)) {
            stub.answers = this::answer;
            try (HttpEngine engine =
                            new HttpEngine(vertx, new ExistingServer(stub.uri()), HttpSettings.defaults(), clock);
                    ArmSwitch arm = Arms.pinRoute(engine)) {
                return LoadTestRun.run(
                        new RunEnvironment(engine, arm, clock),
                        IdlePrefixFlood.workload(
                                3, FloodShape.of(PREFIX, 16, 4, 48, 1).withOutputTokens(1, 2)),
                        LoadTestPlan.defaults().toBuilder()
                                .rounds(4)
                                .concurrency(2)
                                .burnIn(false)
                                .rehearsal(true)
                                .holdSlot(Duration.ofMillis(50))
                                .slotTolerance(Duration.ofSeconds(60))
                                .build(),
                        folder.resolve("run.jsonl"),
                        Progress.silent());
            }
        }
    }
}
