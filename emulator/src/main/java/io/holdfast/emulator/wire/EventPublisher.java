package io.holdfast.emulator.wire;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.emulator.engine.BlockName;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.EmulatorException;
import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.Tokens;
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
public final class EventPublisher implements AutoCloseable {
    private static final byte[] TOPIC = {};
    private static final int HIGH_WATER_MARK = 100_000;

    /** JeroMQ now and then loses a handshake; either side notices only by this, and its default is 30 s. */
    private static final int HANDSHAKE_MILLIS = 500;

    private final ZContext context = new ZContext(1);
    private final ZMQ.Socket socket;
    private final KvEventEncoder encoder;
    private final StoredBlocks chain = new StoredBlocks();
    private final EngineClock clock;
    private final String endpoint;
    private long sequence;

    public EventPublisher(int port, KvEventEncoder.Dialect dialect, EngineClock clock) {
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

    public String endpoint() {
        return endpoint;
    }

    public int port() {
        return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    }

    /** Engine thread only. */
    public void publish(List<CacheEvent> batch) {
        for (CacheEvent event : batch) {
            switch (event) {
                case CacheEvent.Stored stored -> encoder.stored(chain(stored));
                case CacheEvent.Removed removed -> {
                    long[] blocks =
                            removed.blocks().stream().mapToLong(BlockName::hash).toArray();
                    encoder.removed(blocks, 0, blocks.length, removed.tier(), 0);
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
        chain.reset().blockTokens(stored.blockTokens()).in(stored.tier());
        stored.parent().ifPresent(parent -> chain.under(parent.hash()));
        stored.blocks().forEach(block -> chain.add(block.hash()));
        Tokens tokens = stored.tokens();
        for (int i = 0; i < tokens.size(); i++) {
            chain.addToken(tokens.get(i));
        }
        return chain;
    }
}
