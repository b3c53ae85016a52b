package io.holdfast.core.prefix;

/**
 * The part of one shared prefix that outlives a process.
 *
 * @param lastBlock the block at its end, below which requests part
 * @param blocks from the root to there
 * @param ways different blocks that followed it
 * @param firsts the names of the last of them
 * @param requests visible requests that passed it
 * @param hits of those, requests that found all of it in the cache
 * @param losses how often a request found it lost, wholly or in part, after another had passed it
 * @param lostBlocks blocks of it that were computed again for that
 * @param heat requests that passed it, each counting half as much after every half-life
 * @param idleNanos how long ago the last request passed it
 */
@SuppressWarnings("ArrayRecordComponent")
public record LearnedPrefix(
        long lastBlock,
        int blocks,
        int ways,
        long[] firsts,
        long requests,
        long hits,
        long losses,
        long lostBlocks,
        double heat,
        long idleNanos) {
    public LearnedPrefix {
        boolean counts = blocks > 0 && ways > 1 && requests >= 0 && hits >= 0 && losses >= 0 && lostBlocks >= 0;
        boolean names = firsts.length == Math.min(ways - 1, SharedPrefixes.MOST_FIRSTS);
        if (!counts || !names || !(heat >= 0) || !Double.isFinite(heat) || idleNanos < 0) {
            throw new IllegalArgumentException(
                    "What is known of a shared prefix are its ways and counts, none of them" + " negative.");
        }
    }
}
