package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class GhostsTest {
    /** A ring of the largest power of two within 16 x the residents, and 1024 at least. */
    @ParameterizedTest
    @CsvSource({"1, 1024, 500", "1, 1024, 5000", "100, 1024, 5000", "1000, 8192, 30000"})
    void ghosts_randomLosses_rememberExactlyTheLatest(int mostResident, int remembered, int universe) {
        SplittableRandom random = new SplittableRandom(mostResident * 31L + universe);
        Ghosts ghosts = new Ghosts(1 << 10, MemoryBudget.unbounded());
        Map<Long, Integer> latest = new HashMap<>();
        Map<Long, Integer> times = new HashMap<>();
        int losses = 100_000;
        for (int i = 0; i < losses; i++) {
            long hash = random.nextLong(universe) - universe / 2;
            boolean known = latest.containsKey(hash) && i - latest.getOrDefault(hash, 0) <= remembered;
            if (i > 4 * remembered) {
                assertThat(ghosts.find(hash) != HashSlots.NONE).as("loss %d", i).isEqualTo(known);
            }
            times.put(hash, ghosts.find(hash) == HashSlots.NONE ? 1 : times.getOrDefault(hash, 0) + 1);
            latest.put(hash, i);
            ghosts.remember(hash, i, (short) (i % 100), mostResident);
            int ghost = ghosts.find(hash);
            assertThat(ghosts.timesLost(ghost)).isEqualTo(Math.min(times.getOrDefault(hash, 0), Short.MAX_VALUE));
            assertThat(ghosts.lastTouch(ghost)).isEqualTo(i);
            assertThat(ghosts.touches(ghost)).isEqualTo((short) (i % 100));
        }
        long expected = latest.values().stream()
                .filter(at -> losses - 1 - at < remembered)
                .count();
        assertThat(ghosts.size()).isEqualTo((int) expected);
    }
}
