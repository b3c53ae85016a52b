package io.holdfast.core.index;

import java.util.Arrays;

/**
 * The blocks that one engine's cache holds, as its events tell.
 *
 * <p>One thread writes and reads it. Times are nanoseconds since an origin that the caller chose, never negative.
 */
public final class EngineTree implements TreeView {
    /*
     * Layout
     * ------
     * A node is a position in parallel arrays; positions are stable while the node lives, and freed ones are chained
     * through `parent` for reuse. One open-addressing table leads from a hash to its node. Nodes per block: hash 8, parent
     * 4, children 4, depth 4, last touch 4, touches 2, copies 2, pins 4, flags 1 = 33 bytes, and the table 4 / 0.75: 38.4
     * bytes a block at design load, that is, when node arrays and table are full, which is the load at which they double. Right
     * after a doubling it is twice that.
     *
     * Children are counted, not listed: everything that is asked goes from a block towards its root.
     *
     * Holes and orphans
     * -----------------
     * A node lives while it is resident in any tier, has children, or lies on a pinned path; without residency it is a
     * placeholder. Two things make placeholders. Removing a block in the middle leaves one as an exact hole: its children
     * stay, match() does not cross it, and a new store heals it. A store under a parent that was never announced (we joined
     * late, or lost batches) makes one for the parent: the blocks under it are orphans, whose depth is unknown and which
     * no match reaches, since a match starts at a block that was announced as a root and follows parent links. So what
     * the tree claims, events said.
     *
     * The first parent wins for as long as a node lives. An engine's hash covers its parent's, so a second parent is a
     * collision or nonsense from the wire, and believing it could close a cycle that no walk would ever leave. For the
     * same reason an orphan is linked only after a walk up from its new parent did not meet it.
     *
     * Depth is computed when asked and kept: when an orphan's way to the root becomes known, nothing is pushed down.
     *
     * Touches
     * -------
     * Engines announce stores, never hits; but a store under P proves that a request walked the whole path to P. Touching
     * it is a walk to the root, thousands of blocks for a long prompt, and a decoding vLLM announces every block by
     * itself. Touch times therefore have a grain of 2^26 ns (67 ms), and a walk ends at the first block that was touched
     * in the same grain: its ancestors were as well, since every touch goes up to the root or to such a block, and linking
     * an orphan raises the path above it to the orphan's own time. So no block is written more than 15 times a second,
     * however many stores come, and a parent is never older than its child.
     *
     * Which blocks may be pinned
     * --------------------------
     * pin_blocks of one engine locks the radix node that an insertion created, up to the insertion's last block, and
     * naming any other block of it can lead to a node that is gone; unpinning that kills the engine. Only a block that
     * ended an insertion always names either a living node or nothing, and the mark goes with the block. A chain of stores
     * in one batch is taken for one insertion; where two happen to touch, the first one's end stays unmarked: careful.
     *
     * Copies
     * ------
     * A block announced again while it is on the GPU is one more block of the engine under one hash: the same tokens under
     * two salts or LoRAs, or computed twice side by side. It is there until as many were removed; which one went, the
     * hash does not tell, and a pin and its unpin could hit different ones: from the second copy on the block is ambiguous
     * and without the mark, until none is left. Counting stops at 32767; of more copies the last are gone too early.
     *
     * Pins
     * ----
     * A pinned path counts once on each of its blocks; a block is pinned while its count is above zero. That is exact
     * for shared prefixes, and holds keep what they pinned alive in the tree even when events are lost.
     */
    private static final int NONE = HashSlots.NONE;
    private static final int TOUCH_SHIFT = 26;
    private static final int SMALLEST = 1 << 10;
    private static final int GPU = Tier.GPU.bit;
    private static final int TIERS = Tier.GPU.bit | Tier.HOST.bit | Tier.DISK.bit | Tier.EXTERNAL.bit;
    private static final int ENDED = 16;
    private static final int AMBIGUOUS = 32;
    private static final int ROOT = 64;

