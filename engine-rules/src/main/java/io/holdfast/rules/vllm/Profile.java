package io.holdfast.rules.vllm;

import java.util.Locale;

/** One of seven servers. Each of the first six keeps what the one before it does, unless it says otherwise. */
public enum Profile {
    /** A batch is gathered, prefilled together and answered to its end before the next is looked at. */
    STATIC,
    /** Requests come and go at every step; those that come together share one right-padded prefill. */
    CONTINUOUS,
    /** The cache is blocks instead of slots, so more requests run at once. */
    PAGED,
    /** A step prefills a chunk at most and decodes as well. */
    CHUNKED,
    /** Blocks stay for later prompts that begin alike. */
    PREFIX,
    /** Decode steps are graphs, captured for a few sizes before the first request. */
    GRAPH,
    /** Apart from the others: long prompts in small chunks, one at a time, and evicted blocks are brought back. */
    RESTORE;

    /** Name as it is written in commands. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    boolean inSlots() {
        return this == STATIC || this == CONTINUOUS;
    }

    boolean pads() {
        return inSlots() || this == PAGED;
    }

    /** Returns true if blocks stay for later prompts. */
    boolean keepsPrefixes() {
        return this == PREFIX || this == GRAPH || this == RESTORE;
    }
}
