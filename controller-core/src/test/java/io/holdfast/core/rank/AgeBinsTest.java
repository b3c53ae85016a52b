package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class AgeBinsTest {
    @Test
    void binOfAnAge_isTheOneBetweenWhoseEdgesItLies() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 200_000; i++) {
            double age = Math.exp(random.nextDouble(-3, 16));
            check(age);
        }
        for (int bin = 1; bin <= AgeBins.COUNT; bin++) {
            check(AgeBins.edge(bin));
            check(Math.nextDown(AgeBins.edge(bin)));
            check(Math.nextUp(AgeBins.edge(bin)));
        }
        check(0);
        check(Double.MIN_VALUE);
        check(1e12);
        check(Double.POSITIVE_INFINITY);
        assertThat(AgeBins.of(-1)).as("a clock that went back").isZero();
        assertThat(AgeBins.of(Double.NaN)).isZero();
    }

    @Test
    void edges_areHalfASecondAndThenOnePointFourTimesTheLast() {
        assertThat(AgeBins.edge(0)).isZero();
        assertThat(AgeBins.edge(1)).isEqualTo(0.5);
        for (int bin = 1; bin < AgeBins.COUNT; bin++) {
            assertThat(AgeBins.edge(bin + 1) / AgeBins.edge(bin)).isBetween(1.399_999, 1.400_001);
        }
    }

    private static void check(double age) {
        int bin = 0;
        while (bin < AgeBins.COUNT - 1 && AgeBins.edge(bin + 1) <= age) {
            bin++;
        }
        assertThat(AgeBins.of(age)).as("the bin of %s", age).isEqualTo(bin);
    }
}
