package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is known of an engine that publishes nothing. */
final class SilentCacheTest {
    private static final int BLOCK = 16;
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Outcome DONE = new Outcome(Outcome.Kind.ACCEPTED, "answered");

    private final EngineBlocks blocks = new EngineBlocks(CacheTraits.vllm(), new Unheard());
    private int another;
    private final SilentCache cache = new SilentCache(blocks, () -> another++);

    private static HoldRequest prefix(int length) {
        return new HoldRequest(
                IntStream.rangeClosed(1, length).mapToLong(Long::valueOf).toArray(),
                IntStream.range(0, length * BLOCK).toArray(),
                HOUR);
    }

    private static EngineReadings counted(int requests, int prompts, int cached) {
        EngineReadings readings = Samples.readings(10_000, BLOCK, 9_000, 0, 0, 0, 0, requests, 0);
        return Samples.with(
                Samples.with(readings, "promptTokens", Reading.known(prompts, "test", 0)),
                "cachedTokens",
                Reading.known(cached, "test", 0));
    }

    @Test
    void answeredRequest_tellsThatItsPrefixIsThere_once() {
        cache.answered(prefix(3), 2, DONE);
        assertThat(blocks.match(prefix(3))).isEqualTo(2);
        cache.answered(prefix(3), 3, DONE);
        cache.answered(prefix(3), 3, DONE);
        assertThat(blocks.match(prefix(3))).isEqualTo(3);
        assertThat(blocks.size()).isEqualTo(3);
        assertThat(blocks.certain()).isFalse();
    }

    @Test
    void requestWithoutAnAnswer_tellsNothing() {
        for (Outcome.Kind kind : Outcome.Kind.values()) {
            if (kind != Outcome.Kind.ACCEPTED && kind != Outcome.Kind.CLIPPED) {
                cache.answered(prefix(3), 3, new Outcome(kind, "no"));
            }
        }
        assertThat(blocks.size()).isZero();
    }

    @Test
    void whatIsHeldNoMore_isGoneAfterAMoment_butNotWhatItShares() {
        cache.answered(prefix(4), 4, DONE);
        cache.answered(prefix(2), 2, DONE);
        cache.now(9 * ControllerHarness.SECOND);
        cache.keepOnly(Set.of(2L));
        assertThat(blocks.match(prefix(4))).isEqualTo(4);
        cache.now(11 * ControllerHarness.SECOND);
        cache.keepOnly(Set.of(2L));
        assertThat(blocks.match(prefix(4))).isEqualTo(2);
        cache.keepOnly(Set.of());
        assertThat(blocks.size()).isZero();
    }

    @Test
    void promptTokensThatFall_areAnotherProcess() {
        cache.readings(counted(2, 5_000, 0));
        cache.readings(counted(2, 300, 0));
        assertThat(another).isEqualTo(1);
    }

    @Test
    void countersThatAreNotTold_areSaid() {
        cache.readings(Samples.with(counted(1, 1, 0), "promptTokens", Reading.unknown("not told")));
        assertThat(cache.counted()).isFalse();
        cache.readings(counted(1, 1, 0));
        assertThat(cache.counted()).isTrue();
    }

    @Test
    void computedTokens_areWhatWasAllocated_sinceItWasSeenFirst() {
        cache.readings(counted(10, 5_000, 1_000));
        assertThat(cache.allocated()).isZero();
        cache.readings(counted(11, 6_000, 1_000));
        assertThat(cache.allocated()).isEqualTo(1_000 / BLOCK);
        cache.readings(counted(12, 7_000, 1_960));
        assertThat(cache.allocated()).isEqualTo(1_040 / BLOCK);
        cache.readings(EngineReadings.unknown("it does not answer"));
        assertThat(cache.allocated()).isEqualTo(1_040 / BLOCK);
    }

    @Test
    void counterThatFalls_isAnotherProcess_andTakesNothingBack() {
        cache.readings(counted(10, 5_000, 0));
        cache.readings(counted(11, 5_160, 0));
        cache.readings(counted(3, 480, 0));
        assertThat(another).isEqualTo(1);
        cache.readings(counted(4, 640, 0));
        assertThat(another).isEqualTo(1);
        assertThat(cache.allocated()).isEqualTo(20);
    }

    @Test
    void hold_isStoredByTheSidecar_goesWithTheProcess_andIsStoredAgain() {
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.traits = BackendTraits.soft().needing(Need.TOKENS);
        ControllerHarness harness =
                new ControllerHarness(ControllerHarness.SETTINGS, new ControllerHarness.Disk(), engine);
        harness.controller.publishesNothing();
        harness.controller.hasToken(1_000_000);
        harness.pass(Duration.ofMinutes(1));
        CompletionStage<HoldView> asked = harness.controller.request(prefix(3));
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(asked).isCompleted();
        assertThat(hold(harness).state()).as(hold(harness).reason()).isEqualTo(HoldState.HELD);
        assertThat(harness.own).hasSize(1);

        harness.served(0);
        assertThat(hold(harness).state()).isEqualTo(HoldState.HELD);
        // Its counters begin anew.
        harness.pass(Duration.ofSeconds(1));
        assertThat(hold(harness).state()).isNotEqualTo(HoldState.HELD);
        assertThat(hold(harness).reason()).contains("emptied its cache");
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.own).as("it may serve another model").hasSize(1);
        harness.pass(Duration.ofSeconds(40));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.own).hasSize(2);
        assertThat(hold(harness).state()).as(hold(harness).reason()).isEqualTo(HoldState.HELD);
    }

    private static HoldView hold(ControllerHarness harness) {
        return harness.controller.view().holds().getFirst();
    }

    private static final class Unheard implements TreeListener {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    }
}
