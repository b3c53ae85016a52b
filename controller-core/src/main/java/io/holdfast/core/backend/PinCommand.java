package io.holdfast.core.backend;

import io.holdfast.core.hold.HoldRequest;

/**
 * A request to a backend to pin the first blocks of a prefix.
 *
 * @param holdId the hold on whose behalf
 * @param attempt a number that no other pin of this process has
 * @param prefix the wished path, with its tokens where they are known
 * @param blocks how many blocks of it, from its root
 * @param caches how many caches of the engine have the block at the end; the call reaches all of them
 */
public record PinCommand(long holdId, long attempt, HoldRequest prefix, int blocks, int caches) {
    /** Creates a command for an engine with one cache. */
    public PinCommand(long holdId, long attempt, HoldRequest prefix, int blocks) {
        this(holdId, attempt, prefix, blocks, 1);
    }

    /** The block at the end of the path; it ended an insertion, where the backend needs that. */
    public long lastBlock() {
        return prefix.block(blocks - 1);
    }
}
