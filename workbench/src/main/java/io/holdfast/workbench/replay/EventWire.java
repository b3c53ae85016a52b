package io.holdfast.workbench.replay;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventDecoder;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.Arrays;

/** Says what a cache does in an engine's own bytes, and has them read as a sidecar reads them. */
final class EventWire {
    /** Odd, so that each number has a hash of its own, and hashes lie about as engines' do. */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private static final long GATHER = inverse(SPREAD);
    private static final int VOCABULARY = 1 << 17;

    private final KvEventEncoder encoder;
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final KvEventSink sink;
    private final int blockTokens;
    private final StoredBlocks chain = new StoredBlocks();
    private long[] removed = new long[256];
    private int removedCount;
    private long sequence;

    EventWire(Dialect dialect, int blockTokens, KvEventSink sink) {
        this.encoder = new KvEventEncoder(dialect);
        this.blockTokens = blockTokens;
        this.sink = sink;
    }

    /** The hash by which a block goes over the wire. */
    static long hash(int block) {
        return (block + 1L) * SPREAD;
    }

    static int block(long hash) {
        return (int) (hash * GATHER - 1);
    }

    void removed(int block) {
        if (removedCount == removed.length) {
            removed = Arrays.copyOf(removed, 2 * removedCount);
        }
        removed[removedCount++] = hash(block);
    }

    /** The blocks of a path from one depth up to before another were stored, after all that was removed so far. */
    void stored(int[] path, int from, int to) {
        sayRemoved();
        chain.reset().blockTokens(blockTokens).in(Tier.GPU);
        if (from > 0) {
            chain.under(hash(path[from - 1]));
        }
        for (int depth = from; depth < to; depth++) {
            chain.add(hash(path[depth]));
            for (int token = 0; token < blockTokens; token++) {
                chain.addToken((int) (((long) path[depth] * blockTokens + token) % VOCABULARY));
            }
        }
        encoder.stored(chain);
    }

    /** Sends what was said since the last call as one batch, if anything was. */
    void publish(long nanos) {
        sayRemoved();
        if (!encoder.isEmpty() && !decoder.decode(encoder.finish(nanos / 1e9, 0), sequence++, sink)) {
            throw new IllegalStateException("Our own batch cannot be read: " + decoder.refusal());
        }
    }

    private void sayRemoved() {
        if (removedCount > 0) {
            encoder.removed(removed, 0, removedCount, Tier.GPU, 0);
            removedCount = 0;
        }
    }

    /** Computes the inverse by Newton's steps, each of which doubles the bits that are right. */
    private static long inverse(long odd) {
        long inverse = odd;
        for (int step = 0; step < 5; step++) {
            inverse *= 2 - odd * inverse;
        }
        return inverse;
    }
}
