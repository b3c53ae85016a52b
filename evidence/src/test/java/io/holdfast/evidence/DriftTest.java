package io.holdfast.evidence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

final class DriftTest {
    private static final int EXPERIMENTS =
            "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 20_000 : 2_000;
    private static final double ORDER_BIAS = Math.log(0.8);
    private static final List<PairOrder> ORDERS = List.of(PairOrder.AA, PairOrder.BP, PairOrder.PB);
    private static final double DELTA = Criteria.standard().delta();

    @Test
    void livesTenPercentApartUnderAnOrderBias_areRarelyFlagged() {
        assertThat(shareFlagged(0.1, 0)).isLessThanOrEqualTo(0.05);
        assertThat(shareFlagged(0.03, 0)).isLessThanOrEqualTo(0.05);
        assertThat(shareFlagged(0.002, 0)).isLessThanOrEqualTo(0.01);
    }

    @Test
    void driftOfTwiceDeltaUnderAnOrderBias_isFound() {
        assertThat(shareFlagged(0.03, 2 * DELTA)).isGreaterThanOrEqualTo(0.8);
        assertThat(shareFlagged(0.03, -2 * DELTA)).isGreaterThanOrEqualTo(0.8);
    }

    /** The scatter of lives bounds what any test could see of a drift over fifteen of them. */
    @Test
    void driftOfTwiceDeltaAmongLivesTenPercentApart_isSeldomSeen() {
        assertThat(shareFlagged(0.1, 2 * DELTA)).isBetween(0.1, 0.3);
        assertThat(shareFlagged(0.1, 8 * DELTA)).isGreaterThanOrEqualTo(0.8);
    }

    @Test
    void significantDriftBelowDelta_doesNotMatter() {
        List<Drift.Life> lives = new ArrayList<>();
        for (int turn = 1; turn <= 15; turn++) {
            lives.add(new Drift.Life(turn, ORDERS.get(turn % 3), 0.003 * turn + 1e-4 * (turn % 2)));
        }
        Drift drift = Drift.of(lives).orElseThrow();
        assertThat(drift.p()).isLessThan(1e-6);
        assertThat(drift.change()).isCloseTo(0.042, within(1e-3));
        assertThat(drift.matters(Criteria.standard())).isFalse();
    }

    @Test
    void ordersOfDifferentLevels_areNoDrift() {
        List<Drift.Life> lives = new ArrayList<>();
        for (int turn = 0; turn < 6; turn++) {
            lives.add(new Drift.Life(turn, ORDERS.get(turn / 2), 1 + turn / 2));
        }
        assertThat(Drift.of(lives)).hasValue(new Drift(0, 1));
    }

    @Test
    void tooFewLives_giveNoFit() {
        assertThat(Drift.of(List.of())).isEmpty();
        assertThat(Drift.of(List.of(
                        new Drift.Life(1, PairOrder.AA, 1),
                        new Drift.Life(2, PairOrder.BP, 1),
                        new Drift.Life(3, PairOrder.PB, 1),
                        new Drift.Life(4, PairOrder.AA, 1))))
                .isEmpty();
    }

    /** Of five rounds each; legs scatter by 2 % beside what sets their lives apart. */
    private static double shareFlagged(double livesApart, double drift) {
        SplittableRandom random = new SplittableRandom(4_711);
        int flagged = 0;
        for (int i = 0; i < EXPERIMENTS; i++) {
            flagged += Drift.of(lives(random, livesApart, drift)).orElseThrow().matters(Criteria.standard()) ? 1 : 0;
        }
        return (double) flagged / EXPERIMENTS;
    }

    private static List<Drift.Life> lives(RandomGenerator random, double apart, double drift) {
        List<PairOrder> orders = CrossoverPlan.draw(5, random).lives();
        List<Drift.Life> lives = new ArrayList<>();
        for (int turn = 1; turn <= orders.size(); turn++) {
            double life = apart * random.nextGaussian() + drift * (turn - 1) / (orders.size() - 1);
            double[] legs = switch (orders.get(turn - 1)) {
                case AA -> new double[] {leg(random), leg(random) + ORDER_BIAS};
                case BP -> new double[] {leg(random)};
                case PB -> new double[] {leg(random) + ORDER_BIAS};
                case BPPB, PBBP -> throw new AssertionError("not of a crossover");
            };
            lives.add(new Drift.Life(
                    turn,
                    orders.get(turn - 1),
                    life + Arrays.stream(legs).average().orElseThrow()));
        }
        return lives;
    }

    private static double leg(RandomGenerator random) {
        return 0.02 * random.nextGaussian();
    }
}
