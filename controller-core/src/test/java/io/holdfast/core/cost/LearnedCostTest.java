package io.holdfast.core.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

final class LearnedCostTest {
    private final CostSampler sampler = new CostSampler(true);

    @Test
    void samplesOfAnEarlierProcess_areALineAtOnce() {
        assertThat(sampler.cost()).isInstanceOf(PrefillCost.Unknown.class);
        sampler.restore(line(40, 1));
        assertThat(sampler.cost().seconds(1_000)).hasValueCloseTo(0.5, org.assertj.core.data.Offset.offset(1e-9));
        assertThat(sampler.learned()).usingRecursiveComparison().isEqualTo(line(40, 1));
    }

    @Test
    void ownSamples_areTheYounger() {
        sampler.restore(line(512, 1));
        sampler.restore(line(512, 7));
        assertThat(sampler.learned().weights())
                .as("these count as older than what was there")
                .containsOnly(1);
        sampler.forget();
        assertThat(sampler.learned().tokens()).isEmpty();
    }

    @Test
    void samplesThatAreNoNumbers_areRefused() {
        double[] two = {1, 2};
        assertThatIllegalArgumentException().isThrownBy(() -> new LearnedCost(two, two, new double[1]));
        assertThatIllegalArgumentException().isThrownBy(() -> new LearnedCost(two, two, new double[] {1, Double.NaN}));
    }

    private static LearnedCost line(int count, double weight) {
        double[] tokens = new double[count];
        Arrays.setAll(tokens, i -> 100 + i);
        double[] weights = new double[count];
        Arrays.fill(weights, weight);
        return new LearnedCost(
                tokens, Arrays.stream(tokens).map(each -> 0.01 + 0.0005 * each).toArray(), weights);
    }
}
