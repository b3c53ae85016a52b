package io.holdfast.core.index;

/**
 * What one engine's event stream says, in the order in which the engine said it.
 *
 * <p>Called by one thread. A batch is everything that the engine published at once: {@link #batchStarted}, its events,
 * {@link #batchEnded}. A frame that cannot be decoded is refused whole by the codec and reaches nobody. {@link #gap} and
 * {@link #restarted} come before the batch that revealed them.
 */
public interface KvEventSink {
    void batchStarted(long sequence);

    /** The chain is valid during the call only. */
    void stored(StoredBlocks chain);

    /** The first {@code count} hashes were removed from the tier. */
    void removed(long[] hashes, int count, Tier tier);

    void cleared();

    void batchEnded();

    /**
     * Batches {@code expected .. seen - 1} never arrived, and cannot be had again. An empty range says that the connection
     * was lost in between, so that {@code seen} may belong to another life.
     */
    void gap(long expected, long seen);

    /** The sequence fell back to {@code seen}: another life of the publisher. */
    void restarted(long seen);
}
