package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** The bytes of the wire by hand at the other end; whole streams of real publishers are in KvEventLoopTest. */
@Timeout(60)
final class PeerSocketTest {
    private static final int RUNS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 3000 : 60;
    private static final int COMMAND = 4;
    private static final int LONG = 2;
    private static final int MORE = 1;

    private final Selector selector = open();
    private final List<String> refusals = new ArrayList<>();
    private final List<Boolean> connections = new ArrayList<>();
    /** Clocks may be far below zero. */
    private long skipped = Long.MIN_VALUE / 2 - System.nanoTime();

    @AfterEach
    void close() throws IOException {
        selector.close();
    }

    @Test
    void streamInAnyPieces_givesItsMessages_andPingsAreAnswered() {
        for (int seed = 0; seed < RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            List<List<byte[]>> sent = new ArrayList<>();
            ByteArrayOutputStream stream = new ByteArrayOutputStream();
            for (int i = random.nextInt(1, 30); i > 0; i--) {
                List<byte[]> message = message(random);
                sent.add(message);
                if (random.nextInt(4) == 0) {
                    stream.writeBytes(command("PING", new byte[] {0, 9, 'h', 'i'}));
                }
                stream.writeBytes(frames(message));
            }
            List<List<byte[]>> heard = new ArrayList<>();
            try (Peer peer = new Peer(List.of(pieces -> pieces.split(stream.toByteArray(), random.split())));
                    PeerSocket socket = subscriber(peer.endpoint())) {
                until(socket, () -> {
                    while (socket.receive() >= 0) {
                        assertThat(socket.frameCount())
                                .isEqualTo(socket.frames().size());
                        heard.add(List.copyOf(socket.frames()));
                    }
                    return heard.size() == sent.size();
                });
                assertThat(heard)
                        .as("seed %d", seed)
                        .usingElementComparator(PeerSocketTest::compare)
                        .isEqualTo(sent);
                int pings = count(stream.toByteArray(), "PING");
                until(socket, () -> count(peer.heard(), "PONG") == pings);
                assertThat(count(peer.heard(), "PONGhi")).isEqualTo(pings);
            }
        }
        assertThat(refusals).isEmpty();
    }

    @Test
    void brokenStream_endsItsConnection_andTheNextOneIsHeard() {
        for (int seed = 0; seed < RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            ByteArrayOutputStream stream = new ByteArrayOutputStream();
            stream.writeBytes(greeting("NULL", 3));
            stream.writeBytes(ready("PUB"));
            for (int i = random.nextInt(5); i > 0; i--) {
                stream.writeBytes(frames(message(random)));
            }
            byte[] broken = Arrays.copyOf(stream.toByteArray(), random.nextInt(1, stream.size() + 1));
            for (int i = random.nextInt(1, 4); i > 0; i--) {
                broken[random.nextInt(Math.min(broken.length, 200))] = (byte) random.nextInt(256);
            }
            byte[] marker = ByteBuffer.allocate(8).putLong(random.nextLong()).array();
            try (Peer peer = new Peer(List.of(
                            pieces -> pieces.raw(broken),
                            pieces -> pieces.split(frames(List.of(marker)), random.split())));
                    PeerSocket socket = subscriber(peer.endpoint())) {
                until(socket, () -> {
                    while (socket.receive() >= 0) {
                        if (Arrays.equals(socket.frames().getFirst(), marker)) {
                            return true;
                        }
                    }
                    return false;
                });
            }
        }
    }

    @Test
    void messageThatBreaksOff_isNoPartOfTheNextConnectionsFirst() {
        byte[] begun = Arrays.copyOf(frames(List.of(new byte[] {'c', 'u', 't'}, new byte[1])), 2 + 3);
        byte[] whole = {'w', 'h', 'o', 'l', 'e'};
        try (Peer peer = new Peer(List.of(
                        pieces -> pieces.raw(concat(concat(greeting("NULL", 3), ready("PUB")), begun)),
                        pieces -> pieces.split(frames(List.of(whole)), new SplittableRandom(1))));
                PeerSocket socket = subscriber(peer.endpoint())) {
            until(socket, () -> socket.receive() >= 0);
            assertThat(connections).containsExactly(true, false, true);
            assertThat(socket.frames()).containsExactly(whole);
        }
    }