    private final TreeListener listener;
    private final Ghosts ghosts = new Ghosts();
    private final HashSlots slots = new HashSlots(SMALLEST);
    private long[] hashes = new long[SMALLEST * 3 / 4];
    private int[] parent = new int[hashes.length];
    private int[] children = new int[hashes.length];
    private int[] depth = new int[hashes.length];
    private int[] touched = new int[hashes.length];
    private short[] touches = new short[hashes.length];
    private short[] copies = new short[hashes.length];
    private int[] pins = new int[hashes.length];
    private byte[] flags = new byte[hashes.length];
    private int free = NONE;
    private int used;
    private int resident;
    private int mostResident;
    private int pinned;

    private int now;
    private boolean chainOpen;
    private boolean chainHoldable;
    private boolean chainReturned;
    private long chainEnd;

    public EngineTree(TreeListener listener) {
        this.listener = listener;
    }

    public void batchStarted(long nanos) {
        now = (int) (nanos >>> TOUCH_SHIFT);
    }

    public void stored(StoredBlocks chain) {
        int count = chain.count();
        if (count == 0) {
            return;
        }
        boolean onGpu = chain.tier() == Tier.GPU;
        if (onGpu && (chain.rooted() || !chainOpen || chain.parent() != chainEnd)) {
            endChain();
        }
        int above = chain.rooted() ? NONE : place(chain.parent());
        if (onGpu) {
            touch(above);
        }
        int first = above;
        for (int i = 0; i < count; i++) {
            above = store(chain.hash(i), above, chain);
        }
        if (first != NONE) {
            releaseIfEmpty(first);
        }
        if (onGpu) {
            chainOpen = true;
            chainEnd = chain.hash(count - 1);
        }
    }

    /** Applies removals and answers how many of them named a block that was not there. */
    public int removed(long[] removedHashes, int from, int to, Tier tier) {
        int unknown = 0;
        int bit = tier.bit;
        for (int i = from; i < to; i++) {
            int node = find(removedHashes[i]);
            if (node == NONE || (flags[node] & bit) == 0) {
                unknown++;
                continue;
            }
            if (bit == GPU) {
                if (--copies[node] > 0) {
                    continue;
                }
                leaveGpu(node);
            }
            flags[node] &= (byte) ~bit;
            releaseIfEmpty(node);
        }
        return unknown;
    }

    public void batchEnded() {
        endChain();
    }

    /** Forgets every block and every pin, but no ghost: blocks that were cleared were not lost to pressure. */
    public void clear() {
        slots.clear();
        Arrays.fill(flags, (byte) 0);
        free = NONE;
        used = 0;
        resident = 0;
        pinned = 0;
        chainOpen = false;
    }

    /** Forgets every block that is on no pinned path: what a gap in the events leaves is not known to be there. */
    public void forgetUnpinned() {
        chainOpen = false;
        for (int node = 0; node < used; node++) {
            if (pins[node] == 0) {
                resident -= flags[node] & GPU;
                flags[node] &= (byte) ~(TIERS | ENDED);
            }
        }
        for (int node = 0; node < used; node++) {
            // A freed node has no children and no root: its parent field is a link of the free list.
            if (slots.find(hashes, hashes[node]) == node) {
                releaseIfEmpty(node);
            }
        }
    }

    /** Counts a pinned path; every block up to the root must be known. */
    public void pinPath(long lastBlock) {
        if (depth(lastBlock) == 0) {
            throw new IllegalArgumentException(
                    "Block " + lastBlock + " cannot be pinned: its way to the root is not known.");
        }
        for (int node = find(lastBlock); node != NONE; node = parent[node]) {
            if (pins[node]++ == 0) {
                pinned++;
            }
        }
    }

    /** Takes back one {@link #pinPath}. */
    public void unpinPath(long lastBlock) {
        if (!pinned(lastBlock)) {
            throw new IllegalArgumentException("Block " + lastBlock + " is not pinned.");
        }
        int last = find(lastBlock);
        for (int node = last; node != NONE; node = parent[node]) {
            if (--pins[node] == 0) {
                pinned--;
            }
        }
        releaseIfEmpty(last);
    }

