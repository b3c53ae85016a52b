package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class HeapTrimTest {
    private static final long MEBI = 1 << 20;

    private long used = 30 * MEBI;
    private long live = 20 * MEBI;
    private int collections;

    private final HeapTrim trim = new HeapTrim(() -> used, () -> {
        collections++;
        used = live;
    });

    @Test
    void garbage_isCollectedOnceItIsAQuarterOfWhatLives() {
        trim.look();
        assertThat(collections).as("what the start left behind").isOne();
        used = 29 * MEBI;
        trim.look();
        assertThat(collections).as("little").isOne();
        used = 30 * MEBI;
        trim.look();
        assertThat(collections).isEqualTo(2);
    }

    @Test
    void heapThatLives_isNotCollectedAgainAndAgain() {
        used = 90 * MEBI;
        live = 90 * MEBI;
        for (int look = 0; look < 5; look++) {
            trim.look();
        }
        assertThat(collections).isOne();
        used = live + live / 4 + 5 * MEBI;
        trim.look();
        assertThat(collections).isEqualTo(2);
    }
}
