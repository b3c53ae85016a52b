package io.holdfast.core.hold;

import io.holdfast.core.index.Prefix;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/** A wish to keep one prefix: the engine's hashes of its blocks, root first, its tokens if known, and how long; every hold ages. */
public final class HoldRequest implements Prefix {
    private static final Duration LONGEST_LEASE = Duration.ofDays(365);

    private final long[] blocks;
    private final Optional<int[]> tokens;
    private final Duration lease;

    /** A prefix of which only the names of its blocks are known. */
    public HoldRequest(long[] blocks, Duration lease) {
        this(blocks, Optional.empty(), lease);
    }

    /**
     * The same with its tokens, which some ways to hold it need.
     *
     * @throws IllegalArgumentException where they do not fill the blocks
     */
    public HoldRequest(long[] blocks, int[] tokens, Duration lease) {
        this(blocks, Optional.of(tokens.clone()), lease);
        if (tokens.length == 0 || tokens.length % blocks.length != 0) {
            throw new IllegalArgumentException(tokens.length + " tokens do not fill " + blocks.length
                    + " blocks: leave out those beyond the last whole block.");
        }
    }

    private HoldRequest(long[] blocks, Optional<int[]> tokens, Duration lease) {
        if (blocks.length == 0) {
            throw new IllegalArgumentException(
                    "A hold needs at least one full block: the prefix is shorter than the engine's block size.");
        }
        if (lease.isZero() || lease.isNegative()) {
            throw new IllegalArgumentException("The lease must be longer than zero, it is " + lease + ".");
        }
        if (lease.compareTo(LONGEST_LEASE) > 0) {
            throw new IllegalArgumentException("The lease must be at most " + LONGEST_LEASE.toDays() + " days, it is "
                    + lease + ": ask again before it ends.");
        }
        this.blocks = blocks.clone();
        this.tokens = tokens;
        this.lease = lease;
    }

    @Override
    public int blocks() {
        return blocks.length;
    }

    @Override
    public long block(int depth) {
        return blocks[depth];
    }

    /** The tokens of the prefix; absent where it was asked for by the names of its blocks. */
    public Optional<int[]> tokens() {
        return tokens.map(int[]::clone);
    }

    /** The tokens of its first blocks; none where they are not known. */
    public int[] tokensOf(int firstBlocks) {
        return tokens.map(known -> Arrays.copyOf(known, known.length / blocks.length * firstBlocks))
                .orElseGet(() -> new int[0]);
    }

    /** What it takes to remember it, in names of blocks, which have eight bytes; a token has four. */
    public int weight() {
        return blocks.length + tokens.map(known -> known.length / 2).orElse(0);
    }

    public Duration lease() {
        return lease;
    }
}
