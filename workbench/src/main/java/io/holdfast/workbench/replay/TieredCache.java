package io.holdfast.workbench.replay;

import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.SequencedSet;
import java.util.TreeSet;

/**
 * A cache with another eviction than an engine's: blocks have tiers, the lowest goes first, and within a tier the block
 * that was moved least recently.
 */
abstract class TieredCache implements EngineCache {
    /*
     * No look at the tree
     * -------------------
     * A block is never used without those above it, and a path is gone through from its end. So what lies above is in
     * no lower tier, and within one tier was moved later: who evicts in this order always finds a leaf.
     */
    private record Place(int tier, long move, int block) {}

    private static final Comparator<Place> FIRST_OUT =
            Comparator.comparingInt(Place::tier).thenComparingLong(Place::move);

    private final TreeSet<Place> order = new TreeSet<>(FIRST_OUT);
    private final boolean[] here;
    private final int[] tiers;
    private final long[] moves;
    private final int[] keepers;
    private int capacity;
    private int size;
    private long moved;

    private TieredCache(int blocks, int capacity) {
        this.capacity = capacity;
        here = new boolean[blocks];
        tiers = new int[blocks];
        moves = new long[blocks];
        keepers = new int[blocks];
    }

    /**
     * Segmented LRU: what is found moves to a protected segment of at most four fifths of the room; what that pushes
     * out is evicted as if it had just been stored.
     */
    static EngineCache segmented(int blocks, int capacity) {
        return new TieredCache(blocks, capacity) {
            private final SequencedSet<Integer> protectedBlocks = new LinkedHashSet<>();

            @Override
            int tier(int block, boolean found) {
                if (!found) {
                    return 0;
                }
                protectedBlocks.addLast(block);
                while (protectedBlocks.size() > 4L * capacity() / 5) {
                    move(protectedBlocks.removeFirst(), 0);
                }
                return protectedBlocks.contains(block) ? 1 : 0;
            }

            @Override
            void evicted(int block) {
                protectedBlocks.remove(block);
            }
        };
    }

    /**
     * The block that was used least often goes first, and of those the least recently used; uses before an eviction
     * count.
     */
    static EngineCache leastFrequent(int blocks, int capacity) {
        int[] uses = new int[blocks];
        return new TieredCache(blocks, capacity) {
            @Override
            int tier(int block, boolean found) {
                return ++uses[block];
            }

            @Override
            void evicted(int block) {
                // Its uses are remembered.
            }
        };
    }

    /** The tier of a block after a use by which it was found, or missed. */
    abstract int tier(int block, boolean found);

    abstract void evicted(int block);

    @Override
    public int size() {
        return size;
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public void resize(int newCapacity) {
        capacity = newCapacity;
        makeRoom(0);
    }

    @Override
    public boolean has(int block) {
        return here[block];
    }

    @Override
    public int hits(int[] path, int length) {
        int hits = 0;
        while (hits < length && here[path[hits]]) {
            hits++;
        }
        return hits;
    }

    @Override
    public int use(int[] path, int length, long nanos) {
        int hits = hits(path, length);
        // What is used now cannot make room for the rest of it.
        for (int depth = 0; depth < hits; depth++) {
            keep(path[depth]);
        }
        int stored = hits + makeRoom(length - hits);
        for (int depth = length - 1; depth >= 0; depth--) {
            int block = path[depth];
            if (depth >= hits && depth < stored) {
                here[block] = true;
                size++;
            }
            move(block, tier(block, depth < hits));
        }
        for (int depth = 0; depth < hits; depth++) {
            release(path[depth]);
        }
        return stored;
    }

    @Override
    public void keep(int block) {
        if (keepers[block]++ == 0) {
            order.remove(place(block));
        }
    }

    @Override
    public void release(int block) {
        if (--keepers[block] == 0 && here[block]) {
            order.add(place(block));
        }
    }

    @Override
    public boolean isOlder(int block, int other) {
        return FIRST_OUT.compare(place(block), place(other)) < 0;
    }

    /** Puts a block behind all others of a tier; nothing where it is not in the cache. */
    final void move(int block, int tier) {
        if (here[block]) {
            order.remove(place(block));
            tiers[block] = tier;
            moves[block] = ++moved;
            if (keepers[block] == 0) {
                order.add(place(block));
            }
        }
    }

    private int makeRoom(int wanted) {
        while (size + wanted > capacity) {
            if (order.isEmpty()) {
                return Math.max(0, Math.min(wanted, capacity - size));
            }
            int block = order.removeFirst().block();
            here[block] = false;
            size--;
            evicted(block);
        }
        return wanted;
    }

    private Place place(int block) {
        return new Place(tiers[block], moves[block], block);
    }
}
