package io.holdfast.rules.vllm;

/**
 * Doubly linked lists of blocks over two arrays; a block is in one list at most.
 *
 * <p>Each list is a ring that begins and ends with an entry of its own behind those of the blocks, so that adding and removing
 * know no special cases.
 */
final class BlockRings {
    static final int NONE = -1;

    private final int blocks;
    private final int[] next;
    private final int[] previous;

    BlockRings(int blocks, int rings) {
        this.blocks = blocks;
        next = new int[blocks + rings];
        previous = new int[blocks + rings];
        clear();
    }

    /** Empties all rings. */
    void clear() {
        for (int end = blocks; end < next.length; end++) {
            next[end] = end;
            previous[end] = end;
        }
    }

    void addFirst(int ring, int block) {
        link(block, blocks + ring, next[blocks + ring]);
    }

    void addLast(int ring, int block) {
        link(block, previous[blocks + ring], blocks + ring);
    }

    void remove(int block) {
        next[previous[block]] = next[block];
        previous[next[block]] = previous[block];
    }

    /** The ring's first block, or {@link #NONE}. */
    int first(int ring) {
        return after(blocks + ring);
    }

    /** The block behind this one in its ring, or {@link #NONE}. */
    int after(int entry) {
        int found = next[entry];
        return found < blocks ? found : NONE;
    }

    private void link(int block, int before, int behind) {
        previous[block] = before;
        next[block] = behind;
        next[before] = block;
        previous[behind] = block;
    }
}
