package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CrossoverPlanTest {
    @Test
    void plan_anySeed_holdsEveryOrderOncePerBlock() {
        for (long seed = 0; seed < 1000; seed++) {
            CrossoverPlan plan = CrossoverPlan.draw(5, new SplittableRandom(seed));
            assertThat(plan.rounds())
                    .hasSize(5)
                    .allSatisfy(
                            round -> assertThat(round).containsExactlyInAnyOrderElementsOf(Design.CROSSOVER.round()));
            assertThat(plan.lives()).hasSize(15);
        }
    }

    @Test
    void plan_sameSeed_isTheSame() {
        assertThat(CrossoverPlan.draw(9, new SplittableRandom(7)))
                .isEqualTo(CrossoverPlan.draw(9, new SplittableRandom(7)))
                .isNotEqualTo(CrossoverPlan.draw(9, new SplittableRandom(8)));
    }

    @Test
    void plan_manyRounds_drawsEverySequenceAboutEquallyOften() {
        Map<List<PairOrder>, Integer> seen = new HashMap<>();
        for (List<PairOrder> round :
                CrossoverPlan.draw(6000, new SplittableRandom(42)).rounds()) {
            seen.merge(round, 1, Integer::sum);
        }
        // Six sequences, 1000 expected of each, standard deviation 29.
        assertThat(seen).hasSize(6);
        assertThat(seen.values()).allSatisfy(count -> assertThat(count).isBetween(850, 1150));
    }

    @Test
    void plan_editedBlock_isRefused() {
        List<PairOrder> edited = List.of(PairOrder.BP, PairOrder.BP, PairOrder.PB);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new CrossoverPlan(List.of(Design.CROSSOVER.round(), edited)))
                .withMessageContaining("Round 2 of the plan is [BP, BP, PB]");
        assertThatIllegalArgumentException().isThrownBy(() -> new CrossoverPlan(List.of(List.of())));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void plan_noRounds_isRefused(int rounds) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CrossoverPlan.draw(rounds, new SplittableRandom(0)))
                .withMessageContaining("at least one round");
    }

    @Test
    void onlyControls_areAaPairsAndNothingElse() {
        CrossoverPlan plan = CrossoverPlan.onlyControls(3);
        assertThat(plan.lives()).containsExactly(PairOrder.AA, PairOrder.AA, PairOrder.AA);
        assertThat(plan.isOnlyControls()).isTrue();
        assertThat(CrossoverPlan.draw(1, new SplittableRandom(1)).isOnlyControls())
                .isFalse();
        assertThatIllegalArgumentException().isThrownBy(() -> CrossoverPlan.onlyControls(0));
        assertThatIllegalArgumentException()
                .as("controls among rounds")
                .isThrownBy(() -> new CrossoverPlan(List.of(List.of(PairOrder.AA), Design.CROSSOVER.round())));
    }
}
