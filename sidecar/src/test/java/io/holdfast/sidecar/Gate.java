package io.holdfast.sidecar;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A port that leads to a server while it is open, and where nothing listens while it is shut. */
public final class Gate implements AutoCloseable {
    /** Below those that systems give to outgoing connections, one of which could take the port while the gate is shut. */
    private static final int FIRST_PORT = 20_000;

    private static final int PORTS = 10_000;
    private static final int TRIES = 100;

    private final URI server;
    private final int port;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private ServerSocket listening;
    private Future<?> accepting = CompletableFuture.completedFuture("");

    public Gate(URI server) throws IOException {
        this.server = server;
        listening = listenSomewhere();
        port = listening.getLocalPort();
    }

    public URI uri() {
        return URI.create("http://127.0.0.1:" + port);
    }

    public void shut() throws IOException {
        Future<?> last;
        synchronized (this) {
            listening.close();
            for (Socket socket : sockets) {
                socket.close();
            }
            sockets.clear();
            last = accepting;
        }
        // A virtual thread that accepts keeps the port until it has noticed, and the next to listen there is refused.
        try {
            last.get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IOException("The gate did not shut.", e);
        }
    }

    synchronized void open() throws IOException {
        listening = listen(port);
    }

    private ServerSocket listenSomewhere() throws IOException {
        IOException taken = new IOException();
        for (int candidate : new SplittableRandom()
                .ints(TRIES, FIRST_PORT, FIRST_PORT + PORTS)
                .toArray()) {
            try {
                return listen(candidate);
            } catch (BindException e) {
                taken = e;
            }
        }
        throw taken;
    }

    private ServerSocket listen(int where) throws IOException {
        ServerSocket fresh = new ServerSocket();
        fresh.setReuseAddress(true);
        fresh.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), where));
        accepting = threads.submit(() -> accept(fresh));
        return fresh;
    }

    private void accept(ServerSocket from) {
        try (from) {
            while (true) {
                Socket near = from.accept();
                try {
                    lead(from, near, new Socket(server.getHost(), server.getPort()));
                } catch (IOException e) {
                    // Nobody is behind the gate now.
                    near.close();
                }
            }
        } catch (IOException e) {
            // Shut.
        }
    }

    /** A connection that was accepted just before the gate was shut must not stay open behind it. */
    private synchronized void lead(ServerSocket from, Socket near, Socket far) throws IOException {
        if (from.isClosed()) {
            near.close();
            far.close();
            return;
        }
        sockets.add(near);
        sockets.add(far);
        threads.execute(() -> copy(near, far));
        threads.execute(() -> copy(far, near));
    }

    private static void copy(Socket from, Socket to) {
        try (from;
                to;
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            in.transferTo(out);
        } catch (IOException e) {
            // One side hung up.
        }
    }

    @Override
    public void close() {
        try {
            shut();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        threads.shutdownNow();
    }
}
