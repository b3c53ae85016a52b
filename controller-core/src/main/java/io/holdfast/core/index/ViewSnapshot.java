package io.holdfast.core.index;

import io.holdfast.core.index.BlockTree.Naming;
import java.util.Arrays;

/**
 * A copy of what one cache held after one batch of its events, to the block, the tier and the copy.
 *
 * <p>It is taken of a {@linkplain Cache#certain certain} cache alone, so whoever follows the same events from that batch
 * on knows exactly what the cache holds. It has hashes and counts, and no token of any prompt.
 */
public final class ViewSnapshot {
    /*
     * Contents
     * --------
     * Chains of at most sixteen blocks, as the tree has them in strips: each hangs under a block of an earlier chain, a
     * root, or a parent that nobody announced. So a reader that goes from the first to the last always knows the parent.
     * Blocks between a held one and its root are in it though nobody holds them: without them there is no way down.
     * Where blocks are named by content, the engine's hash stands beside the name. What is counted rather than held
     * (second copies, blocks without a name, other groups of layers) is a list.
     *
     * Left out
     * --------
     * Which blocks ended an insertion, on which pins rest, is left out, and so is where twins of one insertion end: a
     * pin that goes by a wrong one kills an engine. After a load nothing that was loaded is known to end an insertion,
     * until the engine stores it again; a mark that was known before the load, of a block that stayed, is kept. What is
     * ambiguous is in it, because to take that for unambiguous would be wrong. Touches and times are not: a loaded block
     * counts as one that nobody has touched yet, which teaches nothing about residence.
     *
     * Cost
     * ----
     * The writer copies arrays: 9 bytes a block, 17 where blocks are named by content, and 8 a chain. Bytes, checksum
     * and disk are for another thread.
     */
    static final int UNDER_ROOT = -1;
    static final int UNDER_UNKNOWN = -2;
    /** A block is ambiguous; above the bits of its tiers. */
    static final int AMBIGUOUS = 16;

    static final int NO_GROUP = -1;

    /** Kinds of blocks that a {@link Counts count} is of. */
    static final int COPIES = 0;

    static final int UNPLACED = 1;
    static final int OTHER_GROUP = 2;

    /** Counts by what they are of: the group above eight bits, the kind above two, the tier. */
    static final class Counts {
        long[] keys = new long[8];
        int[] wheres = new int[8];
        int[] counts = new int[8];
        int size;

        void add(long key, int kind, int group, int tier, long count) {
            if (size == keys.length) {
                keys = Arrays.copyOf(keys, size << 1);
                wheres = Arrays.copyOf(wheres, size << 1);
                counts = Arrays.copyOf(counts, size << 1);
            }
            keys[size] = key;
            wheres[size] = group << 8 | kind << 2 | tier;
            counts[size++] = (int) Math.min(Integer.MAX_VALUE, count);
        }

        int kind(int index) {
            return wheres[index] >>> 2 & 3;
        }

        int group(int index) {
            return wheres[index] >>> 8;
        }

        int tier(int index) {
            return wheres[index] & 3;
        }
    }

    final StreamPosition position;
    final Naming naming;
    final CacheTraits traits;
    final int mainGroup;
    /** Tiers that the engine was ever seen to use. */
    final int everUsed;

    final int[] parents;
    final int[] lengths;
    final long[] names;
    /** Hashes of the engine, beside the names or the same as these; 0 for a block that is not held. */
    final long[] hashes;

    final byte[] marks;
    final Counts counts;

    ViewSnapshot(
            StreamPosition position,
            Naming naming,
            CacheTraits traits,
            int mainGroup,
            int everUsed,
            int[] parents,
            int[] lengths,
            long[] names,
            long[] hashes,
            byte[] marks,
            Counts counts) {
        this.position = position;
        this.naming = naming;
        this.traits = traits;
        this.mainGroup = mainGroup;
        this.everUsed = everUsed;
        this.parents = parents;
        this.lengths = lengths;
        this.names = names;
        this.hashes = hashes;
        this.marks = marks;
        this.counts = counts;
    }

    /** Returns the batch after which the cache held this. */
    public StreamPosition position() {
        return position;
    }

