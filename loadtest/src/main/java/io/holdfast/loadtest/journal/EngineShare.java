package io.holdfast.loadtest.journal;

import java.util.OptionalLong;

/**
 * One engine's own counts while a leg ran: they include all requests, no matter who sent them.
 *
 * @param engine its address
 * @param promptTokens of all requests that it answered
 * @param cachedTokens those of them that it found in its cache; absent where it does not count them
 */
public record EngineShare(String engine, long promptTokens, OptionalLong cachedTokens) {}
