package io.holdfast.events;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.regex.Pattern;
import jdk.net.ExtendedSocketOptions;

/*
 * The client's end of ZeroMQ's wire protocol (ZMTP 3.0, mechanism NULL) over a channel of the JDK.
 *
 * Why our own. A ZeroMQ library reads a socket on a thread of its own and is woken for every batch that arrives, before
 * anybody wants it: beside an engine that publishes a thousand batches a second that was as much processor time as
 * everything that is learned from them. Here the kernel's receive buffer is the queue. Nobody is woken until the owner
 * comes round, and then one read brings what has arrived, often dozens of batches. Where the buffer is full TCP holds
 * the publisher back, and its own queue, which drops, is as long as it was.
 *
 * What a subscriber needs of the protocol is small: a greeting of 64 bytes, a READY command on either side, then
 * messages of frames. A subscription is a message that begins with 1, the form that publishers of every 3.x accept. A
 * PING is answered; other commands are skipped. What is not the protocol ends the connection with a sentence and is
 * tried again, since a wrong process may leave the port to the right one.
 *
 * Everything happens on the owner's thread, by its clock, in calls that never block. Only the name of a host is looked
 * up elsewhere, at each attempt anew, since a name may come to mean another machine.
 */

/** One connection at a time to a publisher, or to the socket that repeats its past batches. */
final class PeerSocket implements AutoCloseable {
    /** The socket types of the two ends. */
    enum Type {
        SUB,
        DEALER;

        boolean talksTo(String peer) {
            return switch (this) {
                case SUB -> peer.equals("PUB") || peer.equals("XPUB");
                case DEALER -> peer.equals("ROUTER") || peer.equals("DEALER") || peer.equals("REP");
            };
        }
    }

    /** Told of what becomes of the connection, on the owner's thread. */
    interface Listener {
        void connected(boolean now);

        /** The other end is not what it should be, in one sentence. */
        void refused(String sentence);
    }

    private enum Stage {
        RESTING,
        RESOLVING,
        CONNECTING,
        GREETING,
        READYING,
        OPEN
    }

    /** A message that is larger ends the connection instead of being buffered. */
    static final int LARGEST_MESSAGE = 64 << 20;

    private static final Pattern NUMBERS = Pattern.compile("[0-9.]+");
    private static final int MOST_FRAMES = 4;
    private static final int LARGEST_COMMAND = 1 << 16;
    private static final int LARGEST_CONTEXT = 16;
    private static final int MOST_UNSENT = 4096;
    /** Frames that one call parses at most: commands and parts of a message without an end hold nobody up. */
    private static final int MOST_PARSED = 4096;

    private static final int SMALL_BUFFER = 32 << 10;
    private static final int LARGE_BUFFER = 1 << 20;
    private static final int MOST_READ = 128 << 10;
    private static final int RECEIVE_BUFFER = 1 << 20;
    /** The kernel counts what it keeps beside the bytes, which is the more the smaller the segments are. */
    private static final long OF_THE_BUFFER = 4;

    private static final int GREETING_BYTES = 64;
    private static final int MORE = 1;
    private static final int LONG = 2;
    private static final int COMMAND = 4;

    private static final long FIRST_REST_NANOS = 50_000_000;
    private static final long LONGEST_REST_NANOS = 200_000_000;
    /** Rest after a look-up that found no host: a name server is asked no more often for each engine. */
    private static final long NAMELESS_REST_NANOS = 1_000_000_000;

    /** Limit from the look-up of the host to the end of the handshake. */
    private static final long CONNECT_NANOS = 5_000_000_000L;

    private final Selector selector;
    private final Runnable wakeup;
    private final Type type;
    private final String endpoint;
    private final String host;
    private final int port;
    private final byte[] first;
    private final Listener listener;

    private Stage stage = Stage.RESTING;
    private long now;
    /** A clock may stand anywhere when it begins, so the first attempt has no time of its own. */
    private boolean rests;

    private long restUntil;
    private long restNanos = FIRST_REST_NANOS;
    private long giveUpAt;
    private CompletableFuture<InetAddress[]> resolving = new CompletableFuture<>();
    /** Attempts so far: each takes the next of the host's addresses. */
    private int attempts;

