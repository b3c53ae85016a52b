package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.Samples;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Of two caches. */
final class EngineGuardTest {
    private static final long SECOND = 1_000_000_000L;

    private final EngineGuard guard = new EngineGuard();
    private int served;

    EngineGuardTest() {
        guard.add();
    }

    @Test
    void engineRests_whenAllItsCachesDo() {
        look(0, 0, 0, SECOND);
        look(1, 1, 0, SECOND);
        look(0, 0, 0, 2 * SECOND);
        look(1, 1, 0, 2 * SECOND);
        assertThat(guard.rank(0).restedWith()).hasValue(512);
        assertThat(guard.rested()).isFalse();
        look(1, 0, 0, 3 * SECOND);
        assertThat(guard.rested()).isTrue();
    }

    @Test
    void callOfOurs_reachesAllCaches() {
        for (int rank = 0; rank < 2; rank++) {
            look(rank, 0, 0, SECOND);
        }
        guard.callsUnderWay(3 * SECOND);
        for (int rank = 0; rank < 2; rank++) {
            look(rank, 0, 0, 2 * SECOND);
            assertThat(guard.rank(rank).restedWith())
                    .as("rank %d was asked before", rank)
                    .isEmpty();
        }
    }

    @Test
    void whoeverResumes_resumesAllCaches() {
        for (int second = 1; second <= 3; second++) {
            look(0, 0, 1, second * SECOND);
            look(1, 0, 1, second * SECOND);
        }
        assertThat(guard.stalled(3 * SECOND)).isTrue();
        assertThat(guard.stalls()).isEqualTo(2);
        assertThat(guard.hindrance(3 * SECOND)).isPresent();
        guard.resume();
        assertThat(guard.hindrance(3 * SECOND)).isEmpty();
    }

    @Test
    void oneCacheThatStalls_stallsTheEngine() {
        for (int second = 1; second <= 3; second++) {
            look(0, 1, 0, second * SECOND);
            look(1, 0, 1, second * SECOND);
        }
        assertThat(guard.stalled(3 * SECOND)).isTrue();
    }

    /** Or what is ours would be taken for what runs. */
    @Test
    void whatIsInUseBesideOurPins_isWithoutThem() {
        guard.rank(0).look(Samples.readings(10_000, 16, 9_000, 1, 0, 1_500), 512, 0, SECOND, SECOND);
        assertThat(guard.rank(0)
                        .observed(PromptSizes.Facts.NONE, OptionalLong.empty(), PromptSizes.Facts.NONE, SECOND)
                        .beside())
                .hasValue(988);
    }

    private void look(int rank, int running, int waiting, long nanos) {
        guard.rank(rank)
                .look(
                        Samples.readings(10_000, 16, 9_000, running, waiting, 512, 0, ++served, nanos),
                        0,
                        0,
                        nanos,
                        nanos);
    }
}
