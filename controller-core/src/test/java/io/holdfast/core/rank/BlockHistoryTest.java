package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.MemoryBudget;
import org.junit.jupiter.api.Test;

final class BlockHistoryTest {
    private final BlockHistory history = new BlockHistory(true, MemoryBudget.unbounded());

    @Test
    void numberOfAForgottenBlock_isGivenToAnotherThatKnowsNothingOfIt() {
        int first = history.add(77);
        history.parents[first] = history.add(76);
        history.uses[first] = 5;
        history.endTurns[first] = 2;
        history.frequencies[first] = 3;
        history.forget(first);
        assertThat(history.uses[first]).as("nobody's").isZero();
        assertThat(history.find(77)).isEqualTo(BlockHistory.NONE);
        assertThat(history.remembered()).isEqualTo(1);

        int next = history.add(78);
        assertThat(next).isEqualTo(first);
        assertThat(history.find(78)).isEqualTo(next);
        assertThat(history.parents[next]).isEqualTo(BlockHistory.NONE);
        assertThat(history.uses[next]).isZero();
        assertThat(history.endTurns[next]).isZero();
        assertThat(history.frequencies[next]).isZero();
    }

    @Test
    void moreBlocksThanWereExpected_areAllFound() {
        for (int hash = 1; hash <= 5_000; hash++) {
            assertThat(history.add(hash)).isEqualTo(hash - 1);
        }
        for (int hash = 1; hash <= 5_000; hash++) {
            assertThat(history.find(hash)).isEqualTo(hash - 1);
        }
        assertThat(history.reach()).isEqualTo(5_000);
    }
}
