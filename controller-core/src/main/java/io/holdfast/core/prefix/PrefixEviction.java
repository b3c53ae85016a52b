package io.holdfast.core.prefix;

import java.time.Duration;

/**
 * A shared prefix whose end was evicted.
 *
 * @param number position among all such evictions of this engine, from 1
 * @param lastBlock the prefix's last block
 * @param blocks its length
 * @param idle time since a request last went over it
 */
public record PrefixEviction(long number, long lastBlock, int blocks, Duration idle) {}
