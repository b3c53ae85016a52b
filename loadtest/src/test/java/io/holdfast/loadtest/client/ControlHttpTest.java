package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class ControlHttpTest {
    private final Vertx vertx = Vertx.vertx();
    private final CompletableFuture<Boolean> connectionClosed = new CompletableFuture<>();
    private final HttpServer server = vertx.createHttpServer()
            .connectionHandler(connection -> connection.closeHandler(closed -> connectionClosed.complete(true)))
            .requestHandler(ControlHttpTest::route);

    @BeforeEach
    void start() throws Exception {
        server.listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    private static void route(HttpServerRequest request) {
        if ("/endless".equals(request.path())) {
            request.response().setChunked(true).write("headers and a beginning");
        } else {
            request.response().end(String.valueOf(request.path()));
        }
    }

    @Test
    void answerWhoseBodyNeverEnds_isGivenUpAndItsConnectionClosed() throws Exception {
        try (ControlHttp http = http("", Duration.ofMillis(300))) {
            assertThatThrownBy(() -> http.get("/endless"))
                    .isInstanceOf(IOException.class)
                    .hasMessage("There was no whole answer within 300 ms.");
            assertThat(connectionClosed.get(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void slashesAtTheEndOfTheAddress_areNotDoubled() throws IOException {
        for (String end : new String[] {"", "/", "//"}) {
            try (ControlHttp http = http("/base" + end, Duration.ofSeconds(10))) {
                assertThat(http.get("/health").text()).isEqualTo("/base/health");
            }
        }
    }

    private ControlHttp http(String path, Duration limit) {
        return new ControlHttp(URI.create("http://127.0.0.1:" + server.actualPort() + path), Map.of(), limit);
    }
}
