package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashSet;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class GhostQueueTest {
    private static final int BLOCKS = 5_000;

    @Test
    void randomUse_isThatOfAListOfGhosts() {
        SplittableRandom random = new SplittableRandom(1);
        GhostQueue queue = new GhostQueue();
        LinkedHashSet<Integer> oldestFirst = new LinkedHashSet<>();
        for (int i = 0; i < 50_000; i++) {
            int block = random.nextInt(BLOCKS);
            if (random.nextInt(3) == 0) {
                queue.returned(block);
                oldestFirst.remove(block);
            } else {
                queue.add(block);
                oldestFirst.remove(block);
                oldestFirst.add(block);
            }
            int most = random.nextInt(BLOCKS / 2);
            while (oldestFirst.size() > most) {
                assertThat(queue.oldestAbove(most)).isEqualTo(oldestFirst.removeFirst());
            }
            assertThat(queue.oldestAbove(most)).isEqualTo(BlockHistory.NONE);
        }
    }
}
