package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.MemoryBudget;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Two paths: 0 above 1 above 2, and 0 above 3. */
final class PinChoiceTest {
    private static final int[] NONE_FIRST = {};

    private final BlockHistory history = new BlockHistory(false, MemoryBudget.unbounded());
    private final BlockSet candidates = new BlockSet();
    private final TreeSet<Integer> pinned = new TreeSet<>();
    private final PinChoice choice = new PinChoice(history, candidates, (block, pin) -> {
        assertThat(pin ? pinned.add(block) : pinned.remove(block)).isTrue();
    });
    private final double[] scores = {1, 1, 3, 2};

    PinChoiceTest() {
        for (int block = 0; block < 4; block++) {
            candidates.add(history.add(100 + block));
        }
        history.parents[1] = 0;
        history.parents[2] = 1;
        history.parents[3] = 0;
    }

    @Test
    void best_isPinnedWithAllAboveIt() {
        choose(3, NONE_FIRST);
        assertThat(pinned).containsExactly(0, 1, 2);
        choose(4, NONE_FIRST);
        assertThat(pinned).containsExactly(0, 1, 2, 3);
        assertThat(choice.pins()).isEqualTo(4);
    }

    @Test
    void whatDoesNotFitWithAllAboveIt_makesWayForTheNext() {
        choose(2, NONE_FIRST);
        assertThat(pinned).containsExactly(0, 3);
    }

    @Test
    void ends_areThoseBelowWhichNothingIsPinned() {
        choose(4, NONE_FIRST);
        List<Integer> ends = new ArrayList<>();
        choice.ends(ends::add);
        assertThat(ends).containsExactlyInAnyOrder(2, 3);
    }

    @Test
    void whatLeftTheCache_isNotTakenThoughItWouldComeFirst() {
        candidates.remove(2);
        choose(4, new int[] {2});
        assertThat(pinned).containsExactly(0, 1, 3);
    }

    @Test
    void whatPromisesNothing_isNotPinned() {
        scores[2] = 0;
        choose(4, NONE_FIRST);
        assertThat(pinned).containsExactly(0, 1, 3);
        scores[1] = 0;
        choose(4, NONE_FIRST);
        assertThat(pinned).containsExactly(0, 3);
    }

    @Test
    void lostBlock_isNotLetGoOf() {
        choose(4, NONE_FIRST);
        choice.lost(2);
        pinned.remove(2);
        candidates.remove(2);
        assertThat(choice.isPinned(2)).isFalse();
        choice.releaseAll();
        assertThat(pinned).isEmpty();
    }

    private void choose(int budget, int[] first) {
        choice.choose((block, nanos) -> (float) scores[block], budget, 1_000, new RecentPrompts(8), first, 0);
    }

    @Test
    void pinThatWasNotInTheShadowYet_isReleasedWithoutHarm() {
        BlockHistory known = new BlockHistory(false, MemoryBudget.unbounded());
        int above = known.add(1);
        int parting = known.add(2);
        int end = known.add(3);
        int other = known.add(4);
        int below = known.add(5);
        LruCache shadow = new LruCache(4, block -> {});
        PinChoice pins = new PinChoice(known, shadow.blocks(), (block, pin) -> {
            if (shadow.has(block) && pin) {
                shadow.keep(block);
            } else if (shadow.has(block)) {
                shadow.release(block);
            }
        });
        Score endFirst = (block, nanos) -> block == end ? 1 : 0;
        known.parents[end] = above;
        shadow.use(new int[] {above, end}, 2, 1);
        pins.choose(endFirst, 4, 100, new RecentPrompts(0), NONE_FIRST, 1);
        // All that is left is kept, so the block between the two finds no room.
        shadow.resize(2);
        assertThat(shadow.use(new int[] {above, parting, end}, 3, 2)).isEqualTo(1);
        known.parents[parting] = above;
        known.parents[end] = parting;
        pins.choose(endFirst, 4, 100, new RecentPrompts(0), NONE_FIRST, 2);
        shadow.resize(4);
        assertThat(shadow.use(new int[] {above, parting, end}, 3, 3)).isEqualTo(3);
        pins.releaseAll();
        shadow.use(new int[] {other}, 1, 4);
        assertThat(shadow.use(new int[] {above, parting, end, below}, 4, 5)).isEqualTo(4);
    }
}
