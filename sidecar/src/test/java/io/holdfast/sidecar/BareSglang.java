package io.holdfast.sidecar;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** The answers of an SGLang that was started without any flag. */
public final class BareSglang implements AutoCloseable {
    private static final String INFO = """
        {"version":"0.5.23","model_path":"m","page_size":16,"max_total_num_tokens":4096,"max_req_input_len":1018,
         "context_length":1024,"radix_eviction_policy":"lru","enable_cache_report":false,"dp_size":1,
         "enable_session_radix_cache":false,"kv_events_config":null}\
        """;
    private static final String MODELS = "{\"data\":[{\"id\":\"m\",\"max_model_len\":1024}]}";

    private final HttpServer server;
    private final int refusal;
    private final String info;

    public BareSglang() {
        this(0, INFO);
    }

    /** One that answers everything with this status. */
    public BareSglang(int refusal) {
        this(refusal, INFO);
    }

    /** One of another release, with this policy of eviction. */
    public BareSglang(String version, String policy) {
        this(0, INFO.replace("0.5.23", version).replace("lru", policy));
    }

    private BareSglang(int refusal, String info) {
        this.refusal = refusal;
        this.info = info;
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/", this::answer);
        server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
        String body = switch (exchange.getRequestURI().getPath()) {
            case "/server_info" -> info;
            case "/v1/models" -> MODELS;
            default -> "";
        };
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(
                refusal > 0 ? refusal : body.isEmpty() ? 404 : 200, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    public URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
