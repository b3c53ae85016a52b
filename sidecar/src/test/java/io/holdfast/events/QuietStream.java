package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import java.nio.ByteBuffer;
import java.util.Optional;

/** A subscription's order of batches without its sockets: whoever plays the network says what arrives and when. */
public final class QuietStream {
    /** Whom the past is asked of. */
    public interface ReplayRequester {
        /** Ends what was asked before. */
        void requestReplay(long from);

        void stop();
    }

    private final BatchSequencer stream;

    public QuietStream(KvEventSink sink, Optional<ReplayRequester> requester, long now) {
        stream = new BatchSequencer(
                new Subscription(EventSource.of("tcp://engine:5557", ""), 0),
                sink,
                new KvEventDecoder(),
                requester.map(QuietStream::requesting),
                now);
    }

    private static BatchSequencer.ReplayRequester requesting(ReplayRequester requester) {
        return new BatchSequencer.ReplayRequester() {
            @Override
            public void requestReplay(long from) {
                requester.requestReplay(from);
            }

            @Override
            public void stop() {
                requester.stop();
            }
        };
    }

    /** To be called before anything arrives, and now and then. */
    public void round(long now, long connection, boolean connected) {
        stream.round(now, connection, connected);
    }

    public void live(long connection, long sequence, byte[] payload) {
        stream.live(message(connection, sequence, payload));
    }

    public void answered(long sequence, byte[] payload) {
        stream.answered(message(0, sequence, payload));
    }

    public void ended() {
        stream.ended();
    }

    public void cutOff() {
        stream.cutOff();
    }

    private Message message(long connection, long sequence, byte[] payload) {
        return new Message(
                connection, ByteBuffer.allocate(8).putLong(0, sequence).array(), payload, stream.replayRequests());
    }
}
