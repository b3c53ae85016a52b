package io.holdfast.core.requests;

import io.holdfast.core.index.Tier;

/**
 * The blocks that are in the cache in any tier: how deep each lies, and how many copies the GPU has of it.
 *
 * <p>A block is one number beside its hash: its depth (0: the way to its root is not known) in the lower 32 bits, a bit for
 * each other tier above, the copies above those. A block that left every tier is forgotten, so this is as large as what is
 * resident: 16 bytes a block, 21 where the table is just not yet grown, 43 where it just was.
 */
final class KnownBlocks {
    private static final int TIERS_AT = 32;
    private static final int COPIES_AT = 40;
    private static final long COPY = 1L << COPIES_AT;

    /** Where a block was before it was stored. */
    enum Before {
        NOWHERE,
        ELSEWHERE,
        ON_GPU
    }

    private final LongTable table = new LongTable();

    /** 0 where the block or its way to the root is not known. */
    int depth(long hash) {
        return (int) table.get(hash);
    }

    boolean onGpu(long hash) {
        return table.get(hash) >= COPY;
    }

    int size() {
        return table.size();
    }

    /**
     * Counts one more copy on the GPU, or that another tier has it; a depth that is known stays.
     *
     * @return where it was before
     */
    Before stored(long hash, int depth, Tier tier) {
        long block = table.get(hash);
        long placed = (int) block == 0 ? block | depth : block;
        table.put(hash, tier == Tier.GPU ? placed + COPY : placed | tierBit(tier));
        if (block >= COPY) {
            return Before.ON_GPU;
        }
        return block == 0 ? Before.NOWHERE : Before.ELSEWHERE;
    }

    /** Takes one copy away and answers whether that was the last one on the GPU. */
    boolean removed(long hash, Tier tier) {
        long block = table.get(hash);
        if (tier == Tier.GPU ? block < COPY : (block & tierBit(tier)) == 0) {
            return false;
        }
        long left = tier == Tier.GPU ? block - COPY : block & ~tierBit(tier);
        if (left >>> TIERS_AT == 0) {
            table.remove(hash);
        } else {
            table.put(hash, left);
        }
        return tier == Tier.GPU && left < COPY;
    }

    void clear() {
        table.clear();
    }

    private static long tierBit(Tier tier) {
        return switch (tier) {
            case HOST -> 1L << TIERS_AT;
            case DISK -> 2L << TIERS_AT;
            case EXTERNAL -> 4L << TIERS_AT;
            case GPU -> throw new IllegalArgumentException("The GPU counts copies.");
        };
    }
}
