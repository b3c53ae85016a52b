package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.CacheEvents;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Somebody who listens to what an engine tells of its cache, until closed. */
public interface Listening extends AutoCloseable {
    /** Forgets all that was told so far: right after the cache was emptied. */
    void clear();

    /** Names of the blocks that the GPU has, of those that were stored since the last clear, in that order. */
    List<Long> gpuBlocks();

    /** Number of blocks that were stored and removed since the last call of {@link #clear}. */
    CacheEvents counted();

    /** Why the blocks may lack one that the engine has, or have one that it has not, if so. */
    Optional<String> problem();

    /** Waits until nothing has been told for a while, so that what was done before is known. */
    void awaitQuiet(Duration within);

    @Override
    void close();
}