    /** Returns the number of blocks, with those that only lead to others. */
    public int blocks() {
        return names.length;
    }

    /** Returns true if a cache of this kind can hold what it says. */
    public boolean fits(Naming blocks, CacheTraits events) {
        return naming == blocks && traits.equals(events);
    }

    /** Returns its binary form. */
    public byte[] encode() {
        return ViewForm.encode(this);
    }

    /**
     * Reads the binary form.
     *
     * @throws IllegalArgumentException with one sentence, where it is none, is damaged or cannot be
     */
    public static ViewSnapshot decode(byte[] bytes) {
        return ViewForm.decode(bytes);
    }

    int tiers(int block) {
        return marks[block] & Tier.ALL;
    }

    /** Copies a cache, strip by strip from the roots on. */
    static ViewSnapshot of(Cache cache, StreamPosition at) {
        Strips strips = cache.tree.strips;
        int[] needed = needed(cache, strips);
        int chains = 0;
        int blocks = 0;
        for (int length : needed) {
            chains += length > 0 ? 1 : 0;
            blocks += length;
        }
        int[] parents = new int[chains];
        int[] lengths = new int[chains];
        long[] names = new long[blocks];
        byte[] marks = new byte[blocks];
        /* By strip, where its first block is, plus one. */
        int[] firsts = new int[needed.length];
        int[] way = new int[64];
        int chain = 0;
        int block = 0;
        for (int from = 1; from < needed.length; from++) {
            int open = 0;
            for (int strip = from; needed[strip] > 0 && firsts[strip] == 0; ) {
                if (open == way.length) {
                    way = Arrays.copyOf(way, open << 1);
                }
                way[open++] = strip;
                int above = strips.parent(strip);
                if (above <= Strips.ROOT) {
                    break;
                }
                strip = above >>> Strips.OFFSET_BITS;
            }
            while (open > 0) {
                int strip = way[--open];
                int above = strips.parent(strip);
                parents[chain] = above == Strips.ROOT
                        ? UNDER_ROOT
                        : above == Strips.ORPHAN
                                ? UNDER_UNKNOWN
                                : firsts[above >>> Strips.OFFSET_BITS] - 1 + (above & Strips.OFFSETS - 1);
                lengths[chain++] = needed[strip];
                firsts[strip] = block + 1;
                System.arraycopy(strips.page(strip).names, Strips.names(strip), names, block, needed[strip]);
                cache.mark(strip, marks, block, needed[strip]);
                block += needed[strip];
            }
        }
        long[] hashes = names;
        if (cache.tree.naming() == Naming.CONTENT_CHAIN) {
            long[] own = new long[blocks];
            cache.forEachPlaced((hash, position) -> own[index(firsts, position)] = hash);
            hashes = own;
        }
        Counts counts = new Counts();
        cache.count(counts, position -> index(firsts, position));
        return new ViewSnapshot(
                at,
                cache.tree.naming(),
                cache.traits(),
                cache.mainGroup(),
                cache.everUsed(),
                parents,
                lengths,
                names,
                hashes,
                marks,
                counts);
    }

    private static int index(int[] firsts, int position) {
        return firsts[position >>> Strips.OFFSET_BITS] - 1 + (position & Strips.OFFSETS - 1);
    }

    /** How many blocks of each strip are held or lead to one that is. */
    private static int[] needed(Cache cache, Strips strips) {
        int[] needed = new int[strips.used()];
        cache.forEachPlaced((hash, position) -> {
            int strip = position >>> Strips.OFFSET_BITS;
            needed[strip] = Math.max(needed[strip], (position & Strips.OFFSETS - 1) + 1);
        });
        for (int strip = 1; strip < needed.length; strip++) {
            boolean known = needed[strip] == 0;
            for (int above = strips.parent(strip); !known && above > Strips.ROOT; ) {
                int upper = above >>> Strips.OFFSET_BITS;
                known = needed[upper] > 0;
                needed[upper] = Math.max(needed[upper], (above & Strips.OFFSETS - 1) + 1);
                above = strips.parent(upper);
            }
        }
        return needed;
    }
}
