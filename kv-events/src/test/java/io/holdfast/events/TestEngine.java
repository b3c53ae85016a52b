package io.holdfast.events;

import io.holdfast.events.ModelCache.Batch;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * An engine's event sockets, as SGLang and vLLM have them: a PUB that says each batch once, and a ROUTER that repeats the
 * remembered ones to who asks properly. Driven by the test's thread, between whose calls requests wait.
 */
final class TestEngine implements AutoCloseable {
    /** How a publisher writes its answers and numbers. */
    enum Form {
        /** Answers of sequence and payload. */
        OLDER,
        /** Answers with the topic before them. */
        NEWER,
        /** Newer, and 16 bytes of the publisher's own behind each live number. */
        IDENTIFIED
    }

    static final String TOPIC = "kv@engine@model";
    private static final Duration CLOSING = Duration.ofSeconds(10);
    private static final byte[] END = ByteBuffer.allocate(8).putLong(-1).array();

    private final Form form;
    private final ModelCache cache;
    private ZContext context = new ZContext();
    private ZMQ.Socket publisher;
    private ZMQ.Socket router;
    private long life;

    TestEngine(Form form, ModelCache cache) {
        this.form = form;
        this.cache = cache;
        this.publisher = bound(SocketType.PUB);
        this.router = bound(SocketType.ROUTER);
    }

    int eventsPort() {
        return port(publisher);
    }

    int replayPort() {
        return port(router);
    }

    /** Dies, without a word, and comes back empty at other ports. */
    void restart() {
        end(context);
        cache.restart();
        life++;
        context = new ZContext();
        publisher = bound(SocketType.PUB);
        router = bound(SocketType.ROUTER);
    }

    void publish() {
        Batch batch = cache.next();
        publisher.send(TOPIC.getBytes(StandardCharsets.UTF_8), ZMQ.SNDMORE);
        publisher.send(sequence(batch.sequence()), ZMQ.SNDMORE);
        publisher.send(batch.bytes());
    }

    /** Says batches that reach nobody, as a publisher does whose queue for a subscriber is full. */
    void lose(int batches) {
        for (int i = 0; i < batches; i++) {
            cache.next();
        }
    }

    /** Answers what was asked since the last call. */
    void serve() {
        for (byte[] asker = router.recv(ZMQ.DONTWAIT); asker != null; asker = router.recv(ZMQ.DONTWAIT)) {
            List<byte[]> request = new ArrayList<>();
            while (router.hasReceiveMore()) {
                request.add(router.recv(ZMQ.DONTWAIT));
            }
            // Anything else is logged by engines and not answered.
            if (request.size() == 2 && request.get(0).length == 0 && request.get(1).length == 8) {
                for (Batch batch : cache.from(ByteBuffer.wrap(request.get(1)).getLong())) {
                    answer(asker, TOPIC, sequence(batch.sequence()), batch.bytes());
                }
                answer(asker, "", END, new byte[0]);
            }
        }
    }

    @Override
    public void close() {
        end(context);
    }

    private void answer(byte[] asker, String topic, byte[] sequence, byte[] payload) {
        router.send(asker, ZMQ.SNDMORE);
        router.send(new byte[0], ZMQ.SNDMORE);
        if (form != Form.OLDER) {
            router.send(topic.getBytes(StandardCharsets.UTF_8), ZMQ.SNDMORE);
        }
        router.send(sequence, ZMQ.SNDMORE);
        router.send(payload);
    }

    private byte[] sequence(long number) {
        return form == Form.IDENTIFIED
                ? ByteBuffer.allocate(24)
                        .putLong(number)
                        .putLong(7)
                        .putLong(life)
                        .array()
                : ByteBuffer.allocate(8).putLong(number).array();
    }

    private ZMQ.Socket bound(SocketType type) {
        ZMQ.Socket socket = context.createSocket(type);
        socket.setSndHWM(100_000);
        socket.setLinger(0);
        socket.bind("tcp://127.0.0.1:*");
        return socket;
    }

    /**
     * Closes a context as far as it lets itself be closed in time: JeroMQ waits without a limit for each socket to have
     * ended, and an exception on one of its own threads makes that for ever. What is left then are daemon threads.
     */
    private static void end(ZContext context) {
        Thread closing = Thread.ofPlatform().daemon().name("zmq-close").start(context::close);
        try {
            closing.join(CLOSING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int port(ZMQ.Socket socket) {
        String endpoint = socket.getLastEndpoint();
        return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    }
}
