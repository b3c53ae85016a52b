package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Hints;
import io.holdfast.workbench.replay.ReplaySettings.Lever;
import io.holdfast.workbench.replay.ReplaySettings.Part;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RulesReplayTest {
    private static final int CAPACITY = 6_000;

    private final Trace trace = Talks.trace(1, 1_500);

    /** Whatever the rules do beside it, a cache that is large enough finds what was there before, but no prompt's last token. */
    @ParameterizedTest
    @EnumSource(Form.class)
    void cacheThatEvictsNothing_findsWhatTheSameBlocksTell(Form form) {
        Trace.Builder apart = new Trace.Builder("apart", 16);
        for (int request = 0; request < 40; request++) {
            // Far apart in time; 33 tokens have two full blocks, and 32 find one only since the last token is computed.
            apart.begin(request * 60_000_000_000L, request % 2 == 0 ? 33 : 32, 5);
            apart.block(request / 4 * 2);
            apart.block(request / 4 * 2 + 1);
        }
        ReplayResult found = Replay.run(apart.build(), rules(form, Policy.LRU, Optional.empty()), 10_000);
        assertThat(found.hits()).isEqualTo(10 * (2 + 1 + 1));
        assertThat(found.references()).isEqualTo(80);
        assertThat(found.refused()).contains(new ReplayResult.Refused(0, 0));
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void lruByTheRules_isNearAPlainCacheWhoseRequestsHoldTheirBlocks(Form form) {
        double plain = found(plain(form).holding());
        assertThat(found(rules(form, Policy.LRU, Optional.empty()))).isBetween(0.85 * plain, 1.15 * plain);
    }

    @Test
    void pinsAndSessionHolds_gainOverTheSameRulesWithoutThem() {
        for (Lever lever : Lever.values()) {
            ReplaySettings settings = rules(Form.SGLANG, Policy.HOLDFAST, Optional.of(lever));
            ReplayResult held = Replay.run(trace, settings, CAPACITY);
            assertThat(100 * held.hitRatio()).as("%s", lever).isGreaterThan(found(settings.with(Policy.LRU)) + 0.2);
            assertThat(held.holdOperations().orElseThrow()).isBetween(1L, (long) trace.requests());
            assertThat(held.pinOperations()).isGreaterThan(held.holdOperations().orElseThrow());
            assertThat(held.refused().orElseThrow().requests()).isZero();
        }
    }

    /** A pin of a block that ended no insertion ends the engine sooner or later: that it lives shows that none is made. */
    @Test
    void pinsAsTheyAreChosen_leaveTheEngineAlive_andRoomForTheLargestRequest() {
        ReplaySettings settings = new ReplaySettings(
                Policy.FREQ,
                Set.of(Part.GATE, Part.RESERVE),
                false,
                false,
                Optional.empty(),
                Optional.of(new Announced(Form.SGLANG, Optional.empty(), true)));
        for (int capacity : new int[] {900, 2_000, CAPACITY}) {
            ReplayResult held = Replay.run(trace, settings, capacity);
            assertThat(held.refused().orElseThrow().requests())
                    .as("%d blocks", capacity)
                    .isZero();
        }
    }

    @Test
    void hints_areHeard() {
        ReplaySettings settings = rules(Form.SGLANG, Policy.HOLDFAST, Optional.empty());
        ReplaySettings hinted = new ReplaySettings(
                Policy.HOLDFAST, Set.of(), false, false, Optional.of(new Hints(1, 1)), settings.announced());
        assertThat(found(hinted)).isGreaterThan(found(settings));
    }

    @Test
    void requestsThatNeverFit_areRefused_andFindNothing() {
        Trace.Builder large = new Trace.Builder("large", 16);
        for (int request = 0; request < 6; request++) {
            int blocks = request % 2 == 0 ? 4 : 40;
            large.begin(request * 60_000_000_000L, blocks * 16 + 1, 3);
            for (int block = 0; block < blocks; block++) {
                large.block(block);
            }
        }
        Trace built = large.build();
        for (Form form : Form.values()) {
            ReplayResult found = Replay.run(built, rules(form, Policy.LRU, Optional.empty()), 20);
            assertThat(found.refused()).contains(new ReplayResult.Refused(3, 0));
            assertThat(found.hits()).isEqualTo(2 * 4);
        }
    }

    @Test
    void cacheThatIsNone_isOneSentence() {
        assertThatThrownBy(() -> Replay.run(trace, rules(Form.VLLM, Policy.LRU, Optional.empty()), 3))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("and 3 blocks of 16 tokens are not that");
    }

    @Test
    void sameTrace_givesTheSame() {
        ReplaySettings settings = rules(Form.SGLANG, Policy.HOLDFAST, Optional.of(Lever.SESSION));
        assertThat(Replay.run(trace, settings, CAPACITY)).isEqualTo(Replay.run(trace, settings, CAPACITY));
    }

    private double found(ReplaySettings settings) {
        return 100 * Replay.run(trace, settings, CAPACITY).hitRatio();
    }

    private static ReplaySettings plain(Form form) {
        return ReplaySettings.of(Policy.LRU).announcing(new Announced(form, false));
    }

    private static ReplaySettings rules(Form form, Policy policy, Optional<Lever> lever) {
        return ReplaySettings.of(policy).announcing(new Announced(form, lever, true));
    }
}
