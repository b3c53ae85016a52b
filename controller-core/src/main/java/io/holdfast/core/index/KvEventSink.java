package io.holdfast.core.index;

/**
 * Receives the event stream of one cache, in the order in which the engine published it.
 *
 * <p>Called by one thread. A batch is everything that the engine published at once: {@link #batchStarted}, its events,
 * {@link #batchEnded}. A frame that cannot be decoded is refused whole by the codec and reaches nobody. {@link #gap}
 * and {@link #restarted} come before the batch that revealed them.
 */
public interface KvEventSink {
    /** {@code stampMicros} is when the engine made the batch, in microseconds of its own clock since 1970. */
    void batchStarted(long sequence, long stampMicros);

    /** The chain is valid during the call only. */
    void stored(StoredBlocks stores);

    /** The hashes from {@code from} up to before {@code to} were removed from the tier, for this KV cache group. */
    void removed(long[] hashes, int from, int to, Tier tier, int group);

    void cleared();

    void batchEnded();

    /** Batches never arrived or may never have arrived, and cannot be had again. */
    void gap(Gap gap);

    /** The sequence fell back to {@code seen}: another life of the publisher. */
    void restarted(long seen);
}
