package io.holdfast.rules.kvcached;

import java.util.OptionalLong;

/**
 * Segment in which an engine's pool tells what it holds and is told how much it may: for a server, memory that other
 * processes see.
 */
public interface PoolSegment extends AutoCloseable {
    /** The limit in bytes, if it can be read. */
    OptionalLong limit();

    /** Says what is used and what is mapped in advance; the limit stays as it is. */
    void publish(long used, long preallocated);

    /** Takes it away, as an engine does that ends on its own. */
    @Override
    void close();
}
