package io.holdfast.embed.cell;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class HoldBookTest {
    private static final long SECOND = 1_000_000_000L;
    private static final FleetHold MINUTE =
            FleetHold.of(1, 9, 4, 64, FleetHold.ALL, "ops", 1, Duration.ofMinutes(1), "http://a:1");
    private static final FleetHold YEAR = MINUTE.withLease(Duration.ofDays(365).toMillis());

    private final HoldBook book = new HoldBook();

    @Test
    @DisplayName("what this process took ends when it said, whatever a store says of its lease")
    void ownEnd() {
        assertThat(book.take(MINUTE, 0)).isTrue();
        book.read(List.of(YEAR), SECOND);
        assertThat(book.toPut(59 * SECOND, false))
                .singleElement()
                .satisfies(put -> assertThat(put.leaseMillis()).isEqualTo(1_000));
        assertThat(book.all(60 * SECOND)).isEmpty();
    }

    @Test
    @DisplayName("what a store said before this process took it is not this process's word")
    void takenAfterReading() {
        book.read(List.of(YEAR), 0);
        assertThat(book.take(MINUTE, SECOND)).isTrue();
        assertThat(book.all(61 * SECOND)).isEmpty();
    }

    @Test
    @DisplayName("a store that says late what it was told prolongs nothing")
    void lateReading() {
        book.read(List.of(MINUTE), 0);
        for (int second = 10; second < 60; second += 10) {
            // Ten seconds old when it is read.
            book.read(List.of(MINUTE.withLease(60_000 - (second - 10) * 1_000L)), second * SECOND);
        }
        assertThat(book.all(59 * SECOND)).hasSize(1);
        assertThat(book.all(60 * SECOND)).isEmpty();
    }

    @Test
    @DisplayName("what this process takes again lasts for the longer of both")
    void takenTwice() {
        book.take(MINUTE, 0);
        book.take(MINUTE.withLease(10_000), SECOND);
        assertThat(book.all(59 * SECOND)).hasSize(1);
        book.take(MINUTE, 59 * SECOND);
        assertThat(book.all(118 * SECOND)).hasSize(1);
        assertThat(book.all(119 * SECOND)).isEmpty();
    }

    @Test
    @DisplayName("a sign that a hold is over keeps its id no longer than the hold could have lasted")
    void signThatLies() {
        book.take(MINUTE, 0);
        book.read(List.of(YEAR.asReleased()), 0);
        assertThat(book.take(MINUTE, 70 * SECOND)).isFalse();
        assertThat(book.take(MINUTE, 76 * SECOND)).isTrue();

        HoldBook other = new HoldBook();
        other.read(List.of(YEAR.asReleased()), 0);
        assertThat(other.take(MINUTE, 61 * SECOND)).isTrue();
    }
}
