package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class LongToLongMapTest {
    @Test
    void randomSteps_tableEqualsAMap() {
        for (int seed = 0; seed < 50; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            LongToLongMap table = new LongToLongMap();
            Map<Long, Long> map = new HashMap<>();
            int keys = 1 << random.nextInt(2, 12);
            for (int step = 0; step < 5000; step++) {
                long key = (random.nextInt(keys) - keys / 2) * (seed % 2 == 0 ? 1L : 0x1_0000_0001L);
                int action = random.nextInt(1000);
                if (action == 0) {
                    table.clear();
                    map.clear();
                } else if (action < 550) {
                    long value = random.nextLong() | 1;
                    table.put(key, value);
                    map.put(key, value);
                } else {
                    table.remove(key);
                    map.remove(key);
                }
                assertThat(table.get(key)).as("seed %s step %s", seed, step).isEqualTo(map.getOrDefault(key, 0L));
            }
            assertThat(table.size()).isEqualTo(map.size());
            map.forEach((key, value) -> assertThat(table.get(key)).isEqualTo(value));
        }
    }

    @Test
    void put_zero_isRefused() {
        assertThatThrownBy(() -> new LongToLongMap().put(1, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
