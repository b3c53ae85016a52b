package io.holdfast.embed;

import io.holdfast.core.index.ViewSnapshot;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A place from which views of engines' caches may be had: this machine's disk, or another process that follows the same
 * engines.
 *
 * <p>Nothing that it gives is believed before the engine itself has repeated the batch after which the view was taken.
 */
@FunctionalInterface
public interface ViewSource {
    /**
     * Gives the newest view that it has of one data-parallel rank's cache, in the form of {@link ViewSnapshot#encode};
     * empty where it has none. Called by the thread that works for the fleet, which it must not hold up; whoever completes
     * the answer reads it.
     */
    CompletionStage<Optional<byte[]>> view(String engineId, int rank);
}
