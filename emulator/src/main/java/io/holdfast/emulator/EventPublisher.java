package io.holdfast.emulator;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder;
import java.nio.ByteBuffer;
import java.util.List;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * The engine's event socket: each batch is a message of topic, sequence number and payload. Numbers start at 0 with each
 * server life; nobody's absence is noticed and nothing is repeated.
 */
final class EventPublisher implements AutoCloseable {
    private static final byte[] TOPIC = {};
    private static final int HIGH_WATER_MARK = 100_000;

    /** JeroMQ now and then loses a handshake; either side notices only by this, and its default is 30 s. */
    private static final int HANDSHAKE_MILLIS = 500;

    private final ZContext context = new ZContext(1);
    private final ZMQ.Socket socket;
    private final KvEventEncoder encoder;
    private final StoredBlocks chain = new StoredBlocks();
    private final int pageTokens;
    private final EngineClock clock;
    private final String endpoint;
    private long sequence;

    EventPublisher(int port, int pageTokens, KvEventEncoder.Dialect dialect, EngineClock clock) {
        this.pageTokens = pageTokens;
        this.clock = clock;
        this.encoder = new KvEventEncoder(dialect);
        context.setLinger(0);
        this.socket = context.createSocket(SocketType.PUB);
        socket.setHWM(HIGH_WATER_MARK);
        socket.setLinger(0);
        socket.setHandshakeIvl(HANDSHAKE_MILLIS);
        try {
            socket.bind("tcp://127.0.0.1:" + (port == 0 ? "*" : Integer.toString(port)));
        } catch (ZMQException e) {
            context.close();
            throw new EmulatorException(
                    "Port " + port + " for events is in use; choose another or 0 for a free one.", e);
        }
        this.endpoint = socket.getLastEndpoint();
    }

    String endpoint() {
        return endpoint;
    }

    int port() {
        return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    }

    /** Engine thread only. */
    void publish(List<CacheEvent> batch) {
        for (CacheEvent event : batch) {
            switch (event) {
                case CacheEvent.Stored stored -> encoder.stored(chain(stored));
                case CacheEvent.Removed removed -> {
                    long[] blocks =
                            removed.blocks().stream().mapToLong(Long::longValue).toArray();
                    encoder.removed(blocks, 0, blocks.length, Tier.GPU, 0);
                }
                case CacheEvent.Cleared _ -> encoder.cleared();
            }
        }
        socket.sendMore(TOPIC);
        socket.sendMore(ByteBuffer.allocate(Long.BYTES).putLong(sequence++).array());
        socket.send(encoder.finish(clock.unixSeconds(), 0));
    }

    /** Returns when the port is free. */
    @Override
    public void close() {
        context.close();
    }

    private StoredBlocks chain(CacheEvent.Stored stored) {
        chain.reset().blockTokens(pageTokens).in(Tier.GPU);
        stored.parent().ifPresent(chain::under);
        stored.blocks().forEach(chain::add);
        stored.tokens().forEach(chain::addToken);
        return chain;
    }
}