    @Test
    void whatSpeaksSomethingElse_isNamed() {
        assertThat(refusal(
                        pieces -> pieces.raw("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII))))
                .endsWith(" does not speak ZeroMQ: check the address.");
        assertThat(refusal(pieces -> pieces.raw(greeting("NULL", 1)))).contains("older than version 4");
        assertThat(refusal(pieces -> pieces.raw(greeting("CURVE", 3)))).contains("the security mechanism CURVE");
        assertThat(refusal(pieces -> pieces.raw(concat(greeting("NULL", 3), command("ERROR", new byte[] {0})))))
                .contains("refused the connection");
        byte[] endless = concat(
                concat(greeting("NULL", 3), ready("PUB")),
                ByteBuffer.allocate(9).put((byte) LONG).putLong(1L << 40).array());
        assertThat(refusal(pieces -> pieces.raw(endless))).contains("a message of more than 64 MiB");
        byte[] reserved = concat(concat(greeting("NULL", 3), ready("PUB")), new byte[] {64, 0});
        assertThat(refusal(pieces -> pieces.raw(reserved))).contains("a frame with the flags 64");
    }

    @Test
    void replayEndpointInPlaceOfThePublisher_isNamed() {
        try (ZContext context = new ZContext()) {
            ZMQ.Socket router = context.createSocket(SocketType.ROUTER);
            router.bind("tcp://127.0.0.1:*");
            try (PeerSocket socket = subscriber(router.getLastEndpoint())) {
                until(socket, () -> {
                    assertThat(socket.receive()).isNegative();
                    return !refusals.isEmpty();
                });
            }
            assertThat(refusals.getFirst())
                    .isEqualTo("What answers at " + router.getLastEndpoint()
                            + " is a ROUTER socket, not one that publishes events: check the address.");
        }
    }

    /** One peer must not hold up the others, whatever it sends. */
    @Test
    void framesWithoutAnEnd_areTakenInParts() {
        ByteArrayOutputStream endless = new ByteArrayOutputStream();
        endless.writeBytes(greeting("NULL", 3));
        endless.writeBytes(ready("PUB"));
        for (int i = 0; i < 10_000; i++) {
            endless.writeBytes(i % 2 == 0 ? new byte[] {MORE, 0} : command("PING", new byte[] {0, 9, 'h', 'i'}));
        }
        try (Peer peer = new Peer(List.of(pieces -> pieces.raw(endless.toByteArray())));
                PeerSocket socket = subscriber(peer.endpoint())) {
            until(socket, () -> {
                assertThat(socket.receive()).isNegative();
                return socket.more();
            });
            assertThat(socket.connected()).isTrue();
        }
    }

    @Test
    void contextOfAPing_isShort() {
        byte[] ping = concat(concat(greeting("NULL", 3), ready("PUB")), command("PING", new byte[2 + 17]));
        assertThat(refusal(pieces -> pieces.raw(ping))).contains("a PING with a context of more than 16 bytes");
    }

    @Test
    void peerThatNeverAnswers_isGivenUp_andTriedAgain() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                PeerSocket socket = subscriber("tcp://127.0.0.1:" + silent.getLocalPort())) {
            for (int i = 0; i < 3; i++) {
                try (Socket accepted = acceptedBy(silent, socket)) {
                    accepted.getOutputStream().write(0xff);
                    skipped += TimeUnit.SECONDS.toNanos(6);
                    socket.round(now());
                    assertThat(accepted.getInputStream().readAllBytes()).hasSize(64);
                }
            }
            assertThat(connections).isEmpty();
        }
    }

    @Test
    void hostThatIsNone_isRefused() {
        try (PeerSocket socket = subscriber("tcp://no-such-host.invalid:5557")) {
            until(socket, () -> !refusals.isEmpty());
            assertThat(refusals.getFirst())
                    .isEqualTo("The host of tcp://no-such-host.invalid:5557 has no address: mend its name in the"
                            + " events' address, or the name server; it is looked up again and again.");
        }
    }

    private Socket acceptedBy(ServerSocket server, PeerSocket socket) throws IOException {
        server.setSoTimeout(5);
        while (true) {
            try {
                return server.accept();
            } catch (java.net.SocketTimeoutException e) {
                step(socket);
            }
        }
    }

    /** Sentence about the peer that says this first. */
    private String refusal(Speech speech) {
        refusals.clear();
        try (Peer peer = new Peer(List.of(speech));
                PeerSocket socket = subscriber(peer.endpoint())) {
            until(socket, () -> {
                assertThat(socket.receive()).isNegative();
                return !refusals.isEmpty();
            });
            assertThat(refusals.getFirst()).startsWith("What answers at " + peer.endpoint() + " ");
        }
        return refusals.getFirst();
    }

    private PeerSocket subscriber(String endpoint) {
        PeerSocket.Listener listener = new PeerSocket.Listener() {
            @Override
            public void connected(boolean there) {
                connections.add(there);
            }

            @Override
            public void refused(String sentence) {
                refusals.add(sentence);
            }
        };
        return new PeerSocket(
                selector, selector::wakeup, PeerSocket.Type.SUB, endpoint, List.of(new byte[] {1}), listener);
    }

    private void until(PeerSocket socket, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("still waiting").isLessThan(deadline);
            step(socket);
        }
    }

