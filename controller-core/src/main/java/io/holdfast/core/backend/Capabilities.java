package io.holdfast.core.backend;

/**
 * What a backend can do on the engine that it was probed on.
 *
 * @param canPin whether a pin would do anything there
 * @param why one sentence: what was asked, what the engine said, and what would change it
 */
public record Capabilities(boolean canPin, String why) {}