    private Optional<SocketChannel> channel = Optional.empty();
    private ByteBuffer out = ByteBuffer.allocate(0);
    private long connections;

    private byte[] buffer = new byte[SMALL_BUFFER];
    private int from;
    private int to;
    /** True while the channel may have more than was read. */
    private boolean readable;

    private long readBytes;

    private long roomBytes = RECEIVE_BUFFER;
    private int parsed;

    private final List<byte[]> frames = new ArrayList<>();
    private int frameCount;
    private long messageBytes;
    private boolean complete;

    /**
     * Begins to connect at the first {@link #round}, and again for as long as it is not closed.
     *
     * @param wakeup called by any thread when a round is due early
     * @param first frames of the message that is sent as soon as a connection is made
     */
    PeerSocket(Selector selector, Runnable wakeup, Type type, String endpoint, List<byte[]> first, Listener listener) {
        this.selector = selector;
        this.wakeup = wakeup;
        this.type = type;
        this.endpoint = endpoint;
        int colon = endpoint.lastIndexOf(':');
        this.host = endpoint.substring(endpoint.indexOf("//") + 2, colon);
        this.port = Integer.parseInt(endpoint.substring(colon + 1));
        this.first = message(first);
        this.listener = listener;
    }

    /** Number of connections that were made. */
    long connections() {
        return connections;
    }

    /** Returns the bytes that were read since the last call, as a share of what may gather without holding the publisher back. */
    double takeFill() {
        double fill = (double) readBytes / roomBytes;
        readBytes = 0;
        return fill;
    }

    /** Returns true while a publisher is at the other end that has answered the handshake. */
    boolean connected() {
        return stage == Stage.OPEN;
    }

    /** Time after which a round is due even if nothing arrives. */
    long idleNanos() {
        return switch (stage) {
            case RESTING -> rests ? Math.max(0, restUntil - now) : 0;
            case RESOLVING, CONNECTING, GREETING, READYING -> Math.max(0, giveUpAt - now);
            case OPEN -> Long.MAX_VALUE;
        };
    }

    /** Says that the selector found something to do here. */
    void readable() {
        readable = true;
    }

    /** Does what is due: connects, gives up, sends what is left. */
    void round(long nanos) {
        now = nanos;
        try {
            if (stage == Stage.RESTING && (!rests || now - restUntil >= 0)) {
                giveUpAt = now + CONNECT_NANOS;
                resolve();
            }
            if (stage == Stage.RESOLVING && resolving.isDone()) {
                InetAddress[] addresses = resolving.join();
                connect(new InetSocketAddress(addresses[attempts % addresses.length], port));
            }
            if (stage == Stage.CONNECTING && channel().finishConnect()) {
                channel().setOption(StandardSocketOptions.TCP_NODELAY, true);
                keepAlive(channel());
                channel().register(selector, SelectionKey.OP_READ, this);
                stage = Stage.GREETING;
                readable = true;
                send(greeting());
            } else if (out.hasRemaining()) {
                send(new byte[0]);
            }
            if (stage != Stage.RESTING && stage != Stage.OPEN && now - giveUpAt >= 0) {
                lose();
            }
        } catch (CompletionException e) {
            listener.refused("The host of " + endpoint + " has no address: mend its name in the events' address, or the"
                    + " name server; it is looked up again and again.");
            restNanos = NAMELESS_REST_NANOS;
            lose();
        } catch (IOException | UnresolvedAddressException | UnsupportedAddressTypeException e) {
            lose();
        }
    }

    /** Returns true if the last call of {@link #receive} left something that was read. */
    boolean more() {
        return parsed >= MOST_PARSED;
    }

