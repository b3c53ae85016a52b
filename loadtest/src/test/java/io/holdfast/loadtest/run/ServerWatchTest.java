package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.EngineShare;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
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

    @Test
    void shareOfALeg_isWhatWasCountedMeanwhile() {
        assertThat(counted(1_000, 300).since("a", counted(900, 250)))
                .hasValue(new EngineShare("a", 100, OptionalLong.of(50)));
        assertThat(served(1_000).since("a", counted(900, 250)))
                .as("what was cached is unknown, not none")
                .hasValue(new EngineShare("a", 100, OptionalLong.empty()));
        assertThat(began("x").since("a", counted(900, 250))).isEmpty();
    }

    /** Two counts belong to one moment, or their difference to an earlier one would be of two spans. */
    @Test
    void countsOfTwoMoments_areNotPutTogether() {
        assertThat(served(8).orAsIn(counted(7, 3))).isEqualTo(served(8));
        assertThat(began("x").orAsIn(counted(7, 3)))
                .isEqualTo(new LifeSign(Optional.of("x"), OptionalDouble.of(7), OptionalDouble.of(3)));
    }

    private static LifeSign counted(double served, double cached) {
        return new LifeSign(Optional.empty(), OptionalDouble.of(served), OptionalDouble.of(cached));
    }

    private static LifeSign began(String text) {
        return new LifeSign(Optional.of(text), OptionalDouble.empty());
    }

    private static LifeSign served(double count) {
        return new LifeSign(Optional.empty(), OptionalDouble.of(count));
    }
}
