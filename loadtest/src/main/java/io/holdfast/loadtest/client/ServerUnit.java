package io.holdfast.loadtest.client;

import java.net.URI;

/** Starts the engine of a load test anew, so that each pair of legs has a server life of its own. */
public interface ServerUnit {
    URI uri();

    /**
     * Ends the life that there is and begins another at the same address. Blocks until it is ready; the load test
     * then asks for itself, by {@code /health} and one real completion.
     */
    void restart();

    /** Whether {@link #restart} gives a new process. If not, lives are separated by a flush only. */
    default boolean givesFreshLives() {
        return true;
    }

    /** What it is, in a few words for the record. */
    default String name() {
        return "engine at " + uri();
    }
}
