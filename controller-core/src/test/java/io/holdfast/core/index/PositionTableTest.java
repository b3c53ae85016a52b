package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PositionTableTest {
    private static final int TURNS = 100_000;

    private final Strips strips = new Strips();
    private final PositionTable table = new PositionTable(strips);
    private final Map<Long, Integer> known = new HashMap<>();
    private final List<Long> living = new ArrayList<>();
    private final SplittableRandom random = new SplittableRandom(5);

    /** A position is given out again at once, so that what a slot without a tag still has leads to another block. */
    @ParameterizedTest
    @ValueSource(ints = {20, 1_000, 30_000})
    void find_keysThatComeAndGo_areWhereTheyWerePut(int most) {
        for (int turn = 0; turn < TURNS; turn++) {
            boolean growing = turn < TURNS / 2;
            if (!living.isEmpty() && (living.size() == most || random.nextInt(8) < (growing ? 2 : 3))) {
                remove();
            } else {
                insert(most);
            }
        }

        known.forEach((key, position) -> assertThat(table.find(key)).isEqualTo(position));
        assertThat(known).isNotEmpty();
    }

    @Test
    void findBeside_neighboursAndStrangers_saysWhatFindSays() {
        for (int strip = 0; strip < 8; strip++) {
            int position = Strips.ROOT;
            for (int offset = 0; offset < Strips.OFFSETS; offset++) {
                long key = random.nextLong();
                position = offset == 0 ? strips.create(Strips.ROOT, key) : strips.extend(position, key);
                table.insert(key, position);
                living.add(key);
            }
        }
        int near = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            long[] keys = new long[2 + random.nextInt(1, PositionTable.AHEAD + 1)];
            int step = random.nextBoolean() ? 1 : -1;
            int at = random.nextInt(living.size());
            for (int i = 0; i < keys.length; i++) {
                at = random.nextInt(4) == 0 ? random.nextInt(living.size()) : Math.floorMod(at + step, living.size());
                keys[i] = random.nextInt(16) == 0 ? random.nextLong() : living.get(at);
            }
            for (int index = 0; index < keys.length - 2; index++) {
                int position = table.findBeside(near, keys, 2, index, keys.length - 2);

                assertThat(position).isEqualTo(table.find(keys[2 + index]));
                near = position == 0 ? near : position;
            }
        }
    }

    private void insert(int most) {
        // Few more keys than blocks, so that one comes back when its last position is another's.
        long key = random.nextInt(2 * most);
        Integer position = known.get(key);
        assertThat(table.find(key)).isEqualTo(position == null ? 0 : position);
        if (position == null) {
            int given = strips.create(Strips.ROOT, key);
            table.insert(key, given);
            known.put(key, given);
            living.add(key);
        }
    }

    private void remove() {
        int index = random.nextInt(living.size());
        long key = living.get(index);
        long last = living.removeLast();
        if (last != key) {
            living.set(index, last);
        }
        int position = known.remove(key);
        table.remove(key, position);
        strips.shorten(position >>> Strips.OFFSET_BITS);
        strips.release(position >>> Strips.OFFSET_BITS);
        assertThat(table.find(key)).isZero();
    }
}
