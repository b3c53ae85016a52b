package io.holdfast.core.backend;

/**
 * What a backend can do on the engine that it was probed on.
 *
 * @param canPin whether a pin would do anything there
 * @param why one sentence: what was asked, what the engine said, and what would change it
 * @param caches how many caches a pin reaches, each of which has to be followed; 1 where that does not matter
 */
public record Capabilities(boolean canPin, String why, int caches) {
    public Capabilities(boolean canPin, String why) {
        this(canPin, why, 1);
    }
}
