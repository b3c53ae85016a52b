package io.holdfast.events;

/** Listener for the batches of events as they came, beside the sinks that are told what is in them. */
public interface FrameListener {
    /** Wants none. */
    FrameListener NONE = (rank, sequence, payload) -> {};

    /**
     * A batch is about to be told to its sink; called on the loop's thread, in the order of the sequence, with those
     * that were missed and requested.
     *
     * @param payload not to be written
     */
    void frame(int rank, long sequence, byte[] payload);
}
