package io.holdfast.loadtest.journal;

import java.util.OptionalLong;

/**
 * What one engine counted while a leg ran, by its own counters: all that it was asked, whoever asked it.
 *
 * @param engine its address
 * @param promptTokens of all requests that it answered
 * @param cachedTokens those of them that it found in its cache; absent where it does not count them
 */
public record EngineShare(String engine, long promptTokens, OptionalLong cachedTokens) {}
