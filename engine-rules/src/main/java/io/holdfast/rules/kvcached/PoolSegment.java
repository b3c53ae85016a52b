package io.holdfast.rules.kvcached;

import java.util.OptionalLong;

/**
 * Segment in which an engine's pool tells what it holds and is told how much it may: for a server, memory that other
 * processes see.
 */
public interface PoolSegment extends AutoCloseable {
    /** The limit in bytes, if somebody can tell. */
    OptionalLong limit();

    /** Says what is used and what is mapped in advance; the limit stays as it is. */
    void publish(long used, long preallocated);

    /** Takes it away, as an engine does that ends by itself. */
    @Override
    void close();
}
