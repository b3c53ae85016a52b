package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.kvcached.ElasticPool;

/**
 * The pool of token slots: how many there are and how many are free, in whole pages.
 *
 * <p>Under kvcached the memory is asked whenever slots are wanted, and there are as many as it allows, at most as many
 * as the cache was made with. Below a limit the memory may give nothing for slots that were given back.
 */
final class TokenSlots {
    private final ElasticPool memory;
    private final int pageTokens;
    private final int madeWith;

    /** The limit that the engine was given. */
    private int most;

    /** Slots that the memory allowed when it was last asked. */
    private int allowed = Integer.MAX_VALUE;

    private int capacity;
    private int free;

    TokenSlots(SglangSettings settings, ElasticPool memory) {
        this.memory = memory;
        pageTokens = settings.pageTokens();
        madeWith = settings.capacityTokens();
        most = madeWith;
        capacity = madeWith;
        free = madeWith;
    }

    boolean isElastic() {
        return memory.isElastic();
    }

    int capacity() {
        return capacity;
    }

    int free() {
        return free;
    }

    /** The caller made room before. */
    void take(int tokens) {
        if (tokens > free) {
            throw new EngineDeath("Out of memory: " + tokens + " tokens wanted, " + free + " free.");
        }
        free -= tokens;
    }

    void giveBack(int tokens) {
        free += tokens;
    }

    void clear() {
        free = capacity;
        memory.cleared();
    }

    /** From now on so many, or as few as what is taken allows; how many are too many at this moment. */
    int limit(int tokens) {
        most = Math.min(tokens, madeWith);
        return capacity - wanted();
    }

    /** Takes away free slots that are too many, or adds what is missing. */
    void resize() {
        int excess = Math.min(capacity - wanted(), free / pageTokens * pageTokens);
        free -= excess;
        capacity -= excess;
    }

    /** Asks the memory how much it allows; to be asked when slots are wanted. */
    void ask() {
        if (isElastic()) {
            tell();
            allowed = (int) Math.min((long) memory.allowedBlocks() * pageTokens, madeWith);
            resize();
        }
    }

    /** Tells the memory how much is taken. */
    void tell() {
        memory.used((capacity - free + pageTokens - 1) / pageTokens);
    }

    /** The most tokens that may be cached without being used. */
    long cachedTokens() {
        return (long) memory.cachedBlocks() * pageTokens;
    }

    private int wanted() {
        return Math.min(most, allowed);
    }
}
