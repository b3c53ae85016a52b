package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.BlockName;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/*
 * The blocks of the cache: who uses them, what they hold, and in which order they are taken.
 *
 * Free and cached at once
 * -----------------------
 * A block that nobody uses waits in the queue of free blocks and keeps its name, and with it what it holds, until it is
 * taken from the queue's head. So "free" says nothing about "cached": the cache is what the free blocks still hold, and
 * evicting is nothing but taking. A hit takes a block out of the queue, wherever it stands.
 *
 * The order of the queue is the whole policy. Requests give their blocks back last block first, so that a chain loses
 * its tail before its head. What a block without a name holds can never be found again; 0.32 puts it at the head of the
 * queue, so that the next request takes it and no cached one. 0.22 put it at the tail like any other, and so lost a
 * cached block for it.
 *
 * Copies
 * ------
 * Names are not unique. Two requests that compute the same block at the same time, or one that computes the last block
 * of its aligned prompt again, leave two blocks with one name; both count, and each is announced when it comes and when
 * it goes. A lookup finds the one that was named first and is still there.
 *
 * A smaller pool
 * --------------
 * Under a limit, blocks too many are set aside: from the head of the queue, as if somebody took them, at once where
 * they are free and else as soon as they are. They come back when the limit rises. Block 0 stands for "no block" in the
 * engine's tables and is never given out.
 *
 * Arrays
 * ------
 * A block is a number and everything about it is in arrays; the queue is one ring, each bucket of the table of names is
 * another, in the order of naming. Nothing here walks all blocks but a clear. Names are compared by their 64 bits, as
 * consumers of the events compare them.
 */
final class BlockPool {
    static final int NONE = BlockRings.NONE;

    private static final int QUEUE = 0;
    private static final int ASIDE = 1;

    private final boolean namelessFirst;
    private final Consumer<BlockName> onRemoval;
    private final int usable;
    private final @Nullable BlockName[] names;
    private final int[] users;
    private final BlockRings unused;
    private final BlockRings buckets;
    private final int bucketMask;
    private int free;

    /** Free blocks that hold something. */
    private int kept;

    private int aside;
    private int limit;

    /**
     * @param namelessFirst whether blocks that hold nothing are taken before any other
     * @param onRemoval is told the name of each block that loses it
     */
    BlockPool(int blocks, boolean namelessFirst, Consumer<BlockName> onRemoval) {
        this.namelessFirst = namelessFirst;
        this.onRemoval = onRemoval;
        usable = blocks - 1;
        names = new BlockName[blocks];
        users = new int[blocks];
        unused = new BlockRings(blocks, 2);
        bucketMask = (Integer.highestOneBit(blocks) << 1) - 1;
        buckets = new BlockRings(blocks, bucketMask + 1);
        for (int block = 1; block < blocks; block++) {
            unused.addLast(QUEUE, block);
        }
        free = usable;
        limit = usable;
    }

    /** The block of this name that got it first, or {@link #NONE}. */
    int find(BlockName name) {
        long hash = name.hash();
        int block = buckets.first(bucket(hash));
        while (block != NONE && hashOf(block) != hash) {
            block = buckets.after(block);
        }
        return block;
    }

    boolean isUnused(int block) {
        return users[block] == 0;
    }

    /** One more user of a block, which leaves the queue if it was in it. */
    void touch(int block) {
        if (users[block]++ == 0) {
            unused.remove(block);
            free--;
            kept -= names[block] != null ? 1 : 0;
        }
    }

    /** Takes the block at the head of the queue, which loses what it holds. */
    int take() {
        int block = unused.first(QUEUE);
        if (block == NONE) {
            throw new IllegalStateException("No block is free.");
        }
        touch(block);
        forget(block);
        return block;
    }

    /** Returns true if a free block holds nothing. */
    boolean hasEmpty() {
        int block = unused.first(QUEUE);
        while (block != NONE && names[block] != null) {
            block = unused.after(block);
        }
        return block != NONE;
    }

    /** Says what a block in use holds from now on. */
    void name(int block, BlockName name) {
        names[block] = name;
        buckets.addLast(bucket(name.hash()), block);
    }

    /** One user less of each of the first blocks of a request's table. */
    void release(int[] table, int count) {
        for (int i = count - 1; i >= 0; i--) {
            int block = table[i];
            if (--users[block] == 0) {
                free++;
                kept += names[block] != null ? 1 : 0;
                if (names[block] != null || !namelessFirst) {
                    unused.addLast(QUEUE, block);
                }
            }
        }
        if (namelessFirst) {
            for (int i = 0; i < count; i++) {
                if (users[table[i]] == 0 && names[table[i]] == null) {
                    unused.addFirst(QUEUE, table[i]);
                }
            }
        }
        setAside();
    }

    /** Forgets all names; refused while a block is in use. */
    boolean clear() {
        if (inUse() > 0) {
            return false;
        }
        forgetAll();
        return true;
    }

    /** Forgets all names, also of blocks in use. */
    void forgetAll() {
        Arrays.fill(names, null);
        buckets.clear();
        kept = 0;
    }

    /** Has so many free blocks forget what they hold, of those that do the ones next to be taken. */
    void forgetOldest(int count) {
        int block = unused.first(QUEUE);
        for (int i = 0; i < count; i++) {
            while (names[block] == null) {
                block = unused.after(block);
            }
            forget(block);
            kept--;
        }
    }

    /** Blocks that can be used at all: without block 0, and no more than the limit. */
    int capacity() {
        return limit;
    }

    /** Blocks that nobody uses and that may be taken, whatever they hold. */
    int free() {
        return free;
    }

    /** Number of these that hold something. */
    int kept() {
        return kept;
    }

    int inUse() {
        return usable - free - aside;
    }

    /** Makes the pool as if it had so many blocks, or lets it have all that it has. */
    void limit(int most) {
        limit = Math.clamp(most, 0, usable);
        setAside();
        while (aside > usable - limit) {
            int block = unused.first(ASIDE);
            unused.remove(block);
            aside--;
            unused.addFirst(QUEUE, block);
            free++;
        }
    }

    /** The free blocks in the order in which they will be taken. */
    int[] queued() {
        int[] order = new int[free];
        int block = unused.first(QUEUE);
        for (int i = 0; i < free; i++) {
            order[i] = block;
            block = unused.after(block);
        }
        return order;
    }

    /** Returns true if a block has a name. */
    boolean isNamed(int block) {
        return names[block] != null;
    }

    /** Returns the name of a block that has one, in 64 bits. */
    long hash(int block) {
        return hashOf(block);
    }

    /** Returns the names of all that is held, in 64 bits. */
    Set<Long> hashes() {
        return Arrays.stream(names)
                .filter(Objects::nonNull)
                .map(BlockName::hash)
                .collect(Collectors.toSet());
    }

    private void setAside() {
        while (aside < usable - limit && free > 0) {
            int block = unused.first(QUEUE);
            unused.remove(block);
            free--;
            kept -= names[block] != null ? 1 : 0;
            forget(block);
            unused.addFirst(ASIDE, block);
            aside++;
        }
    }

    private void forget(int block) {
        BlockName name = names[block];
        if (name != null) {
            names[block] = null;
            buckets.remove(block);
            onRemoval.accept(name);
        }
    }

    private int bucket(long hash) {
        return (int) hash & bucketMask;
    }

    private long hashOf(int block) {
        BlockName name = names[block];
        if (name == null) {
            throw new IllegalStateException("Block " + block + " is among the named ones and has no name.");
        }
        return name.hash();
    }
}
