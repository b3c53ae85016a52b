package io.holdfast.core.rank;

import java.util.List;

/**
 * Knowledge of one place of the cache, the end of a prefix, and where that puts it among the others.
 *
 * @param blocks from the root to the place
 * @param cached whether the place is in the cache now
 * @param kind what its chances were learned from
 * @param idleSeconds since it was used last
 * @param order where it stands
 * @param lru what a cache does with it that holds nothing
 * @param chances how likely it is used again, within a longer and longer time
 */
public record PrefixRank(
        int blocks, boolean cached, Kind kind, double idleSeconds, Order order, Lru lru, List<Chance> chances) {
    public PrefixRank {
        chances = List.copyOf(chances);
    }

    /** Hint that the application gave about the conversation. */
    public enum Said {
        NOTHING,
        GOES_ON,
        OVER
    }

    /**
     * Places of one kind share a curve.
     *
     * @param turn of a conversation, of the last request that went over it
     * @param uses requests that went over it
     * @param leastPromptTokens the last of them had so many or more: 0, 8,192 or 32,768
     */
    public record Kind(int turn, int uses, int leastPromptTokens, Said said) {}

    /**
     * Its place in the order by which room is given to holds.
     *
     * @param before places of the cache that come before it
     * @param of places of the cache
     * @param usesASecond the best rate of uses that it promises for the time that it is kept, which is what orders
     * @param chosen whether the room reached as far as this place
     */
    public record Order(int before, int of, double usesASecond, boolean chosen) {}

    /**
     * Behaviour of a cache that holds nothing.
     *
     * @param keeps whether a cache of this size that evicts the least recently used would have it now
     * @param residenceSeconds how long such a cache keeps what nobody uses; 0 before it evicted anything
     */
    public record Lru(boolean keeps, double residenceSeconds) {}

    /** Chance that it is used again within so many seconds. */
    public record Chance(long seconds, double chance) {}

    /** Returns the chance that it is used again within a time that is among the requested ones. */
    double chanceWithin(long seconds) {
        return chances.stream()
                .filter(chance -> chance.seconds() == seconds)
                .findFirst()
                .orElseThrow()
                .chance();
    }
}
