package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StreamPosition;

/**
 * A view of one cache that somebody else, or an earlier process, had after one batch, offered to a subscription that does
 * not know all that came before it.
 *
 * <p>The publisher is asked for that very batch and all after it. Only the same number with the same bytes proves that
 * the view is of the life that is followed; without that proof nothing of it is used. Called on the loop's thread.
 */
public interface OfferedView {
    /** Returns the batch after which it was exact. */
    StreamPosition position();

    /** Returns the sink that hears the batches between that one and the last that the subscription has applied. */
    KvEventSink events();

    /**
     * It is proven, and has heard all that the subscription has: it is exact after this batch, and the subscription goes
     * on with the next one.
     */
    void taken(StreamPosition at);

    /** It is not used, for a reason that is a part of a sentence. */
    void refused(String why);
}