    /**
     * Takes the next message as far as it has arrived whole.
     *
     * @return its size, negative when there is none
     */
    long receive() {
        parsed = 0;
        if (stage.compareTo(Stage.GREETING) < 0) {
            return -1;
        }
        if (complete) {
            forgetMessage();
        }
        try {
            while (!parse()) {
                if (parsed >= MOST_PARSED || !fill()) {
                    return -1;
                }
            }
            return messageBytes;
        } catch (NotSpoken e) {
            listener.refused(e.sentence);
            restNanos = LONGEST_REST_NANOS;
            lose();
            return -1;
        } catch (IOException e) {
            lose();
            return -1;
        } catch (OutOfMemoryError e) {
            // What this end claims must not end all others.
            buffer = new byte[SMALL_BUFFER];
            listener.refused("The messages from " + endpoint + " do not fit into what memory is left.");
            restNanos = LONGEST_REST_NANOS;
            lose();
            return -1;
        }
    }

    /** Frames of the message that was taken last; of one with many, the first of them. */
    List<byte[]> frames() {
        return frames;
    }

    int frameCount() {
        return frameCount;
    }

    @Override
    public void close() {
        closeChannel();
        stage = Stage.RESTING;
    }

    private void resolve() {
        stage = Stage.RESOLVING;
        CompletableFuture<InetAddress[]> asked = new CompletableFuture<>();
        resolving = asked;
        if (host.startsWith("[") || NUMBERS.matcher(host).matches()) {
            // An address needs no asking.
            lookUp(asked);
        } else {
            Thread.ofVirtual().name("holdfast-resolve").start(() -> {
                lookUp(asked);
                wakeup.run();
            });
        }
    }

    private void lookUp(CompletableFuture<InetAddress[]> asked) {
        try {
            asked.complete(InetAddress.getAllByName(host));
        } catch (UnknownHostException | RuntimeException e) {
            asked.completeExceptionally(e);
        }
    }