    private void step(PeerSocket socket) {
        socket.round(now());
        try {
            selector.select(5);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        selector.selectedKeys().forEach(key -> ((PeerSocket) key.attachment()).readable());
        selector.selectedKeys().clear();
        socket.round(now());
    }

    private long now() {
        return System.nanoTime() + skipped;
    }

    private static Selector open() {
        try {
            return Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<byte[]> message(SplittableRandom random) {
        List<byte[]> message = new ArrayList<>();
        for (int i = random.nextInt(1, 5); i > 0; i--) {
            byte[] frame = new byte
                    [switch (random.nextInt(10)) {
                        case 0 -> 0;
                        case 1 -> random.nextInt(254, 258);
                        case 2 -> random.nextInt(200_000);
                        default -> random.nextInt(1, 200);
                    }];
            random.nextBytes(frame);
            message.add(frame);
        }
        return message;
    }

    private static int compare(List<byte[]> one, List<byte[]> two) {
        boolean same = one.size() == two.size();
        for (int i = 0; same && i < one.size(); i++) {
            same = Arrays.equals(one.get(i), two.get(i));
        }
        return same ? 0 : 1;
    }

    private static int count(byte[] bytes, String word) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        int times = 0;
        for (int at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
            times++;
        }
        return times;
    }

    private static byte[] greeting(String mechanism, int version) {
        byte[] greeting = new byte[64];
        greeting[0] = (byte) 0xff;
        greeting[9] = 0x7f;
        greeting[10] = (byte) version;
        System.arraycopy(mechanism.getBytes(StandardCharsets.US_ASCII), 0, greeting, 12, mechanism.length());
        return greeting;
    }

    private static byte[] ready(String type) {
        return command(
                "READY",
                ByteBuffer.allocate(16 + type.length())
                        .put((byte) 11)
                        .put("Socket-Type".getBytes(StandardCharsets.US_ASCII))
                        .putInt(type.length())
                        .put(type.getBytes(StandardCharsets.US_ASCII))
                        .array());
    }

    private static byte[] command(String name, byte[] rest) {
        byte[] body = concat(concat(new byte[] {(byte) name.length()}, name.getBytes(StandardCharsets.US_ASCII)), rest);
        return concat(new byte[] {COMMAND, (byte) body.length}, body);
    }

    private static byte[] frames(List<byte[]> message) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < message.size(); i++) {
            byte[] frame = message.get(i);
            int more = i + 1 < message.size() ? MORE : 0;
            bytes.writeBytes(
                    frame.length < 256
                            ? new byte[] {(byte) more, (byte) frame.length}
                            : ByteBuffer.allocate(9)
                                    .put((byte) (more | LONG))
                                    .putLong(frame.length)
                                    .array());
            bytes.writeBytes(frame);
        }
        return bytes.toByteArray();
    }

    private static byte[] concat(byte[] one, byte[] two) {
        byte[] both = Arrays.copyOf(one, one.length + two.length);
        System.arraycopy(two, 0, both, one.length, two.length);
        return both;
    }

    /** Bytes that a peer sends on one connection. */
    private interface Speech {
        void say(Pieces pieces) throws IOException;
    }

    /** The other end of one connection. */
    private record Pieces(OutputStream out) {
        /** These bytes and then the end. */
        void raw(byte[] bytes) throws IOException {
            out.write(bytes);
        }

        /** A handshake and these bytes, as many at a time as chance wants. */
        void split(byte[] stream, SplittableRandom random) throws IOException {
            byte[] all = concat(concat(greeting("NULL", 3), ready("XPUB")), stream);
            for (int at = 0; at < all.length; ) {
                int some = Math.min(all.length - at, 1 + random.nextInt(1 << random.nextInt(18)));
                out.write(all, at, some);
                at += some;
            }
        }
    }

    /** A server whose connections say one speech each, the last one those after it too, until they are closed. */
    private static final class Peer implements AutoCloseable {
        private final ServerSocket server;
        private final List<Speech> speeches;
        private final ConcurrentLinkedQueue<byte[]> heard = new ConcurrentLinkedQueue<>();

        Peer(List<Speech> speeches) {
            this.speeches = speeches;
            try {
                server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            Thread.ofVirtual().start(this::accept);
        }

        String endpoint() {
            return "tcp://127.0.0.1:" + server.getLocalPort();
        }

        byte[] heard() {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            heard.forEach(all::writeBytes);
            return all.toByteArray();
        }

        private void accept() {
            try {
                for (int i = 0; true; i++) {
                    Socket near = server.accept();
                    near.setTcpNoDelay(true);
                    boolean last = i >= speeches.size() - 1;
                    Speech speech = speeches.get(Math.min(i, speeches.size() - 1));
                    Thread.ofVirtual().start(() -> talk(near, speech, last));
                }
            } catch (IOException e) {
                // Closed.
            }
        }

        private void talk(Socket near, Speech speech, boolean listens) {
            try (near) {
                speech.say(new Pieces(near.getOutputStream()));
                DataInputStream in = new DataInputStream(near.getInputStream());
                byte[] some = new byte[4096];
                for (int read = listens ? in.read(some) : -1; read >= 0; read = in.read(some)) {
                    heard.add(Arrays.copyOf(some, read));
                }
            } catch (IOException e) {
                // The other end had enough.
            }
        }

        @Override
        public void close() {
            try {
                server.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
