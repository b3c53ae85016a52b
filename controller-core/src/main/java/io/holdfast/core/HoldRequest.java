package io.holdfast.core;

import java.time.Duration;

/**
 * A wish to keep one prefix.
 *
 * @param blocks the engine's hashes of the prefix, root first
 * @param lease how long; every hold ages
 */
public record HoldRequest(long[] blocks, Duration lease) {
    public HoldRequest {
        blocks = blocks.clone();
        if (blocks.length == 0) {
            throw new IllegalArgumentException(
                    "A hold needs at least one full block: the prefix is shorter than the engine's block size.");
        }
        if (lease.isZero() || lease.isNegative()) {
            throw new IllegalArgumentException("The lease must be longer than zero, it is " + lease + ".");
        }
    }

    @Override
    public long[] blocks() {
        return blocks.clone();
    }
}
