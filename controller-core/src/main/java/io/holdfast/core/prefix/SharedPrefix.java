package io.holdfast.core.prefix;

import java.time.Duration;
import java.util.OptionalLong;

/**
 * A prefix that requests of an engine share, as it was seen at one moment.
 *
 * @param lastBlock the block at its end, below which requests part
 * @param blocks from the root to there
 * @param above the end of the next shorter shared prefix that it goes on from
 * @param ways different blocks that followed it
 * @param requests visible requests that passed it
 * @param hits of those, requests that found all of it in the cache
 * @param losses how often a request found it lost, wholly or in part, after another had passed it
 * @param lostBlocks blocks of it that were computed again for that
 * @param heat requests that passed it, each counting half as much after every half-life
 * @param gapNanos usual time between two uses, bursts counted as one use; 0 while unknown
 */
public record SharedPrefix(
        long lastBlock,
        int blocks,
        OptionalLong above,
        int ways,
        long requests,
        long hits,
        long losses,
        long lostBlocks,
        double heat,
        long gapNanos) {
    private static final int ENOUGH_WAYS = 3;
    private static final int ENOUGH_REQUESTS = 3;

    /** A prefix whose gap is unknown. */
    public SharedPrefix(
            long lastBlock,
            int blocks,
            OptionalLong above,
            int ways,
            long requests,
            long hits,
            long losses,
            long lostBlocks,
            double heat) {
        this(lastBlock, blocks, above, ways, requests, hits, losses, lostBlocks, heat, 0);
    }

    /**
     * Returns true if it is used so seldom that a window of this length without a hold would tell nothing about it.
     */
    public boolean isSeldomUsed(Duration window) {
        return window.isPositive() && 2 * gapNanos >= window.toNanos();
    }

    /**
     * Returns true if it is worth a hold: several requests share it, not the turns of one conversation, and the cache
     * lost it.
     */
    public boolean worthHolding() {
        return ways >= ENOUGH_WAYS && requests >= ENOUGH_REQUESTS && losses > 0;
    }
}
