package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * The order in which server lives run their pairs: rounds that each hold every {@link PairOrder} once.
 *
 * <p>Within a round the order is drawn by chance, so that a drift over the day falls on all three alike.
 */
public record CrossoverPlan(List<List<PairOrder>> rounds) {
    public CrossoverPlan {
        rounds = rounds.stream().map(List::copyOf).toList();
        for (int i = 0; i < rounds.size(); i++) {
            List<PairOrder> round = rounds.get(i);
            if (round.size() != PairOrder.values().length || !round.containsAll(List.of(PairOrder.values()))) {
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

    /** One pair per server life, in the order in which they run. */
    public List<PairOrder> lives() {
        return rounds.stream().flatMap(List::stream).toList();
    }
}