    /** Blocks on the GPU. */
    public int size() {
        return resident;
    }

    /** Blocks that left the GPU and are still remembered. */
    public int ghosts() {
        return ghosts.size();
    }

    @Override
    public int match(Prefix path) {
        int above = NONE;
        for (int i = 0; i < path.blocks(); i++) {
            int node = find(path.block(i));
            if (node == NONE
                    || (flags[node] & GPU) == 0
                    || (i == 0 ? (flags[node] & ROOT) == 0 : parent[node] != above)) {
                return i;
            }
            above = node;
        }
        return path.blocks();
    }

    @Override
    public int insertionEnd(Prefix path, int matched) {
        int blocks = matched;
        while (blocks > 0 && !endedInsertion(path.block(blocks - 1))) {
            blocks--;
        }
        return blocks;
    }

    @Override
    public boolean endedInsertion(long block) {
        return has(block, ENDED);
    }

    @Override
    public boolean resident(long block) {
        return has(block, GPU);
    }

    @Override
    public boolean ambiguous(long block) {
        return has(block, AMBIGUOUS);
    }

    @Override
    public int depth(long block) {
        int node = find(block);
        return node == NONE ? 0 : depthOf(node);
    }

    @Override
    public long lastTouch(long block) {
        int node = find(block);
        if (node != NONE) {
            return (long) touched[node] << TOUCH_SHIFT;
        }
        int ghost = ghosts.find(block);
        return ghost == NONE ? 0 : (long) ghosts.lastTouch(ghost) << TOUCH_SHIFT;
    }

    @Override
    public int timesLost(long block) {
        int ghost = ghosts.find(block);
        return ghost == NONE ? 0 : ghosts.timesLost(ghost);
    }

    @Override
    public long[] path(long block) {
        long[] path = new long[depth(block)];
        int node = find(block);
        for (int i = path.length - 1; i >= 0; i--) {
            path[i] = hashes[node];
            node = parent[node];
        }
        return path;
    }

    @Override
    public int pinnedBlocks() {
        return pinned;
    }

    @Override
    public boolean pinned(long block) {
        int node = find(block);
        return node != NONE && pins[node] > 0;
    }

    @Override
    public int unpinnedBlocks(long lastBlock) {
        int count = 0;
        for (int node = find(lastBlock); node != NONE && pins[node] == 0; node = parent[node]) {
            count++;
        }
        return count;
    }

    @Override
    public int pathsToUnpin(long[] lastBlocks, int least, long most) {
        int left = pinned;
        int count = 0;
        while (count < lastBlocks.length && (count < least || left > most)) {
            for (int node = find(lastBlocks[count++]); node != NONE; node = parent[node]) {
                if (--pins[node] == 0) {
                    left--;
                }
            }
        }
        for (int i = 0; i < count; i++) {
            for (int node = find(lastBlocks[i]); node != NONE; node = parent[node]) {
                pins[node]++;
            }
        }
        return count;
    }

    private int store(long hash, int above, StoredBlocks chain) {
        int bit = chain.tier().bit;
        int node = place(hash);
        link(node, above);
        boolean announcedTwice = (flags[node] & GPU & bit) != 0;
        if (chain.namespaced() || announcedTwice) {
            flags[node] = (byte) ((flags[node] | AMBIGUOUS) & ~ENDED);
        }
        if (bit == GPU) {
            touch(node);
            if (!announcedTwice) {
                mostResident = Math.max(mostResident, ++resident);
            }
            copies[node] = (short) Math.min(copies[node] + 1, Short.MAX_VALUE);
            chainHoldable = !announcedTwice && !chain.namespaced();
            chainReturned = ghosts.find(hash) != NONE;
        }
        flags[node] |= (byte) bit;
        return node;
    }

