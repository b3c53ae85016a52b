package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class CriteriaTest {
    @Test
    void standard_isFivePercentAtFivePercentWithFourPairs() {
        assertThat(Criteria.standard()).isEqualTo(new Criteria(Math.log(1.05), 0.05, 4));
        assertThat(Criteria.standard().atOneOf(3).alpha()).isCloseTo(0.05 / 3, within(1e-15));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0.05, 4, delta",
        "-0.1, 0.05, 4, delta",
        "NaN, 0.05, 4, delta",
        "0.05, 0, 4, alpha",
        "0.05, 0.06, 4, alpha",
        "0.05, NaN, 4, alpha",
        "0.05, 0.05, 3, minimumPerOrder"
    })
    void criteria_thatProveNothing_areRefusedByName(double delta, double alpha, int minimum, String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Criteria(delta, alpha, minimum))
                .withMessageStartingWith(name + " is ");
    }
}
