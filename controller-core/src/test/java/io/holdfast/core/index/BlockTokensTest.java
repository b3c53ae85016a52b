package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BlockTokensTest {
    private final Set<Long> cached = new HashSet<>();
    private final BlockTokens tokens = new BlockTokens(cached::contains);
    private final StoredBlocks buffer = new StoredBlocks();

    @Test
    void path_whoseBlocksAreAllKnown_hasItsTokens() {
        stored(2, 1, 10, 11, 12, 13);
        stored(2, 3, 14, 15);
        assertThat(tokens.of(path(1, 2, 3))).hasValue(new int[] {10, 11, 12, 13, 14, 15});
        assertThat(tokens.of(path(1, 2, 4))).isEmpty();
        assertThat(tokens.largest()).isEqualTo(15);
    }

    @Test
    void blocksOfANamespace_areNotKept() {
        buffer.reset().namespaced(true).blockTokens(1).add(1).addToken(5);
        tokens.stored(buffer);
        assertThat(tokens.of(path(1))).isEmpty();
        assertThat(tokens.largest()).isEqualTo(-1);
    }

    @Test
    void announcementThatTellsNotEveryToken_isPassedOver() {
        buffer.reset().blockTokens(2).add(1).add(2).addToken(5).addToken(6).addToken(7);
        tokens.stored(buffer);
        assertThat(tokens.of(path(1))).isEmpty();
    }

    @Test
    void idsBeyondTwoToThe31_areLargeAndNotNegative() {
        stored(1, 1, -1);
        assertThat(tokens.largest()).isEqualTo(0xffff_ffffL);
    }

    @Test
    void otherBlockSize_beginsAnew() {
        stored(2, 1, 10, 11);
        stored(1, 2, 12);
        assertThat(tokens.of(path(1))).isEmpty();
        assertThat(tokens.of(path(2))).hasValue(new int[] {12});
    }

    @Test
    void otherModel_forgetsWhatTheFirstHad() {
        stored(1, 1, 900);
        tokens.forget();
        assertThat(tokens.largest()).isEqualTo(-1);
        assertThat(tokens.of(path(1))).isEmpty();
    }

    /** 2,048 tokens in a block let fewer than 10,000 blocks into the bound, so that the ring goes round. */
    @Test
    void fullRing_forgetsTheOldestAndNothingElse() {
        int perBlock = 2_048;
        SplittableRandom random = new SplittableRandom(7);
        Map<Long, Integer> known = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            long hash = random.nextInt(30_000);
            int token = random.nextInt(1_000_000);
            storedAlike(perBlock, hash, token);
            known.put(hash, token);
        }
        int found = 0;
        for (Map.Entry<Long, Integer> block : known.entrySet()) {
            Optional<int[]> kept = tokens.of(path(block.getKey()));
            found += kept.isPresent() ? 1 : 0;
            kept.ifPresent(all -> assertThat(all).hasSize(perBlock).containsOnly(block.getValue()));
        }
        assertThat(found).isEqualTo(4_096);
    }

    /** A system prompt is announced once and used all day. */
    @Test
    void fullRing_keepsWhatTheCacheKeeps() {
        int perBlock = 2_048;
        for (long hash = 0; hash < 1_000; hash++) {
            cached.add(hash);
        }
        for (int i = 0; i < 20_000; i++) {
            storedAlike(perBlock, i, i);
        }
        assertThat(cached).allMatch(hash -> tokens.of(path(hash)).isPresent());
        assertThat(tokens.of(path(1_000))).as("which the cache had not").isEmpty();
        cached.clear();
        for (int i = 20_000; i < 30_000; i++) {
            storedAlike(perBlock, i, i);
        }
        for (long hash = 0; hash < 1_000; hash++) {
            assertThat(tokens.of(path(hash))).as("which it lost").isEmpty();
        }
    }

    /** A cache of more blocks than there are places keeps them all. */
    @Test
    void ringOfACachedBlocks_stillGoesRound() {
        int perBlock = 2_048;
        for (int i = 0; i < 10_000; i++) {
            cached.add((long) i);
            storedAlike(perBlock, i, i);
            assertThat(tokens.of(path(i))).isPresent();
        }
        assertThat(cached.stream().filter(hash -> tokens.of(path(hash)).isPresent()))
                .hasSize(4_096);
    }

    private void storedAlike(int perBlock, long hash, int token) {
        buffer.reset().blockTokens(perBlock).add(hash);
        for (int t = 0; t < perBlock; t++) {
            buffer.addToken(token);
        }
        tokens.stored(buffer);
    }

    private void stored(int perBlock, long first, int... ids) {
        buffer.reset().blockTokens(perBlock);
        for (int i = 0; i < ids.length / perBlock; i++) {
            buffer.add(first + i);
        }
        for (int id : ids) {
            buffer.addToken(id);
        }
        tokens.stored(buffer);
    }

    private static Prefix path(long... blocks) {
        return new Prefix() {
            @Override
            public int blocks() {
                return blocks.length;
            }

            @Override
            public long block(int depth) {
                return blocks[depth];
            }
        };
    }
}
