package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.rank.LruCache;
import io.holdfast.core.requests.EventFollower;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Hints;
import io.holdfast.workbench.replay.ReplaySettings.Part;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class SteppedReplayTest {
    private static final int CAPACITY = 6_000;

    private final Trace trace = Talks.trace(1, 1_500);
    /** Several tests hold the same replay against others; that it comes out the same again is tested elsewhere. */
    private final Map<ReplaySettings, ReplayResult> replayed = new HashMap<>();

    /** Whatever a prompt is cut into and an answer told in, and whatever else is told between. */
    @ParameterizedTest
    @EnumSource(Form.class)
    void whatIsAnnounced_givesTheRequestsAndTheCacheAgain(Form form) {
        Followed followed = new Followed(trace, form);
        assertThat(followed.prompts).isEqualTo(trace.requests());
        assertThat(followed.promptBlocks).isEqualTo(trace.references());
        assertThat(followed.tree.certain()).isTrue();
        assertThat(followed.tree.unknownRemovals()).isZero();
        assertThat(followed.tree.size()).isEqualTo(followed.memory.size()).isPositive();
        assertThat(followed.removals).isGreaterThan(10 * CAPACITY);
    }

    /** How much that is on traffic that was recorded is seen on the public trace. */
    @ParameterizedTest
    @EnumSource(Form.class)
    void byEvents_isNearlyAsGoodAsInFull_andByStoresIsNot(Form form) {
        double lru = found(settings(form, Policy.LRU, false, Set.of()));
        double full = found(settings(form, Policy.HOLDFAST, true, Set.of())) - lru;
        double events = found(settings(form, Policy.HOLDFAST, false, Set.of())) - lru;
        double stores = found(settings(form, Policy.HOLDFAST, false, Set.of(Part.REQUESTS))) - lru;
        assertThat(full).isGreaterThan(2);
        assertThat(events).isGreaterThan(0.75 * full);
        assertThat(stores).isLessThan(0.5 * events);
    }

    /** A sidecar begins holds no faster than it may; what that costs is seen here. */
    @Test
    void pacedHolds_areFewer_andStillGain() {
        ReplaySettings free = settings(Form.SGLANG, Policy.HOLDFAST, false, Set.of());
        ReplaySettings paced = free.announcing(new Announced(Form.SGLANG, true));
        ReplayResult atOnce = replay(free);
        ReplayResult byPace = replay(paced);
        assertThat(byPace.holdOperations().orElseThrow())
                .isPositive()
                .isLessThanOrEqualTo(atOnce.holdOperations().orElseThrow())
                .isLessThanOrEqualTo(trace.requests());
        assertThat(100 * byPace.hitRatio()).isGreaterThan(found(free.with(Policy.LRU)));
    }

    /** What the owners of requests say goes over to the blocks that events named. */
    @ParameterizedTest
    @EnumSource(Form.class)
    void hintsThatAreRight_gainMore(Form form) {
        ReplaySettings plain = settings(form, Policy.HOLDFAST, false, Set.of());
        ReplaySettings hinted = new ReplaySettings(
                Policy.HOLDFAST, Set.of(), false, false, Optional.of(new Hints(1, 1)), plain.announced());
        assertThat(found(hinted)).isGreaterThan(found(plain) + 0.5);
    }

    @ParameterizedTest
    @EnumSource(
            value = Policy.class,
            names = {"SLRU", "LFU"})
    void otherEviction_worksInAnEnginesSteps_andPinsNothing(Policy policy) {
        ReplayResult found = replay(settings(Form.SGLANG, policy, false, Set.of()));
        ReplayResult lru = replay(settings(Form.SGLANG, Policy.LRU, false, Set.of()));
        assertThat(found.hits()).isPositive().isNotEqualTo(lru.hits());
        assertThat(found.pinOperations()).isZero();
        assertThat(found.holdOperations()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void heldRequests_leaveLess_andTheirBlocksAreNeverTaken(Form form) {
        ReplaySettings lru = settings(form, Policy.LRU, false, Set.of());
        assertThat(found(lru.holding())).isLessThan(found(lru));
        assertThat(replay(settings(form, Policy.HOLDFAST, false, Set.of()).holding())
                        .hitRatio())
                .isPositive();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 1_000_000, Integer.MAX_VALUE})
    void hashOfABlock_leadsBackToIt(int block) {
        assertThat(EventWire.block(EventWire.hash(block))).isEqualTo(block);
    }

    @Test
    void answer_fillsFullBlocksOnly_andItsLastTokenNone() {
        assertThat(SteppedEngine.answerBlocks(30, 2, 16)).isZero();
        assertThat(SteppedEngine.answerBlocks(30, 3, 16)).isEqualTo(1);
        assertThat(SteppedEngine.answerBlocks(32, 16, 16)).isZero();
        assertThat(SteppedEngine.answerBlocks(32, 17, 16)).isEqualTo(1);
        assertThat(SteppedEngine.answerBlocks(32, 0, 16)).isZero();
    }

    private double found(ReplaySettings settings) {
        return 100 * replay(settings).hitRatio();
    }

    private ReplayResult replay(ReplaySettings settings) {
        return replayed.computeIfAbsent(settings, each -> Replay.run(trace, each, CAPACITY));
    }

    private static ReplaySettings settings(Form form, Policy policy, boolean full, Set<Part> without) {
        return new ReplaySettings(
                policy, without, false, full, Optional.empty(), Optional.of(new Announced(form, false)));
    }

    /** What somebody knows who hears of an engine what it announces. */
    private static final class Followed implements EventFollower.Listener, SteppedEngine.Listener {
        final EngineBlocks tree;
        final EngineMemory memory;
        long prompts;
        long promptBlocks;
        long removals;

        private final EventWire wire;

        Followed(Trace trace, Form form) {
            boolean vllm = form == Form.VLLM;
            EventFollower follower = new EventFollower(vllm ? RequestRules.vllm() : RequestRules.sglang(), this);
            tree = follower.blocks();
            wire = new EventWire(form.dialect, trace.blockTokens(), follower);
            int answers = trace.uniqueBlocks();
            int blocks = answers;
            for (int request = 0; request < trace.requests(); request++) {
                blocks += SteppedEngine.answerBlocks(
                        trace.inputTokens(request), trace.outputTokens(request), trace.blockTokens());
            }
            memory = new EngineMemory(blocks, new EngineCache.Lru(new LruCache(CAPACITY, wire::removed)), block -> {});
            SteppedEngine engine = new SteppedEngine(trace.blockTokens(), vllm, true, memory, this);
            for (int request = 0; request < trace.requests(); request++) {
                engine.advance(trace.nanos(request));
                int[] path = SteppedEngine.path(trace, request, answers);
                answers += path.length - trace.fullBlocks(request);
                engine.submit(
                        request,
                        path,
                        trace.fullBlocks(request),
                        trace.inputTokens(request),
                        trace.outputTokens(request));
            }
            engine.finish();
            follower.requests().flush();
        }

        @Override
        public void stored(int[] path, int from, int to) {
            wire.stored(path, from, to);
        }

        @Override
        public void published(long nanos) {
            wire.publish(nanos);
        }

        @Override
        public void prefilled(SteppedEngine.Served request, long nanos) {}

        @Override
        public void finished(SteppedEngine.Served request, long nanos) {}

        @Override
        public void removed(long[] hashes, int from, int to) {
            removals += to - from;
        }

        @Override
        public void prompt(VisibleRequest request, int before) {
            prompts += before == 0 ? 1 : 0;
            promptBlocks += request.promptBlocks() - before;
        }
    }
}
