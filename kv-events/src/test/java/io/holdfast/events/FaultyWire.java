package io.holdfast.events;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A TCP proxy that speaks enough of ZMTP to do harm to whole messages on their way from a publisher: it drops, repeats,
 * spoils and delays them, swallows many in a row, and cuts connections, in the middle of a message too.
 */
final class FaultyWire implements AutoCloseable {
    private static final int GREETING = 64;
    private static final int MORE = 1;
    private static final int LONG = 2;
    private static final int COMMAND = 4;
    private static final byte NEVER_USED_BY_MSGPACK = (byte) 0xc1;

    private final ServerSocket server;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final SplittableRandom seeds;
    private volatile int target;
    private volatile boolean calm;

    FaultyWire(SplittableRandom seeds, boolean calm) {
        this.seeds = seeds;
        this.calm = calm;
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

    void leadTo(int port) {
        target = port;
    }

    /** Does no more harm from now on. */
    void calm() {
        calm = true;
    }

    void cut() {
        sockets.forEach(FaultyWire::close);
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        cut();
    }

    private void accept() {
        try {
            while (true) {
                Socket near = server.accept();
                sockets.add(near);
                SplittableRandom random = seeds.split();
                Thread.ofVirtual().start(() -> carry(near, random));
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    private void carry(Socket near, SplittableRandom random) {
        try (near;
                Socket far = new Socket(InetAddress.getLoopbackAddress(), target)) {
            sockets.add(far);
            near.setTcpNoDelay(true);
            far.setTcpNoDelay(true);
            Thread.ofVirtual().start(() -> {
                try (near;
                        far) {
                    near.getInputStream().transferTo(far.getOutputStream());
                } catch (IOException e) {
                    // Cut.
                }
            });
            new Harm(random, near.getOutputStream()).pass(far.getInputStream());
        } catch (IOException e) {
            // Cut, or nobody is there.
        } finally {
            sockets.removeIf(Socket::isClosed);
        }
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What becomes of one connection's messages. */
    private final class Harm {
        private final SplittableRandom random;
        private final OutputStream out;
        private byte[] late = new byte[0];
        private int swallow;

        Harm(SplittableRandom random, OutputStream out) {
            this.random = random;
            this.out = out;
        }

        void pass(InputStream in) throws IOException {
            byte[] greeting = new byte[GREETING];
            for (int passed = 0; passed < GREETING; ) {
                int some = in.read(greeting, 0, GREETING - passed);
                if (some < 0) {
                    return;
                }
                out.write(greeting, 0, some);
                passed += some;
            }
            DataInputStream frames = new DataInputStream(in);
            while (true) {
                ByteArrayOutputStream message = new ByteArrayOutputStream();
                int flags;
                int body;
                do {
                    flags = frames.readUnsignedByte();
                    long size = (flags & LONG) == 0 ? frames.readUnsignedByte() : frames.readLong();
                    message.write(flags);
                    message.writeBytes(
                            (flags & LONG) == 0
                                    ? new byte[] {(byte) size}
                                    : ByteBuffer.allocate(8).putLong(size).array());
                    body = message.size();
                    message.writeBytes(frames.readNBytes((int) size));
                } while ((flags & MORE) != 0);
                if ((flags & COMMAND) != 0 || calm) {
                    out.write(message.toByteArray());
                } else {
                    harm(message.toByteArray(), body);
                }
            }
        }

        private void harm(byte[] message, int payload) throws IOException {
            if (swallow > 0) {
                swallow--;
                return;
            }
            byte[] held = late;
            late = new byte[0];
            switch (random.nextInt(60)) {
                case 0, 1 -> {}
                case 2 -> swallow = random.nextInt(1, 20);
                case 3, 4 -> {
                    out.write(message);
                    out.write(message);
                }
                case 5 -> {
                    out.write(message);
                    late = message;
                }
                case 6 -> {
                    if (payload < message.length) {
                        message[payload] = NEVER_USED_BY_MSGPACK;
                    }
                    out.write(message);
                }
                case 7 -> {
                    out.write(message, 0, random.nextInt(message.length));
                    throw new IOException("cut");
                }
                case 8, 9 -> {
                    LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(random.nextInt(3000)));
                    out.write(message);
                }
                default -> out.write(message);
            }
            out.write(held);
        }
    }
}
