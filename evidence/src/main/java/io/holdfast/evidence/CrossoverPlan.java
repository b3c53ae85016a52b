package io.holdfast.evidence;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * The order in which server lives run their pairs: blocks that each hold every {@link PairOrder} once.
 *
 * <p>Within a block the order is drawn by chance, so that a drift over the day falls on all three alike.
 */
public record CrossoverPlan(List<List<PairOrder>> blocks) {
    public CrossoverPlan {
        blocks = blocks.stream().map(List::copyOf).toList();
        for (int i = 0; i < blocks.size(); i++) {
            List<PairOrder> block = blocks.get(i);
            if (block.size() != PairOrder.values().length || !block.containsAll(List.of(PairOrder.values()))) {
                throw new IllegalArgumentException("Block " + (i + 1) + " of the plan is " + block
                        + "; a block holds AA, BP and PB once each, so draw the plan anew.");
            }
        }
    }

    /** Draws a plan; the same generator state gives the same plan. */
    public static CrossoverPlan draw(int blocks, RandomGenerator random) {
        if (blocks < 1) {
            throw new IllegalArgumentException("A plan needs at least one block of AA, BP and PB, not " + blocks + ".");
        }
        List<List<PairOrder>> drawn = new ArrayList<>(blocks);
        for (int i = 0; i < blocks; i++) {
            List<PairOrder> block = new ArrayList<>(List.of(PairOrder.values()));
            for (int last = block.size() - 1; last > 0; last--) {
                Collections.swap(block, last, random.nextInt(last + 1));
            }
            drawn.add(block);
        }
        return new CrossoverPlan(drawn);
    }

    /** One pair per server life, in the order in which they run. */
    public List<PairOrder> lives() {
        return blocks.stream().flatMap(List::stream).toList();
    }
}
