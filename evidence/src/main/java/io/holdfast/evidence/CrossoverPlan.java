package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;

/**
 * Order in which server lives run their legs: rounds that each hold every {@link PairOrder} of a {@link Design} once.
 *
 * <p>Within a round the order is drawn by chance, so that a drift over the day falls on all of them alike.
 *
 * @param looks after how many rounds the data is looked at, the last of them after all; none where that is the only
 *     look. Declared before the run, since who looks when he likes stops when it pleases him
 */
public record CrossoverPlan(List<List<PairOrder>> rounds, List<Integer> looks) {
    public CrossoverPlan {
        rounds = rounds.stream().map(List::copyOf).toList();
        looks = List.copyOf(looks);
        for (int i = 0; i < rounds.size(); i++) {
            List<PairOrder> round = rounds.get(i);
            Optional<Design> design = designOf(rounds.getFirst());
            if (design.isEmpty() || !designOf(round).equals(design)) {
                throw new IllegalArgumentException("Round " + (i + 1) + " of the plan is " + round
                        + "; every round holds the same, such as AA, BP and PB once each, so draw the plan anew.");
            }
        }
        for (int i = 0; i < looks.size(); i++) {
            if (looks.get(i) <= (i == 0 ? 0 : looks.get(i - 1))) {
                throw new IllegalArgumentException("The looks of the plan are " + looks
                        + "; each comes after more rounds than the one before it.");
            }
        }
        if (!looks.isEmpty() && looks.getLast() != rounds.size()) {
            throw new IllegalArgumentException("The last look of the plan is after " + looks.getLast()
                    + " rounds, and it has " + rounds.size() + "; the last look takes all of them.");
        }
    }

    /** One that is looked at once, when it is over. */
    public CrossoverPlan(List<List<PairOrder>> rounds) {
        this(rounds, List.of());
    }

    /** Draws a plan of A/A, normal and reversed pairs; the same generator state gives the same plan. */
    public static CrossoverPlan draw(int rounds, RandomGenerator random) {
        return draw(Design.CROSSOVER, rounds, random);
    }

    /** Draws a plan of that design; the same generator state gives the same plan. */
    public static CrossoverPlan draw(Design design, int rounds, RandomGenerator random) {
        if (rounds < 1) {
            throw new IllegalArgumentException(
                    "A plan needs at least one round of " + design.round() + ", not " + rounds + ".");
        }
        List<List<PairOrder>> drawn = new ArrayList<>(rounds);
        for (int i = 0; i < rounds; i++) {
            List<PairOrder> round = new ArrayList<>(design.round());
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

    /**
     * Returns this plan, looked at after so many rounds each time and never between; an empty list is one look at its
     * end.
     */
    public CrossoverPlan lookedAt(List<Integer> after) {
        return new CrossoverPlan(rounds, after);
    }

    public Design design() {
        return rounds.isEmpty() ? Design.CROSSOVER : designOf(rounds.getFirst()).orElseThrow();
    }

    private static Optional<Design> designOf(List<PairOrder> round) {
        return Arrays.stream(Design.values())
                .filter(design -> design.round().size() == round.size() && round.containsAll(design.round()))
                .findFirst();
    }

    /** Returns true if all pairs are A/A, so that nothing in the plan can show an effect. */
    public boolean isOnlyControls() {
        return !rounds.isEmpty() && design() == Design.CONTROLS;
    }

    /** One pair or block per server life, in the order in which they run. */
    public List<PairOrder> lives() {
        return rounds.stream().flatMap(List::stream).toList();
    }

    /** The looks at this data, by their rounds; the end of the plan alone where none were declared. */
    public List<Integer> allLooks() {
        return looks.isEmpty() ? List.of(rounds.size()) : looks;
    }

    /** The number, from 1, of the look that comes after just so many lives; absent between looks. */
    public OptionalInt lookAfter(int lives) {
        int ofARound = design().round().size();
        int at = lives % ofARound == 0 ? allLooks().indexOf(lives / ofARound) : -1;
        return at < 0 ? OptionalInt.empty() : OptionalInt.of(at + 1);
    }

    /** Number of lives at a look, counted from 1. */
    public int livesAt(int look) {
        return allLooks().get(look - 1) * design().round().size();
    }
}
