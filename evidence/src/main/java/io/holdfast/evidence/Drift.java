package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/*
 * Drift
 * =====
 *
 * A life is one observation, as everywhere: its baseline legs share whatever sets it apart from other lives, so a line
 * through the legs themselves would take a few lives that happen to lie in a row for a trend.
 *
 * Where a baseline leg stands is taken out. It is the first of BP, the second of PB, and both of AA; so lives are
 * compared with those of their own order only, and being second, whatever it does, is the same in all of these. One
 * common slope is fitted through the orders, each with a level of its own, and judged by the scatter that is left.
 *
 * Both significant and large. A machine in a calm room shows a drift of a tenth of a percent significantly, which moves
 * nothing; so what the fit comes to over the whole run has to be as large as an effect that matters. Where lives lie
 * far apart only a large drift can be told from chance: with lives 10 % apart, fifteen of them show one of 10 % in one
 * run of five.
 */

/**
 * Change of the baseline over a run, by the means of its lives.
 *
 * @param change the fitted change from the first life to the last, as a log ratio
 * @param p the two-sided p of its slope by Student's t
 */
public record Drift(double change, double p) {
    /** Below the usual twentieth, so that no more than that are false even in a bad sample of experiments. */
    private static final double LEVEL = 0.04;

    /**
     * The baseline legs of one life.
     *
     * @param turn its place in the run
     * @param order of its pair
     * @param mean of the logarithms of its baseline legs
     */
    public record Life(int turn, PairOrder order, double mean) {
        public Life {
            Finite.value("the mean of a life", mean);
        }
    }

    /** Fits the lives of a run; absent where too few of an order are there to leave any scatter. */
    public static Optional<Drift> of(List<Life> lives) {
        Map<PairOrder, List<Life>> byOrder = new EnumMap<>(PairOrder.class);
        lives.forEach(life -> byOrder.computeIfAbsent(life.order(), order -> new ArrayList<>())
                .add(life));
        int freedom = lives.size() - byOrder.size() - 1;
        double turns = 0;
        double both = 0;
        double means = 0;
        for (List<Life> same : byOrder.values()) {
            double turn = same.stream().mapToInt(Life::turn).average().orElseThrow();
            double mean = same.stream().mapToDouble(Life::mean).average().orElseThrow();
            for (Life life : same) {
                turns += (life.turn() - turn) * (life.turn() - turn);
                both += (life.turn() - turn) * (life.mean() - mean);
                means += (life.mean() - mean) * (life.mean() - mean);
            }
        }
        if (freedom < 1 || !(turns > 0)) {
            return Optional.empty();
        }
        double slope = both / turns;
        double error = Math.sqrt(Math.max(0, means - slope * both) / freedom / turns);
        int last = lives.stream().mapToInt(Life::turn).max().orElseThrow();
        int first = lives.stream().mapToInt(Life::turn).min().orElseThrow();
        double p = slope == 0 ? 1 : error == 0 ? 0 : new StudentT(freedom).twoSidedP(slope / error);
        return Optional.of(new Drift(slope * (last - first), p));
    }

    /** Returns true if the change is both beyond chance and as large as an effect that matters. */
    public boolean matters(Criteria criteria) {
        return p < LEVEL && Math.abs(change) >= criteria.delta();
    }
}
