package io.holdfast.emulator.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Somebody outside with plain sockets: a subscriber, and one who asks for past batches. */
final class Ear implements AutoCloseable {
    static final String END = "ffffffffffffffff";

    /** No other batch has these letters in its bytes. */
    private static final List<CacheEvent> MARK =
            List.of(new CacheEvent.Removed(List.of(new BlockName.Numbered(0x504d41524bL)), Tier.GPU));

    private static final int PATIENCE_MILLIS = 30_000;
    private static final int SILENCE_MILLIS = 300;

    private final ZContext context = new ZContext(1);

    /** A message as it came, with what its frames say. */
    record Message(String topic, long sequence, String payload) {
        /** When it says it was made. */
        double stamp() {
            return Double.longBitsToDouble(Long.parseUnsignedLong(payload, 4, 20, 16));
        }
    }

    /** A subscriber that hears everything from the next batch on, which has this number. */
    record Listener(ZMQ.Socket socket, long next) {
        Message hear() {
            return Ear.hear(socket);
        }

        List<Message> hear(int messages) {
            List<Message> heard = new ArrayList<>();
            for (int i = 0; i < messages; i++) {
                heard.add(hear());
            }
            return heard;
        }

        /** The numbers of the next messages, counted from {@link #next}. */
        List<Long> numbers(int messages) {
            return hear(messages).stream()
                    .map(message -> message.sequence() - next)
                    .toList();
        }

        boolean hearsNothing() {
            socket.setReceiveTimeOut(SILENCE_MILLIS);
            byte[] topic = socket.recv();
            socket.setReceiveTimeOut(PATIENCE_MILLIS);
            return topic == null;
        }
    }

    /** Clears the cache again and again until the subscriber hears it. */
    Listener joined(EventPublisher publisher) {
        ZMQ.Socket socket = subscriber(publisher.endpoint());
        socket.setReceiveTimeOut(20);
        byte[] topic = null;
        while (topic == null) {
            publisher.publish(List.of(new CacheEvent.Cleared()));
            topic = socket.recv();
        }
        socket.recv();
        socket.recv();
        socket.setReceiveTimeOut(PATIENCE_MILLIS);
        publisher.publish(MARK);
        Message message = hear(socket);
        while (!message.payload().contains("504d4152")) {
            message = hear(socket);
        }
        return new Listener(socket, message.sequence() + 1);
    }

    ZMQ.Socket subscriber(String endpoint) {
        ZMQ.Socket socket = context.createSocket(SocketType.SUB);
        socket.setHWM(100_000);
        socket.setHandshakeIvl(500);
        socket.setReceiveTimeOut(PATIENCE_MILLIS);
        socket.subscribe(ZMQ.SUBSCRIPTION_ALL);
        socket.connect(endpoint);
        return socket;
    }

    static Message hear(ZMQ.Socket subscriber) {
        byte[] topic = subscriber.recv();
        assertThat(topic).as("a message in time").isNotNull();
        long sequence = ByteBuffer.wrap(subscriber.recv()).getLong();
        byte[] payload = subscriber.recv();
        assertThat(subscriber.hasReceiveMore()).isFalse();
        return new Message(
                new String(topic, StandardCharsets.UTF_8),
                sequence,
                HexFormat.of().formatHex(payload));
    }

    /** Asks with these frames and returns the frames of each answer in hex, up to the end marker. */
    List<List<String>> ask(EventPublisher publisher, byte[]... frames) {
        ZMQ.Socket dealer = dealer(publisher);
        send(dealer, frames);
        return answers(dealer);
    }

    ZMQ.Socket dealer(EventPublisher publisher) {
        ZMQ.Socket dealer = context.createSocket(SocketType.DEALER);
        dealer.setHWM(100_000);
        dealer.setHandshakeIvl(500);
        dealer.setReceiveTimeOut(PATIENCE_MILLIS);
        dealer.connect(publisher.replayEndpoint().orElseThrow());
        return dealer;
    }

    static void send(ZMQ.Socket socket, byte[]... frames) {
        for (int i = 0; i < frames.length; i++) {
            socket.send(frames[i], i < frames.length - 1 ? ZMQ.SNDMORE : 0);
        }
    }

    static List<List<String>> answers(ZMQ.Socket dealer) {
        List<List<String>> answers = new ArrayList<>();
        do {
            answers.add(answer(dealer));
        } while (!answers.getLast().contains(END));
        return answers;
    }

    static List<String> answer(ZMQ.Socket socket) {
        List<String> frames = new ArrayList<>();
        do {
            byte[] frame = socket.recv();
            assertThat(frame).as("an answer in time").isNotNull();
            frames.add(HexFormat.of().formatHex(frame));
        } while (socket.hasReceiveMore());
        return frames;
    }

    static byte[] number(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    static String hex(String text) {
        return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
        context.close();
    }
}
