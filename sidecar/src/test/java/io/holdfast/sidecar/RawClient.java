package io.holdfast.sidecar;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Connections on which anything at all can be said. */
public final class RawClient implements AutoCloseable {
    private final int port;
    private final List<Socket> open = new ArrayList<>();

    public RawClient(URI server) {
        port = server.getPort();
    }

    /** A connection that stays open until this client is closed. */
    public Socket open() throws IOException {
        Socket socket = socket();
        open.add(socket);
        return socket;
    }

    private Socket socket() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(60_000);
        return socket;
    }

    /** Says it all, and answers what came back until the other side closed, even when it stopped listening before. */
    String exchange(byte[] request) {
        try (Socket socket = socket()) {
            send(socket, request);
            return read(socket);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public String exchange(String request) {
        return exchange(bytes(request));
    }

    /** Whether all of it could be sent. */
    public static boolean send(Socket socket, byte[] bytes) {
        try {
            socket.getOutputStream().write(bytes);
            socket.getOutputStream().flush();
            return true;
        } catch (IOException closed) {
            return false;
        }
    }

    public static boolean send(Socket socket, String text) {
        return send(socket, bytes(text));
    }

    /** What comes until the other side ends the connection, in whatever way. */
    public static String read(Socket socket) {
        StringBuilder text = new StringBuilder();
        byte[] buffer = new byte[8192];
        try {
            for (int n = socket.getInputStream().read(buffer);
                    n >= 0;
                    n = socket.getInputStream().read(buffer)) {
                text.append(new String(buffer, 0, n, StandardCharsets.ISO_8859_1));
            }
        } catch (IOException reset) {
            return text.toString();
        }
        return text.toString();
    }

    /** The head of the next answer; empty when there is none before the connection ends. */
    public static Optional<String> head(Socket socket) {
        StringBuilder text = new StringBuilder();
        try {
            while (text.indexOf("\r\n\r\n") < 0) {
                int next = socket.getInputStream().read();
                if (next < 0) {
                    return Optional.empty();
                }
                text.append((char) next);
            }
        } catch (IOException reset) {
            return Optional.empty();
        }
        return Optional.of(text.toString());
    }

    public static String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    }

    /** The head of a request for a hold, with a body of this length to come. */
    public static String holdOf(long length) {
        return "POST " + SidecarClient.HOLDS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: " + length + "\r\n\r\n";
    }

    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Closes every connection that is open. */
    public void hangUp() {
        for (Socket socket : open) {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        open.clear();
    }

    @Override
    public void close() {
        hangUp();
    }
}
