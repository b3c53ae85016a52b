package io.holdfast.rules.kvcached;

import java.util.OptionalLong;

/** A segment in the engine's own memory: nobody but the test moves its limit. */
public final class OwnSegment implements PoolSegment {
    private long limit;
    private long used;
    private long reserved;

    public OwnSegment(KvcachedSettings settings) {
        limit = settings.startupBytes();
    }

    @Override
    public OptionalLong limit() {
        return OptionalLong.of(limit);
    }

    public void setLimit(long bytes) {
        limit = bytes;
    }

    public long used() {
        return used;
    }

    public long reserved() {
        return reserved;
    }

    @Override
    public void publish(long usedBytes, long preallocatedBytes) {
        used = usedBytes;
        reserved = preallocatedBytes;
    }

    @Override
    public void close() {}
}
