package io.holdfast.embed.cell;

/**
 * Progress of warming an empty cache.
 *
 * @param over whether nothing more is sent in this life of the cache
 * @param prefixes prefixes that were stored
 * @param storedTokens tokens of these
 * @param plannedTokens tokens of all that were to be stored, without those that could not be
 * @param why what it waits for, or why it is over, in a clause
 */
public record WarmingView(boolean over, int prefixes, long storedTokens, long plannedTokens, String why) {
    /** Returns how much of what was planned is stored, 0 to 1; 1 where nothing was. */
    public double part() {
        return plannedTokens <= 0 ? 1 : Math.min(1, (double) storedTokens / plannedTokens);
    }
}
