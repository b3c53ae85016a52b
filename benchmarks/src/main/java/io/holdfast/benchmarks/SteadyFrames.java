package io.holdfast.benchmarks;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.KvEventDecoder;

/**
 * The frames of one period of {@link Churn}, decoded in a circle: a tree that follows them is after each circle what it was
 * before.
 */
final class SteadyFrames {
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final byte[][] frames;
    private int position;
    private long sequence;

    private SteadyFrames(byte[][] frames) {
        this.frames = frames;
    }

    /** The frames that follow {@link Churn#fill} of the same churn. */
    static SteadyFrames of(EventStyle style, int size, long seed) {
        Churn churn = new Churn(style, size, /* withTokens= */ true, seed);
        return new SteadyFrames(FrameSink.frames(style, churn, churn.period()));
    }

    /** The next payload. */
    byte[] next() {
        byte[] frame = frames[position];
        position = position + 1 == frames.length ? 0 : position + 1;
        return frame;
    }

    /** Decodes the next frames. */
    void decode(int count, KvEventSink sink) {
        for (int i = 0; i < count; i++) {
            if (!decoder.decode(next(), sequence++, sink)) {
                throw new IllegalStateException("A frame was refused: " + decoder.refusal() + ".");
            }
        }
    }

    /** Frames in the circle. */
    int count() {
        return frames.length;
    }
}
