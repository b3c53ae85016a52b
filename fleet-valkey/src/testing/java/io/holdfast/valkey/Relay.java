package io.holdfast.valkey;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A wire to a server of this machine that can be cut: nothing arrives any more, and nobody is told. */
public final class Relay implements AutoCloseable {
    private final ServerSocket door;
    private final int to;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicInteger connections = new AtomicInteger();
    private volatile boolean cut;

    /** @param door open socket, which may speak TLS */
    public Relay(ServerSocket door, int to) {
        this.door = door;
        this.to = to;
        Thread.ofVirtual().start(this::accept);
    }

    public static Relay to(int port) {
        try {
            return new Relay(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), port);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public int port() {
        return door.getLocalPort();
    }

    public int connections() {
        return connections.get();
    }

    /** Swallows all from now on; connections that are or come meanwhile stay, and are never heard of again. */
    public void cut() {
        cut = true;
    }

    /** Lets connections through that come from now on. */
    public void mend() {
        cut = false;
    }

    @Override
    public void close() {
        try {
            door.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void accept() {
        try {
            while (true) {
                Socket near = door.accept();
                connections.incrementAndGet();
                Socket far = new Socket(InetAddress.getLoopbackAddress(), to);
                sockets.addAll(List.of(near, far));
                boolean[] dead = {cut};
                Thread.ofVirtual().start(() -> copy(near, far, dead));
                Thread.ofVirtual().start(() -> copy(far, near, dead));
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    private void copy(Socket from, Socket into, boolean[] dead) {
        try (from;
                into) {
            InputStream in = from.getInputStream();
            OutputStream out = into.getOutputStream();
            byte[] bytes = new byte[1 << 14];
            for (int length = in.read(bytes); length >= 0; length = in.read(bytes)) {
                dead[0] |= cut;
                if (!dead[0]) {
                    out.write(bytes, 0, length);
                    out.flush();
                }
            }
        } catch (IOException e) {
            // The other end has gone.
        }
    }
}
