package io.holdfast.sidecar.cell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.holdfast.sidecar.config.FleetConfig;
import io.holdfast.sidecar.config.SidecarConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a peer may answer, over real sockets. */
class PeerTokensTest {
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    private HttpServer peer;
    private HttpServer other;

    @BeforeEach
    void start() throws IOException {
        peer = server();
        other = server();
    }

    @AfterEach
    void stop() {
        peer.stop(0);
        other.stop(0);
        executor.close();
    }

    private static HttpServer server() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.start();
        return server;
    }

    private static String address(HttpServer server) {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private void answers(HttpServer server, int status, String body) {
        server.createContext(PeerTokens.PATH, exchange -> {
            asked.add(server == peer ? "peer" : "other");
            exchange.getResponseHeaders().add("Location", address(other) + PeerTokens.PATH);
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
    }

    private int[] tokens(int count) throws IOException {
        FleetConfig config = SidecarConfig.parse(
                        "fleet: {store: memory, peers: ['127.0.0.1:"
                                + peer.getAddress().getPort()
                                + "']}\nengines: {main: {type: sglang, url: 'http://127.0.0.1:30000'}}",
                        "f")
                .fleet();
        try (PeerTokens tokens = new PeerTokens(config, Optional.empty(), executor)) {
            assertThat(tokens.mayAsk(address(peer))).isTrue();
            assertThat(tokens.mayAsk(address(other))).isFalse();
            return tokens.tokens(address(peer), 7, count).toCompletableFuture().join();
        }
    }

    @Test
    void tokensOfAPeer_areRead() throws IOException {
        answers(peer, 200, "{\"tokens\":[1,2,4294967295]}");

        assertThat(tokens(3)).containsExactly(1, 2, -1);
    }

    @Test
    void redirection_isNotFollowed() {
        answers(peer, 307, "");
        answers(other, 200, "{\"tokens\":[1,2,3]}");

        assertThatThrownBy(() -> tokens(3))
                .isInstanceOf(CompletionException.class)
                .hasMessageContaining("answered with HTTP 307");
        assertThat(asked).containsExactly("peer");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        200 | {"tokens":[1,2]}           | sent 2 tokens in place of 3
        200 | {"tokens":["a","b","c"]}   | sent 0 tokens in place of 3
        200 | {"other":[1,2,3]}          | sent 0 tokens in place of 3
        200 | nothing                    | did not answer
        403 | {}                         | both need the same act token
        500 | {}                         | answered with HTTP 500
        """)
    void wrongAnswers_areNotTaken(int status, String body, String why) {
        answers(peer, status, body);

        assertThatThrownBy(() -> tokens(3))
                .isInstanceOf(CompletionException.class)
                .hasMessageContaining(why);
    }

    @Test
    void longAnswer_isReadNoFurtherThanItsTokens() {
        answers(peer, 200, "{\"x\":\"" + "y".repeat(1 << 20) + "\",\"tokens\":[1,2,3]}");

        assertThatThrownBy(() -> tokens(3)).isInstanceOf(CompletionException.class);
    }
}
