package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class MemoryBudgetTest {
    private static final int KIBI = 1 << 10;

    @Test
    void takenAndGiven_areWhatIsUsed() {
        MemoryBudget budget = new MemoryBudget(100);
        assertThat(budget.take(60)).isTrue();
        assertThat(budget.take(50)).isFalse();
        assertThat(budget.used()).isEqualTo(new MemoryBudget.Used(60, 100, 1));
        budget.give(20);
        assertThat(budget.take(50)).isTrue();
        assertThat(budget.used()).isEqualTo(new MemoryBudget.Used(90, 100, 1));
        budget.takeAnyhow(20);
        assertThat(budget.used()).isEqualTo(new MemoryBudget.Used(110, 100, 2));
    }

    @Test
    void ghosts_growWithinTheBudgetAndRememberTheNewest() {
        MemoryBudget budget = new MemoryBudget(10L * KIBI * Ghosts.EACH);
        Ghosts ghosts = new Ghosts(64 * KIBI, budget);
        for (int hash = 1; hash <= 50 * KIBI; hash++) {
            ghosts.remember(hash, hash, (short) 1, 1);
        }
        assertThat(ghosts.size()).isEqualTo(8 * KIBI);
        assertThat(ghosts.find(50 * KIBI)).isNotEqualTo(HashSlots.NONE);
        assertThat(ghosts.find(42 * KIBI)).isEqualTo(HashSlots.NONE);
        assertThat(budget.used().bytes()).isEqualTo(8L * KIBI * Ghosts.EACH);
        assertThat(budget.used().shortages()).isPositive();
    }

    @Test
    void somethingMoreUseful_makesTheOldestGhostsGo() {
        MemoryBudget budget = new MemoryBudget(10L * KIBI * Ghosts.EACH);
        Ghosts ghosts = new Ghosts(64 * KIBI, budget);
        for (int hash = 1; hash <= 11 * KIBI; hash++) {
            ghosts.remember(hash, 3 * hash, (short) (hash % 100), 1);
        }
        assertThat(ghosts.size()).isEqualTo(8 * KIBI);

        assertThat(budget.take(4L * KIBI * Ghosts.EACH)).isTrue();
        assertThat(ghosts.size()).isEqualTo(4 * KIBI);
        assertThat(budget.used().bytes()).isEqualTo(8L * KIBI * Ghosts.EACH);
        for (int hash = 1; hash <= 11 * KIBI; hash++) {
            int ghost = ghosts.find(hash);
            assertThat(ghost != HashSlots.NONE).as("ghost %d", hash).isEqualTo(hash > 7 * KIBI);
            if (ghost != HashSlots.NONE) {
                assertThat(ghosts.lastTouch(ghost)).isEqualTo(3 * hash);
                assertThat(ghosts.touches(ghost)).isEqualTo((short) (hash % 100));
                assertThat(ghosts.timesLost(ghost)).isOne();
            }
        }

        assertThat(budget.take(20L * KIBI * Ghosts.EACH))
                .as("more than there is")
                .isFalse();
        assertThat(ghosts.size()).as("nothing goes for what does not fit").isEqualTo(4 * KIBI);
        assertThat(budget.take(5L * KIBI * Ghosts.EACH)).isTrue();
        assertThat(ghosts.size()).as("the smallest ring stays").isEqualTo(KIBI);
        for (int hash = 1; hash <= 5 * KIBI; hash++) {
            ghosts.remember(-hash, hash, (short) 1, 1);
        }
        assertThat(ghosts.find(-5 * KIBI)).isNotEqualTo(HashSlots.NONE);
        assertThat(budget.used().bytes()).isLessThanOrEqualTo(10L * KIBI * Ghosts.EACH);
    }

    @Test
    void tokens_ofWhatTheCacheHasAreNotCounted_andBeyondThemTheOldestGo() {
        MemoryBudget budget = new MemoryBudget(200L * KIBI);
        int[] cached = {16 * KIBI};
        BlockTokens tokens = new BlockTokens(hash -> false, () -> cached[0], budget);
        StoredBlocks stores = new StoredBlocks();
        for (int hash = 1; hash <= 16 * KIBI; hash++) {
            store(tokens, stores, hash);
        }
        assertThat(budget.used().bytes()).as("a mirror").isZero();
        assertThat(tokens.know(new long[] {1})).isTrue();

        cached[0] = 0;
        for (int hash = 16 * KIBI + 1; hash <= 40 * KIBI; hash++) {
            store(tokens, stores, hash);
        }
        assertThat(budget.used().shortages()).as("no bytes for twice as many").isPositive();
        assertThat(tokens.know(new long[] {1})).isFalse();
        assertThat(tokens.know(new long[] {40 * KIBI})).isTrue();
        tokens.forget();
        assertThat(budget.used().bytes()).isZero();
    }

    private static void store(BlockTokens tokens, StoredBlocks stores, long hash) {
        stores.reset().blockTokens(4).in(Tier.GPU);
        stores.add(hash);
        for (int token = 0; token < 4; token++) {
            stores.addToken((int) hash + token);
        }
        tokens.stored(stores);
    }
}
