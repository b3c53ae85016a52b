package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.sidecar.Unstarted;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.engine.EngineLink.Held;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Wishes of many threads for one engine. */
class EngineLinkTest {
    private static final HoldRequest REQUEST = new HoldRequest(new long[] {7}, Duration.ofMinutes(1));

    private Unstarted around;
    private EngineLink engine;

    @BeforeEach
    void open(@TempDir Path state) throws IOException {
        around = new Unstarted(state);
        engine = around.engine("demo");
    }

    @AfterEach
    void close() {
        around.close();
        engine.close();
    }

    @Test
    void holdAfterEverythingWasLetGo_isTurnedAwayUntilResume() {
        CompletableFuture<Released> released = engine.releaseAll().toCompletableFuture();
        poll();
        assertThat(released.join()).isEqualTo(new Released(0, 0));

        CompletableFuture<Held> hold = hold().toCompletableFuture();
        assertThat(hold)
                .failsWithin(Duration.ofMinutes(1))
                .withThrowableOfType(ExecutionException.class)
                .withMessageContaining("only resume ends the pause");

        CompletableFuture<Boolean> resumed = engine.resume().toCompletableFuture();
        poll();
        assertThat(resumed.join()).isTrue();
        assertThat(reasonOfTheNextHold()).isNotEmpty();
    }

    @Test
    void releaseThatWaitsForTheController_isAnsweredWithoutItWhenItFails() {
        CompletableFuture<Released> released = engine.releaseAll().toCompletableFuture();
        CompletableFuture<Optional<HoldView>> one = engine.release(7).toCompletableFuture();

        engine.failed("a test said so");

        assertThat(released.join()).isEqualTo(new Released(0, 0));
        assertThat(one.join()).isEmpty();
        assertThat(hold().toCompletableFuture().exceptionNow()).hasMessageContaining("a test said so");
        assertThat(engine.releaseAll().toCompletableFuture().join()).isEqualTo(new Released(0, 0));
    }

    private CompletionStage<Held> hold() {
        return engine.hold(REQUEST, new PrefixSource.Hashes(new long[] {7}), () -> {});
    }

    private String reasonOfTheNextHold() {
        var hold = hold().toCompletableFuture();
        poll();
        return hold.join().hold().reason();
    }

    @Test
    void resumeThatIsTurnedAway_leavesThePauseToTheNext() {
        CompletableFuture<Released> released = engine.releaseAll().toCompletableFuture();
        poll();
        assertThat(released.join()).isEqualTo(new Released(0, 0));
        Unstarted.fillMailbox(engine);
        assertThat(engine.resume().toCompletableFuture().exceptionNow()).isInstanceOf(RejectedExecutionException.class);
        poll();

        assertThat(hold().toCompletableFuture().exceptionNow()).isInstanceOf(ApiError.class);
        CompletableFuture<Boolean> resumed = engine.resume().toCompletableFuture();
        poll();
        assertThat(resumed.join()).isTrue();
        var hold = hold().toCompletableFuture();
        poll();
        assertThat(hold.join().hold().reason()).contains("the backend auto was not probed yet");
    }

    @Test
    void lettingGoBesideHolds_leavesNoneBehind() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        for (int round = 0; round < 1000; round++) {
            Future<?> letGo = around.executor.submit(() -> {
                both.await();
                return engine.releaseAll();
            });
            Future<?> hold = around.executor.submit(() -> {
                both.await();
                return hold();
            });
            letGo.get();
            hold.get();
            poll();

            assertThat(engine.view().holds())
                    .as("round " + round)
                    .noneMatch(each -> each.state() == HoldState.REQUESTED || each.state() == HoldState.HELD);
            engine.resume();
            poll();
        }
    }

    private void poll() {
        assertThat(engine.controller().poll(System.nanoTime())).isPositive();
    }
}
