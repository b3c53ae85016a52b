package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Which two signs can be of one process. */
final class ServerWatchTest {
    private static final LifeSign UNKNOWN = LifeSign.unknown();

    @Test
    void sign_isOfAnotherProcessWhereItBeganOtherwiseOrCountsAnew() {
        assertThat(began("a").isOfAnotherThan(began("a"))).isFalse();
        assertThat(began("b").isOfAnotherThan(began("a"))).isTrue();
        assertThat(served(7).isOfAnotherThan(served(7))).isFalse();
        assertThat(served(8).isOfAnotherThan(served(7))).isFalse();
        assertThat(served(6).isOfAnotherThan(served(7))).isTrue();
    }

    @Test
    void sign_thatIsMissing_saysNothing() {
        assertThat(UNKNOWN.isOfAnotherThan(began("a"))).isFalse();
        assertThat(began("a").isOfAnotherThan(UNKNOWN)).isFalse();
        assertThat(served(1).isOfAnotherThan(began("a"))).isFalse();
        assertThat(UNKNOWN.orAsIn(served(7))).isEqualTo(served(7));
        assertThat(served(8).orAsIn(served(7))).isEqualTo(served(8));
    }

    private static LifeSign began(String text) {
        return new LifeSign(Optional.of(text), OptionalDouble.empty());
    }

    private static LifeSign served(double count) {
        return new LifeSign(Optional.empty(), OptionalDouble.of(count));
    }
}