    private void leaveGpu(int node) {
        resident--;
        flags[node] &= (byte) ~(ENDED | AMBIGUOUS);
        ghosts.remember(hashes[node], touched[node], touches[node], mostResident);
        if (pins[node] > 0) {
            listener.pinnedBlockRemoved(hashes[node]);
        }
    }

    private void endChain() {
        if (!chainOpen) {
            return;
        }
        chainOpen = false;
        int node = find(chainEnd);
        boolean stillThere = node != NONE && (flags[node] & GPU) != 0;
        boolean ended = stillThere && chainHoldable && (flags[node] & AMBIGUOUS) == 0;
        if (ended) {
            flags[node] |= ENDED;
        }
        listener.chainEnded(chainEnd, node == NONE ? 0 : depthOf(node), ended && chainReturned);
    }

    /** The node of a hash, made if there is none. */
    private int place(long hash) {
        int node = find(hash);
        return node == NONE ? create(hash) : node;
    }

    private int create(long hash) {
        int node;
        if (free != NONE) {
            node = free;
            free = parent[node];
        } else {
            if (used == hashes.length) {
                grow();
            }
            node = used++;
        }
        hashes[node] = hash;
        parent[node] = NONE;
        children[node] = 0;
        depth[node] = 0;
        touched[node] = 0;
        int ghost = ghosts.find(hash);
        touches[node] = ghost == NONE ? 0 : ghosts.touches(ghost);
        copies[node] = 0;
        pins[node] = 0;
        flags[node] = 0;
        slots.insert(hash, node);
        return node;
    }

    private void link(int node, int above) {
        if (parent[node] != NONE || (flags[node] & ROOT) != 0) {
            return;
        }
        if (above == NONE) {
            flags[node] |= ROOT;
            depth[node] = 1;
            return;
        }
        if (children[node] > 0 || node == above) {
            for (int at = above; at != NONE; at = parent[at]) {
                if (at == node) {
                    return;
                }
            }
        }
        parent[node] = above;
        children[above]++;
        depth[node] = depth[above] == 0 ? 0 : depth[above] + 1;
        raise(above, touched[node]);
    }

    private int depthOf(int node) {
        int steps = 0;
        int known = node;
        while (depth[known] == 0) {
            steps++;
            known = parent[known];
            if (known == NONE) {
                return 0;
            }
        }
        int value = depth[known] + steps;
        for (int at = node; depth[at] == 0; at = parent[at]) {
            depth[at] = value--;
        }
        return depth[node];
    }

    private void touch(int last) {
        for (int node = last; node != NONE && touched[node] < now; node = parent[node]) {
            touched[node] = now;
            if (touches[node] < Short.MAX_VALUE) {
                touches[node]++;
            }
        }
    }

    private void raise(int last, int grain) {
        for (int node = last; node != NONE && touched[node] < grain; node = parent[node]) {
            touched[node] = grain;
        }
    }

    private void releaseIfEmpty(int last) {
        int node = last;
        while (node != NONE && (flags[node] & TIERS) == 0 && children[node] == 0 && pins[node] == 0) {
            int above = parent[node];
            slots.remove(hashes, node);
            parent[node] = free;
            free = node;
            if (above != NONE) {
                children[above]--;
            }
            node = above;
        }
    }

    private int find(long hash) {
        return slots.find(hashes, hash);
    }

    private boolean has(long block, int flag) {
        int node = find(block);
        return node != NONE && (flags[node] & flag) != 0;
    }

    private void grow() {
        int length = hashes.length << 1;
        hashes = Arrays.copyOf(hashes, length);
        parent = Arrays.copyOf(parent, length);
        children = Arrays.copyOf(children, length);
        depth = Arrays.copyOf(depth, length);
        touched = Arrays.copyOf(touched, length);
        touches = Arrays.copyOf(touches, length);
        copies = Arrays.copyOf(copies, length);
        pins = Arrays.copyOf(pins, length);
        flags = Arrays.copyOf(flags, length);
        slots.grow(hashes);
    }
}
