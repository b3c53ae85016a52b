package io.holdfast.sidecar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * Answers as one release of an engine did, over sockets, with what it published for those who ask for the past.
 *
 * <p>What is in the file was said by the release's own server on a CPU; of long answers it has the parts that are read.
 */
final class CapturedRelease implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int POLL_MILLIS = 50;

    private final JsonNode said;
    private final ZContext context = new ZContext();
    private final int eventsPort;
    private final int replayPort;
    private final HttpServer server;
    private final Thread replaying;
    private volatile boolean cached = true;
    private volatile boolean closed;

    CapturedRelease(String name) {
        try (InputStream in =
                Objects.requireNonNull(CapturedRelease.class.getResourceAsStream("releases/" + name + ".json"))) {
            said = JSON.readTree(in);
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        eventsPort = bound(SocketType.PUB).port();
        Bound replay = bound(SocketType.ROUTER);
        replayPort = replay.port();
        replaying = Thread.ofPlatform().daemon().start(() -> replays(replay.socket()));
        server.createContext("/", this::answer);
        server.start();
    }

    private record Bound(ZMQ.Socket socket, int port) {}

    private Bound bound(SocketType type) {
        ZMQ.Socket socket = context.createSocket(type);
        socket.setLinger(0);
        socket.setReceiveTimeOut(POLL_MILLIS);
        return new Bound(socket, socket.bindToRandomPort("tcp://127.0.0.1"));
    }

    private void replays(ZMQ.Socket socket) {
        while (!closed) {
            byte @Nullable [] who = socket.recv();
            while (socket.hasReceiveMore()) {
                socket.recv();
            }
            if (who != null) {
                replay(socket, who);
            }
        }
    }

    private void replay(ZMQ.Socket socket, byte[] who) {
        for (JsonNode message : said.get("replay")) {
            socket.sendMore(who);
            for (int i = 0; i < message.size(); i++) {
                byte[] frame = HexFormat.of().parseHex(message.get(i).textValue());
                socket.send(frame, i + 1 < message.size() ? ZMQ.SNDMORE : 0);
            }
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String asked = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        Optional<String> body = Optional.ofNullable(
                        switch (path) {
                            case "/metrics" -> said.get("metrics");
                            case "/tokenize" ->
                                said.get("tokenize").get(asked.contains("messages") ? "messages" : "prompt");
                            default ->
                                path.equals(said.get("request").textValue())
                                        ? said.get(cached ? "cached" : "uncached")
                                        : said.get("answers").get(path);
                        })
                .map(JsonNode::textValue)
                .map(text -> text.replace("{EVENTS}", Integer.toString(eventsPort))
                        .replace("{REPLAY}", Integer.toString(replayPort)));
        byte[] bytes = body.orElse("{\"detail\":\"Not Found\"}").getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(body.isPresent() ? 200 : 404, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    /** Has found nothing of the next prompts. */
    void forgets() {
        cached = false;
    }

    /** The batches that it published, oldest first. */
    List<byte[]> batches() {
        List<byte[]> batches = new ArrayList<>();
        for (JsonNode message : said.get("replay")) {
            byte[] payload =
                    HexFormat.of().parseHex(message.get(message.size() - 1).textValue());
            if (payload.length > 0) {
                batches.add(payload);
            }
        }
        return batches;
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    String events() {
        return "tcp://127.0.0.1:" + eventsPort;
    }

    String replay() {
        return "tcp://127.0.0.1:" + replayPort;
    }

    @Override
    public void close() {
        server.stop(0);
        closed = true;
        try {
            replaying.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        context.close();
    }
}
