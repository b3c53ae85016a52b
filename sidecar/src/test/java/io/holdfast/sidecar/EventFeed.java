package io.holdfast.sidecar;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.events.KvEventEncoder;
import java.nio.ByteBuffer;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** An event socket whose sequence numbers are ours to choose, as an engine's network may make them look. */
public final class EventFeed implements AutoCloseable {
    private final ZContext context = new ZContext();
    private final ZMQ.Socket socket = context.createSocket(SocketType.PUB);
    private final KvEventEncoder encoder = new KvEventEncoder(KvEventEncoder.Dialect.SGLANG_MAPS);
    private long sequence;

    public EventFeed() {
        socket.setLinger(0);
        socket.bind("tcp://127.0.0.1:*");
    }

    public String endpoint() {
        return socket.getLastEndpoint();
    }

    void stored(long[] chain) {
        StoredBlocks blocks = new StoredBlocks().reset().blockTokens(TestBed.BLOCK);
        for (long name : chain) {
            blocks.add(name);
        }
        for (int i = 0; i < chain.length * TestBed.BLOCK; i++) {
            blocks.addToken(i);
        }
        encoder.stored(blocks);
        send(encoder.finish(1, 0));
    }

    public void cleared() {
        encoder.cleared();
        send(encoder.finish(1, 0));
    }

    /** Lets batches go missing. */
    void skip(int batches) {
        sequence += batches;
    }

    /** What the publisher of another process does. */
    void beginAnew() {
        sequence = 0;
    }

    void garbage() {
        send(new byte[] {1, 2, 3});
    }

    private void send(byte[] payload) {
        socket.sendMore(new byte[0]);
        socket.sendMore(ByteBuffer.allocate(Long.BYTES).putLong(sequence++).array());
        socket.send(payload);
    }

    @Override
    public void close() {
        context.close();
    }
}
