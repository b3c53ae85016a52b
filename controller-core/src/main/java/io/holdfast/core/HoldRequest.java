package io.holdfast.core;

import io.holdfast.core.index.Prefix;
import java.time.Duration;

/** A wish to keep one prefix: the engine's hashes of its blocks, root first, and how long; every hold ages. */
public final class HoldRequest implements Prefix {
    private static final Duration LONGEST_LEASE = Duration.ofDays(365);

    private final long[] blocks;
    private final Duration lease;

    public HoldRequest(long[] blocks, Duration lease) {
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

    public Duration lease() {
        return lease;
    }
}
