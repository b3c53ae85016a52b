package io.holdfast.loadtest.client;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ServerLog;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Starts the engine of a load test anew, so that each pair of legs has a server life of its own. */
public interface ServerUnit extends AutoCloseable {
    /** Where the load goes. */
    URI uri();

    /** Where the engines behind that are asked about themselves; without a router it is the same. */
    default List<URI> engines() {
        return List.of(uri());
    }

    /**
     * Ends the life that there is and begins another at the same address. Blocks until it is ready; the load test
     * then asks for itself, by {@code /health} and one real completion.
     */
    void restart();

    /** Whether each leg has a life of its own, as where the arms differ in how it is started. */
    default boolean givesFreshLegs() {
        return false;
    }

    /** The same as {@link #restart} for legs of one arm. */
    default void restart(Arm arm) {
        restart();
    }

    /** Whether {@link #restart} gives a new process. If not, lives are separated by a flush only. */
    default boolean givesFreshLives() {
        return true;
    }

    /** What beginning a life takes, as far as that is known. */
    default Duration lifeTakes() {
        return Duration.ZERO;
    }

    /** Told that its life has served something, so that the next one has to be another. */
    default void used() {}

    /** Why its life is over although nobody ended it, in a sentence; absent while it is not. */
    default Optional<String> ended() {
        return Optional.empty();
    }

    /** What its server has written since this was asked last; absent where nobody knows. */
    default Optional<ServerLog> written() {
        return Optional.empty();
    }

    @Override
    default void close() {}

    /** What it is, in a few words for the record. */
    default String name() {
        return "engine at " + uri();
    }
}
