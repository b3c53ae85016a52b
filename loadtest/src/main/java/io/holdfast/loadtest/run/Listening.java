package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.CacheEvents;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A listener to an engine's reports about its cache, until closed. */
public interface Listening extends AutoCloseable {
    /** Forgets all reports so far; called right after the cache was emptied. */
    void clear();

    /** Names of the blocks that the GPU has, of those that were stored since the last clear, in that order. */
    List<Long> gpuBlocks();

    /** Number of blocks that were stored and removed since the last call of {@link #clear}. */
    CacheEvents counted();

    /** Returns why the blocks may lack one that the engine has, or have one that it lacks, if so. */
    Optional<String> problem();

    /** Waits until no report has come for a while, so that what was done before is known. */
    void awaitQuiet(Duration within);

    @Override
    void close();
}
