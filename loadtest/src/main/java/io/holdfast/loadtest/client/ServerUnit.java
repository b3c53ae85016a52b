package io.holdfast.loadtest.client;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ServerLog;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Starts the engine of a load test anew, so that each pair of legs has a server life of its own. */
public interface ServerUnit extends AutoCloseable {
    /** Returns the address that the load goes to. */
    URI uri();

    /**
     * Returns the addresses where the engines behind it are asked about themselves; without a router, the same address.
     */
    default List<URI> engines() {
        return List.of(uri());
    }

    /**
     * Ends the life that there is and begins another at the same address. Blocks until it is ready; the load test
     * then asks for itself, by {@code /health} and one real completion.
     */
    void restart();

    /** Returns true if each leg has a life of its own, as where the arms differ in how the server is started. */
    default boolean givesFreshLegs() {
        return false;
    }

    /** Begins a life like {@link #restart}, for legs of one arm. */
    default void restart(Arm arm) {
        restart();
    }

    /** Returns true if {@link #restart} gives a new process. If not, lives are separated by a flush only. */
    default boolean givesFreshLives() {
        return true;
    }

    /** Returns the time that beginning a life takes, as far as it is known. */
    default Duration lifeTakes() {
        return Duration.ZERO;
    }

    /** Records that this life has served something, so that the next life has to be another. */
    default void used() {}

    /** Returns a sentence why its life is over although nobody ended it; absent while it is not over. */
    default Optional<String> ended() {
        return Optional.empty();
    }

    /** Returns what the server has written since the last call; absent where nobody knows. */
    default Optional<ServerLog> written() {
        return Optional.empty();
    }

    @Override
    default void close() {}

    /** Returns a name of a few words for the record. */
    default String name() {
        return "engine at " + uri();
    }
}
