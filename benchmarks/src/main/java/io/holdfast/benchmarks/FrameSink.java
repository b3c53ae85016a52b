package io.holdfast.benchmarks;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder;
import java.util.ArrayList;
import java.util.List;

/** Writes each batch down as the payload of a frame. */
final class FrameSink implements ChurnSink {
    private final KvEventEncoder encoder;
    private final List<byte[]> frames = new ArrayList<>();

    private FrameSink(EventStyle style) {
        encoder = new KvEventEncoder(style.dialect);
    }

    /** The frames of the next batches of this churn. */
    static byte[][] frames(EventStyle style, Churn churn, int batches) {
        FrameSink sink = new FrameSink(style);
        for (int i = 0; i < batches; i++) {
            churn.next(sink);
        }
        return sink.frames.toArray(byte[][]::new);
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        encoder.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        encoder.removed(hashes, from, to, tier, group);
    }

    @Override
    public void batchEnded() {
        frames.add(encoder.finish(frames.size() / 1e3, 0));
    }
}
