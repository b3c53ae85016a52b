package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.CacheProof.Answer;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class CacheProofTest {
    @Test
    void lives_thatLoseAndKeep_proveBoth() {
        CacheProof proof = CacheProof.fromLives(shares(0.3, 0.4, 0.35), shares(0.28, 0.36, 0.33), 0.005);
        assertThat(proof.exposed()).isEqualTo(Answer.YES);
        assertThat(proof.kept()).isEqualTo(Answer.YES);
        assertThat(proof.exposure().orElseThrow().middle()).isCloseTo(0.35, within(1e-12));
        // Standard deviation 0.05, three lives: 4.3027 * 0.05 / sqrt(3).
        assertThat(proof.exposure().orElseThrow().halfWidth()).isCloseTo(0.124207, within(1e-6));
    }

    @Test
    void lives_thatLoseNothing_proveThatThereWasNoExposure() {
        CacheProof proof = CacheProof.fromLives(shares(0, 0, 0, 0), shares(0, 0, 0, 0), 0.005);
        assertThat(proof.exposure()).contains(new Interval(0, 0));
        assertThat(proof.exposed()).isEqualTo(Answer.NO);
        assertThat(proof.kept()).isEqualTo(Answer.NO);
    }

    @Test
    void lives_whereOneReportedNothing_areUnknown() {
        List<OptionalDouble> oneMissing =
                List.of(OptionalDouble.of(0.3), OptionalDouble.empty(), OptionalDouble.of(0.4));
        CacheProof proof = CacheProof.fromLives(oneMissing, shares(0.3, 0.3), 0.005);
        assertThat(proof.exposed()).isEqualTo(Answer.UNKNOWN);
        assertThat(proof.kept()).isEqualTo(Answer.YES);
    }

    @Test
    void fewerThanTwoLives_areUnknown() {
        assertThat(CacheProof.fromLives(List.of(), shares(0.3), 0.005)).isEqualTo(CacheProof.unknown());
    }

    @ParameterizedTest
    @CsvSource({"16, 448, 0.0357142857", "1, 448, 0.005", "16, 3200, 0.005", "64, 64, 1"})
    void threshold_blocksAndPrompts_isOneBlockOfAPromptAndHalfAPointAtLeast(int block, double prompt, double share) {
        assertThat(CacheProof.threshold(block, prompt)).isCloseTo(share, within(1e-9));
    }

    @Test
    void percentInsteadOfShares_areRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CacheProof.fromLives(shares(30, 40), shares(0.1, 0.1), 0.005))
                .withMessageContaining("not percent");
    }

    private static List<OptionalDouble> shares(double... shares) {
        return Arrays.stream(shares).mapToObj(OptionalDouble::of).toList();
    }
}
