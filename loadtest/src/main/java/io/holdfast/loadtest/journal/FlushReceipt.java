package io.holdfast.loadtest.journal;

import java.util.Optional;

/**
 * Record of how the cache was emptied.
 *
 * @param incarnation the cache's life as the holder names it, empty if it does not
 * @param flushes how many it took
 * @param problem why the cache cannot be taken for empty, if so
 */
public record FlushReceipt(String incarnation, int flushes, Optional<String> problem) {}
