package io.holdfast.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hold.HoldRequest;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The load is what the benchmarks say it is. */
class ChurnTest {
    private static final int SIZE = 1 << 13;

    @ParameterizedTest
    @EnumSource
    void next_onePeriod_keepsTheSizeAndEndsWhereItBegan(EventStyle style) {
        Churn churn = new Churn(style, SIZE, /* withTokens= */ false, 1);
        EngineBlocksIndex tree = new EngineBlocksIndex();
        churn.fill(tree);
        HoldRequest path = new HoldRequest(churn.path(3, Churn.SHARED + Churn.OWN), Duration.ofMinutes(1));
        assertThat(tree.match(path)).isEqualTo(path.blocks());

        for (int i = 0; i < churn.period() / 2; i++) {
            churn.next(tree);
            assertThat(tree.size()).isEqualTo(churn.resident());
        }
        assertThat(tree.match(path)).isEqualTo(Churn.SHARED);

        for (int i = 0; i < churn.period() / 2; i++) {
            churn.next(tree);
        }
        assertThat(tree.match(path)).isEqualTo(path.blocks());
        assertThat(tree.unknown()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void mapAndTree_sameChurn_matchAlikeEverywhere(EventStyle style) {
        MapIndex map = new MapIndex();
        EngineBlocksIndex tree = new EngineBlocksIndex();
        Churn forMap = new Churn(style, SIZE, /* withTokens= */ false, 2);
        Churn forTree = new Churn(style, SIZE, /* withTokens= */ false, 2);
        forMap.fill(map);
        forTree.fill(tree);

        for (int i = 0; i < forMap.period() / 3; i++) {
            forMap.next(map);
            forTree.next(tree);
        }

        for (int place = 0; place < forMap.places(); place++) {
            HoldRequest path = new HoldRequest(forMap.path(place, Churn.SHARED + Churn.OWN), Duration.ofMinutes(1));
            assertThat(tree.match(path)).isEqualTo(map.match(path));
        }
    }

    @Test
    void size_notAPowerOfTwo_isRefused() {
        assertThatThrownBy(() -> new Churn(EventStyle.VLLM, 10_000, /* withTokens= */ false, 1))
                .hasMessage("The size must be a power of two and at least 4096, it is 10000.");
    }
}
