package io.holdfast.core;

import io.holdfast.core.prefix.SharedPrefix;

/**
 * A shared prefix and what becomes of it.
 *
 * @param tokens of the whole prefix; 0 while the size of a block is unknown
 * @param cached whether all of it is in the cache now
 * @param held whether it is pinned, for any requester
 * @param why it is held, or why not; one sentence
 */
public record PrefixReport(SharedPrefix prefix, long tokens, boolean cached, boolean held, String why) {}