    private void connect(InetSocketAddress address) throws IOException {
        SocketChannel fresh = SocketChannel.open();
        channel = Optional.of(fresh);
        fresh.configureBlocking(false);
        // What gathers between two rounds must fit, or the publisher is held back. The kernel gives what it allows.
        fresh.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER);
        roomBytes = fresh.getOption(StandardSocketOptions.SO_RCVBUF) / OF_THE_BUFFER;
        stage = Stage.CONNECTING;
        fresh.register(selector, SelectionKey.OP_CONNECT, this);
        fresh.connect(address);
    }

    /** A machine that vanished says no goodbye: the kernel asks whether it is there after 10 s, three times in 15 s. */
    private static void keepAlive(SocketChannel open) throws IOException {
        open.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        if (open.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
            open.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 10);
            open.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, 5);
            open.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 3);
        }
    }

    private SocketChannel channel() {
        return channel.orElseThrow();
    }

    /** Ends the connection, or the attempt to make one, and tries again after a rest. */
    private void lose() {
        boolean were = stage == Stage.OPEN;
        // The address that answered last is tried first.
        attempts = (attempts + 1) & Integer.MAX_VALUE;
        closeChannel();
        stage = Stage.RESTING;
        rests = true;
        restUntil = now + restNanos;
        restNanos = Math.min(2 * restNanos, LONGEST_REST_NANOS);
        if (were) {
            listener.connected(false);
        }
    }

    private void closeChannel() {
        resolving = new CompletableFuture<>();
        channel.ifPresent(open -> {
            try {
                open.close();
            } catch (IOException e) {
                // Gone either way.
            }
        });
        channel = Optional.empty();
        out = ByteBuffer.allocate(0);
        from = 0;
        to = 0;
        if (buffer.length > LARGE_BUFFER) {
            buffer = new byte[SMALL_BUFFER];
        }
        readable = false;
        forgetMessage();
    }

    private void forgetMessage() {
        frames.clear();
        frameCount = 0;
        messageBytes = 0;
        complete = false;
    }

    /** Reads some of what has arrived; false when nothing has. */
    private boolean fill() throws IOException {
        if (!readable) {
            return false;
        }
        if (from == to) {
            from = 0;
            to = 0;
            if (buffer.length > LARGE_BUFFER) {
                buffer = new byte[SMALL_BUFFER];
            }
        } else if (to == buffer.length) {
            // A frame that does not fit: room grows with what has come of it, not with what it claims to be.
            byte[] room = 2 * (to - from) > buffer.length
                    ? new byte[Math.min(2 * buffer.length, LARGEST_MESSAGE + GREETING_BYTES)]
                    : buffer;
            System.arraycopy(buffer, from, room, 0, to - from);
            buffer = room;
            to -= from;
            from = 0;
        }
        int room = Math.min(buffer.length - to, MOST_READ);
        int read = channel().read(ByteBuffer.wrap(buffer, to, room));
        if (read < 0) {
            throw new EOFException();
        }
        readable = read == room;
        to += read;
        readBytes += read;
        return read > 0;
    }

    /** Goes on in what was read until a message is whole; false where more is needed. */
    private boolean parse() throws IOException, NotSpoken {
        if (stage == Stage.GREETING && !greeted()) {
            return false;
        }
        while (to - from >= 2 && parsed < MOST_PARSED) {
            int flags = buffer[from] & 0xff;
            boolean isLong = (flags & LONG) != 0;
            int header = isLong ? 9 : 2;
            if (to - from < header) {
                return false;
            }
            long size = isLong ? BigEndian.longAt(buffer, from + 1) : buffer[from + 1] & 0xff;
            boolean command = (flags & COMMAND) != 0;
            if ((flags & ~(MORE | LONG | COMMAND)) != 0 || (command && (flags & MORE) != 0)) {
                throw new NotSpoken(endpoint, "sent a frame with the flags " + flags);
            }
            if (size < 0 || size > (command ? LARGEST_COMMAND : LARGEST_MESSAGE - messageBytes)) {
                throw new NotSpoken(endpoint, "sent a message of more than " + (LARGEST_MESSAGE >> 20) + " MiB");
            }
            if (to - from < header + size) {
                return false;
            }
            parsed++;
            int begin = from + header;
            from = begin + (int) size;
            if (command) {
                command(begin, from);
            } else if (stage != Stage.OPEN) {
                throw new NotSpoken(endpoint, "sent a message before its handshake");
            } else {
                if (frameCount < MOST_FRAMES) {
                    frames.add(Arrays.copyOfRange(buffer, begin, from));
                }
                frameCount++;
                messageBytes += size;
                if ((flags & MORE) == 0) {
                    complete = true;
                    return true;
                }
            }
        }
        return false;
    }

    private boolean greeted() throws IOException, NotSpoken {
        if (to > from && buffer[from] != (byte) 0xff) {
            throw new NotSpoken(endpoint, "does not speak ZeroMQ");
        }
        if (to - from >= 11 && ((buffer[from + 9] & 1) == 0 || buffer[from + 10] < 3)) {
            throw new NotSpoken(endpoint, "speaks a ZeroMQ older than version 4, which is not understood");
        }
        if (to - from < GREETING_BYTES) {
            return false;
        }
        String mechanism = new String(buffer, from + 12, 20, StandardCharsets.US_ASCII).trim();
        if (!mechanism.equals("NULL")) {
            throw new NotSpoken(endpoint, "wants the security mechanism " + mechanism + ", and engines have none");
        }
        from += GREETING_BYTES;
        stage = Stage.READYING;
        byte[] own = property("Socket-Type", type.name());
        send(frame(COMMAND, named("READY", type == Type.SUB ? own : concat(own, property("Identity", "")))));
        return true;
    }

    private void command(int begin, int end) throws IOException, NotSpoken {
        int nameEnd = begin < end ? begin + 1 + (buffer[begin] & 0xff) : end;
        String name = nameEnd <= end && begin < end
                ? new String(buffer, begin + 1, nameEnd - begin - 1, StandardCharsets.US_ASCII)
                : "";
        if (stage == Stage.READYING && name.equals("READY")) {
            Optional<String> peer = socketType(nameEnd, end);
            if (peer.isPresent() && !type.talksTo(peer.get())) {
                throw new NotSpoken(
                        endpoint,
                        "is a " + peer.get() + " socket, not "
                                + (type == Type.SUB ? "one that publishes events" : "one that repeats past events"));
            }
            stage = Stage.OPEN;
            attempts--;
            restNanos = FIRST_REST_NANOS;
            connections++;
            send(first);
            listener.connected(true);
        } else if (stage == Stage.READYING && name.equals("ERROR")) {
            throw new NotSpoken(endpoint, "refused the connection");
        } else if (name.equals("PING") && end - nameEnd >= 2 && out.remaining() < MOST_UNSENT) {
            // Behind the time to live comes what a PONG repeats. A peer that reads none gets no more of them.
            if (end - nameEnd - 2 > LARGEST_CONTEXT) {
                throw new NotSpoken(endpoint, "sent a PING with a context of more than " + LARGEST_CONTEXT + " bytes");
            }
            send(frame(COMMAND, named("PONG", Arrays.copyOfRange(buffer, nameEnd + 2, end))));
        }
    }

    /** Socket type among the properties of a READY. */
    private Optional<String> socketType(int begin, int end) {
        int at = begin;
        while (at < end) {
            int nameEnd = at + 1 + (buffer[at] & 0xff);
            if (nameEnd + 4 > end) {
                return Optional.empty();
            }
            int size = Math.clamp(BigEndian.intAt(buffer, nameEnd) & 0xffffffffL, 0, LARGEST_COMMAND);
            int valueEnd = nameEnd + 4 + size;
            if (valueEnd > end) {
                return Optional.empty();
            }
            if (new String(buffer, at + 1, nameEnd - at - 1, StandardCharsets.US_ASCII)
                    .equalsIgnoreCase("Socket-Type")) {
                return Optional.of(new String(buffer, nameEnd + 4, size, StandardCharsets.US_ASCII));
            }
            at = valueEnd;
        }
        return Optional.empty();
    }

    /** Writes as much as the channel takes; the rest goes out with the next rounds. */
    private void send(byte[] bytes) throws IOException {
        byte[] rest = new byte[out.remaining()];
        out.get(rest);
        out = ByteBuffer.wrap(concat(rest, bytes));
        try {
            channel().write(out);
        } catch (IOException e) {
            // What came before the other end went away is still to be read, and reading then says so.
            out.position(out.limit());
        }
        channel()
                .keyFor(selector)
                .interestOps(out.hasRemaining() ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
    }

    private static byte[] greeting() {
        byte[] greeting = new byte[GREETING_BYTES];
        greeting[0] = (byte) 0xff;
        greeting[9] = 0x7f;
        greeting[10] = 3;
        System.arraycopy("NULL".getBytes(StandardCharsets.US_ASCII), 0, greeting, 12, 4);
        return greeting;
    }

    private static byte[] message(List<byte[]> frames) {
        byte[] all = new byte[0];
        for (int i = 0; i < frames.size(); i++) {
            all = concat(all, frame(i + 1 < frames.size() ? MORE : 0, frames.get(i)));
        }
        return all;
    }

    private static byte[] frame(int flags, byte[] body) {
        ByteBuffer framed = body.length < 256
                ? ByteBuffer.allocate(2 + body.length).put((byte) flags).put((byte) body.length)
                : ByteBuffer.allocate(9 + body.length)
                        .put((byte) (flags | LONG))
                        .putLong(body.length);
        return framed.put(body).array();
    }

    private static byte[] named(String name, byte[] rest) {
        return ByteBuffer.allocate(1 + name.length() + rest.length)
                .put((byte) name.length())
                .put(name.getBytes(StandardCharsets.US_ASCII))
                .put(rest)
                .array();
    }

    private static byte[] property(String name, String value) {
        byte[] bytes = value.getBytes(StandardCharsets.US_ASCII);
        return named(
                name,
                ByteBuffer.allocate(Integer.BYTES + bytes.length)
                        .putInt(bytes.length)
                        .put(bytes)
                        .array());
    }

    private static byte[] concat(byte[] one, byte[] two) {
        byte[] both = Arrays.copyOf(one, one.length + two.length);
        System.arraycopy(two, 0, both, one.length, two.length);
        return both;
    }

    /** The other end speaks something else; the sentence is for users. */
    private static final class NotSpoken extends Exception {
        private static final long serialVersionUID = 1;

        private final String sentence;

        NotSpoken(String endpoint, String what) {
            super(what, null, false, false);
            sentence = "What answers at " + endpoint + " " + what + ": check the address.";
        }
    }
}
