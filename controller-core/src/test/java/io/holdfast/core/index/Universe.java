package io.holdfast.core.index;

import io.holdfast.core.hash.ContentNames;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * The blocks that a random script speaks of: chains that branch at any depth, named well or badly.
 *
 * <p>In a content-named tree each cache has hashes of its own for them.
 */
final class Universe {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final long[] CORNERS = {
        0, -1, 1, 2, 3, Long.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE + 1, 1L << 32, -1L << 32, 0xFFFF_FFFFL, -2
    };

    private final BlockTree.Naming naming;
    private final long[] names;
    private final int[] parents;
    private final long salt;
    private final boolean chained;

    Universe(BlockTree.Naming naming, int blocks, double branching, double rooting, SplittableRandom random) {
        this.naming = naming;
        names = new long[blocks];
        parents = new int[blocks];
        salt = random.nextLong();
        // One style makes every table one long row of neighbours: not for many blocks.
        int style = blocks < 2_000 ? random.nextInt(6) : random.nextInt(5);
        chained = naming == BlockTree.Naming.CONTENT_CHAIN && random.nextBoolean();
        int near = random.nextBoolean() ? 40 : 400;
        for (int i = 0; i < blocks; i++) {
            boolean root = i == 0 || random.nextDouble() < rooting;
            boolean branch = random.nextDouble() < branching;
            parents[i] = root ? -1 : branch ? random.nextInt(Math.max(0, i - near), i) : i - 1;
            names[i] = chained
                    ? nameBelow(root ? OptionalLong.empty() : OptionalLong.of(names[parents[i]]), i)
                    : number(style, i + 1);
        }
    }

    int size() {
        return names.length;
    }

    long name(int block) {
        return names[block];
    }

    /** Whether names follow from tokens. */
    boolean chained() {
        return chained;
    }

    Script.Block block(int place, int block) {
        return new Script.Block(hash(place, block), names[block], block);
    }

    /** What the block would be named under another parent. */
    long nameBelow(OptionalLong parent, int block) {
        if (!chained) {
            return mixed(parent.orElse(salt) * 31 + names[block]) | 1;
        }
        Script.Block it = new Script.Block(0, 0, block);
        long local = ContentNames.local(it.tokens(), 0, Script.Block.TOKENS);
        if (it.extra() != 0) {
            local = ContentNames.with(local, it.extra());
        }
        return parent.isEmpty()
                ? ContentNames.root(local, ContentNames.NO_NAMESPACE)
                : ContentNames.next(parent.getAsLong(), local);
    }

    /** What the cache at this place calls the block. */
    long hash(int place, int block) {
        return naming == BlockTree.Naming.ENGINE_HASH ? names[block] : number(place % 5, block);
    }

    /** The blocks from the root to this one. */
    int[] path(int last) {
        int length = 0;
        for (int at = last; at >= 0; at = parents[at]) {
            length++;
        }
        int[] path = new int[length];
        for (int at = last; at >= 0; at = parents[at]) {
            path[--length] = at;
        }
        return path;
    }

    /** The names from the root to this block. */
    long[] names(int last) {
        int[] path = path(last);
        long[] result = new long[path.length];
        for (int i = 0; i < path.length; i++) {
            result[i] = names[path[i]];
        }
        return result;
    }

    /** Distinct numbers for distinct indices; no style yields 0 for a positive one: zero names nothing on a content chain. */
    private long number(int style, int index) {
        return switch (style) {
            case 0 -> index;
            case 1 -> -index;
            case 2 -> (long) index << 40;
            // The same place in a table that mixes by this multiplication.
            case 5 -> index * inverse(PHI);
            case 3 ->
                naming == BlockTree.Naming.ENGINE_HASH && index < CORNERS.length ? CORNERS[index] : mixed(index + salt);
            default -> mixed(index + salt);
        };
    }

    private static long mixed(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
        return mixed ^ (mixed >>> 31);
    }

    private static long inverse(long odd) {
        long inverse = odd;
        for (int i = 0; i < 6; i++) {
            inverse *= 2 - odd * inverse;
        }
        return inverse;
    }
}
