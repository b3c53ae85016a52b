package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * The order in which server lives run their pairs: rounds that each hold every {@link PairOrder} once, or A/A pairs alone.
 *
 * <p>Within a round the order is drawn by chance, so that a drift over the day falls on all three alike. A/A alone is an
 * experiment on the measurement itself: there is no effect in it to be found.
 */
public record CrossoverPlan(List<List<PairOrder>> rounds) {
    public CrossoverPlan {
        rounds = rounds.stream().map(List::copyOf).toList();
        boolean onlyControls = isOnlyControls(rounds);
        for (int i = 0; i < rounds.size(); i++) {
            List<PairOrder> round = rounds.get(i);
            if (!onlyControls
                    && (round.size() != PairOrder.values().length || !round.containsAll(List.of(PairOrder.values())))) {
                throw new IllegalArgumentException("Round " + (i + 1) + " of the plan is " + round
                        + "; a round holds AA, BP and PB once each, so draw the plan anew.");
            }
        }
    }

    /** Draws a plan; the same generator state gives the same plan. */
    public static CrossoverPlan draw(int rounds, RandomGenerator random) {
        if (rounds < 1) {
            throw new IllegalArgumentException("A plan needs at least one round of AA, BP and PB, not " + rounds + ".");
        }
        List<List<PairOrder>> drawn = new ArrayList<>(rounds);
        for (int i = 0; i < rounds; i++) {
            List<PairOrder> round = new ArrayList<>(List.of(PairOrder.values()));
            for (int last = round.size() - 1; last > 0; last--) {
                Collections.swap(round, last, random.nextInt(last + 1));
            }
            drawn.add(round);
        }
        return new CrossoverPlan(drawn);
    }

    /** So many A/A pairs and nothing else. */
    public static CrossoverPlan onlyControls(int pairs) {
        if (pairs < 1) {
            throw new IllegalArgumentException("A plan needs at least one pair, not " + pairs + ".");
        }
        return new CrossoverPlan(Collections.nCopies(pairs, List.of(PairOrder.AA)));
    }

    /** Whether all pairs are A/A, so that nothing in it can show an effect. */
    public boolean isOnlyControls() {
        return isOnlyControls(rounds);
    }

    private static boolean isOnlyControls(List<List<PairOrder>> rounds) {
        return !rounds.isEmpty() && rounds.stream().allMatch(List.of(PairOrder.AA)::equals);
    }

    /** One pair per server life, in the order in which they run. */
    public List<PairOrder> lives() {
        return rounds.stream().flatMap(List::stream).toList();
    }
}
