package io.holdfast.emulator.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** HTTP by hand: any bytes out, and what comes back taken apart as it lay on the wire. */
public final class RawHttp {
    private static final ObjectMapper JSON = new ObjectMapper();

    /**
     * An answer; status 0 when the connection was closed without one, -1 when nothing came in time.
     *
     * @param chunks of a chunked body
     */
    public record Answer(int status, Map<String, String> headers, String body, List<String> chunks) {
        public String header(String name) {
            return headers.getOrDefault(name, "");
        }

        public JsonNode json() {
            try {
                return body.isEmpty() ? MissingNode.getInstance() : JSON.readTree(body);
            } catch (JsonProcessingException e) {
                return MissingNode.getInstance();
            }
        }

        /** The data of each event, as JSON where it is. */
        public List<JsonNode> events() {
            List<JsonNode> events = new ArrayList<>();
            for (String event : body.split("\n\n", -1)) {
                if (!event.isEmpty()) {
                    String data = event.substring("data: ".length());
                    try {
                        events.add(data.equals("[DONE]") ? JSON.getNodeFactory().textNode(data) : JSON.readTree(data));
                    } catch (JsonProcessingException e) {
                        throw new AssertionError("not an event: " + event, e);
                    }
                }
            }
            return events;
        }
    }

    private final int port;
    private final int patienceMillis;

    public RawHttp(int port, int patienceMillis) {
        this.port = port;
        this.patienceMillis = patienceMillis;
    }

    public Answer post(String path, String body) {
        return send(request("POST", path, "application/json", body.getBytes(StandardCharsets.UTF_8)), false);
    }

    public Answer get(String path) {
        return send(("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1), false);
    }

    public static byte[] request(String method, String path, String type, byte[] body) {
        String head = method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + type + "\r\nContent-Length: "
                + body.length + "\r\n\r\n";
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(head.getBytes(StandardCharsets.ISO_8859_1));
        bytes.writeBytes(body);
        return bytes.toByteArray();
    }

    /**
     * Sends bytes as they are.
     *
     * @param half whether the client says no more after it, and only listens
     */
    public Answer send(byte[] request, boolean half) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(patienceMillis);
            try {
                socket.getOutputStream().write(request);
                if (half) {
                    socket.shutdownOutput();
                }
            } catch (IOException e) {
                // The server has closed before it had read everything; it may have answered all the same.
            }
            return read(socket.getInputStream(), new String(request, 0, 4, StandardCharsets.ISO_8859_1).equals("HEAD"));
        } catch (SocketTimeoutException e) {
            return new Answer(-1, Map.of(), "", List.of());
        } catch (IOException e) {
            return new Answer(0, Map.of(), "", List.of());
        }
    }

    private static Answer read(InputStream in, boolean headOnly) throws IOException {
        String status = line(in);
        if (status.startsWith("HTTP/1.1 100")) {
            line(in);
            status = line(in);
        }
        if (status.isEmpty()) {
            return new Answer(0, Map.of(), "", List.of());
        }
        Map<String, String> headers = new TreeMap<>();
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            headers.put(
                    line.substring(0, colon).toLowerCase(Locale.ROOT),
                    line.substring(colon + 1).strip());
        }
        int code = Integer.parseInt(status.split(" ", 3)[1]);
        List<String> chunks = new ArrayList<>();
        byte[] body;
        if (headOnly) {
            body = new byte[0];
        } else if (headers.getOrDefault("transfer-encoding", "").equals("chunked")) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (int size = chunkSize(in); size > 0; size = chunkSize(in)) {
                byte[] chunk = in.readNBytes(size);
                chunks.add(new String(chunk, StandardCharsets.UTF_8));
                all.writeBytes(chunk);
                line(in);
            }
            body = all.toByteArray();
        } else if (!headers.containsKey("content-length")) {
            body = in.readAllBytes();
        } else {
            body = in.readNBytes(Integer.parseInt(headers.getOrDefault("content-length", "0")));
        }
        return new Answer(code, headers, new String(body, StandardCharsets.UTF_8), chunks);
    }

    private static int chunkSize(InputStream in) throws IOException {
        String line = line(in);
        return line.isEmpty() ? 0 : Integer.parseInt(line, 16);
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int c = in.read(); c >= 0 && c != '\n'; c = in.read()) {
            if (c != '\r') {
                line.write(c);
            }
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }
}
