package io.holdfast.core.rank;

import java.time.Duration;
import java.util.Locale;

/**
 * A prefix that its rank chose to be held, as it was at one moment.
 *
 * @param lastBlock the block at its end, with which a request ended
 * @param blocks from the root to there
 * @param adds those of them that no prefix before it in the order has
 * @param chance how likely it is used again within the lease
 * @param uses requests that went over its end
 * @param turn which turn of a conversation ended there
 * @param idleSeconds since its end was used last
 * @param lease how long a hold would last without a use
 */
public record RankedPrefix(
        long lastBlock, int blocks, int adds, double chance, int uses, int turn, double idleSeconds, Duration lease) {
    /** Returns why it is worth a hold, in words. */
    public String said() {
        return String.format(
                Locale.ROOT,
                "a conversation after its turn %d, used %s, last %.0f s ago: %.0f %% of such prefixes are used again"
                        + " within %d s",
                turn,
                uses == 1 ? "once" : uses + " times",
                idleSeconds,
                100 * chance,
                lease.toSeconds());
    }
}
