package io.holdfast.loadtest.journal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ClientHealthTest {
    private static final long MILLI = 1_000_000;

    @Test
    void clientThatStoodStill_saysForHowLong() {
        ClientHealth health = new ClientHealth(1_000 * MILLI, 10 * MILLI, 20 * MILLI, 610 * MILLI, 1, 3 * MILLI, 0);
        assertThat(health.troubles()).singleElement().asString().contains("stood still for 610 ms");
    }

    @Test
    void clientThatWasThere_saysNothing() {
        assertThat(new ClientHealth(1_000 * MILLI, 10 * MILLI, 20 * MILLI, 5 * MILLI, 0, 0, 0).troubles())
                .isEmpty();
    }

    /** Of the 50 ms of a handful of requests a share says nothing. */
    @Test
    void busyEventLoop_isSaidOfALoadThatLasted() {
        assertThat(busy(1_000, 810).troubles()).singleElement().asString().contains("took 81 % of a core");
        assertThat(busy(1_000, 790).troubles()).isEmpty();
        assertThat(busy(40, 40).troubles()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"-501, true", "501, true", "-499, false", "499, false"})
    void dateThatMovedEitherWay_isSaid(long millis, boolean said) {
        assertThat(new ClientHealth(1_000 * MILLI, 0, 0, 0, 0, 0, millis * MILLI).troubles())
                .hasSize(said ? 1 : 0);
    }

    private static ClientHealth busy(long load, long loop) {
        return new ClientHealth(load * MILLI, loop * MILLI, loop * MILLI, 0, 0, 0, 0);
    }
}
