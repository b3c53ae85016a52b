package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.config.ApiTokens;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.http.Access;
import io.holdfast.sidecar.http.HttpApi;
import io.holdfast.sidecar.view.Overviews;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.net.URI;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FullMailboxTest {
    @Test
    void fullMailbox_isAnswered503WithItsSentence(@TempDir Path state) throws Exception {
        Vertx vertx = Vertx.vertx();
        try (Unstarted around = new Unstarted(state);
                EngineLink engine = around.engine("demo")) {
            HttpApi api = new HttpApi(
                    vertx,
                    new Access(Listen.defaults(), ApiTokens.of(Listen.defaults(), Map.of())),
                    HttpLimits.defaults(),
                    System::nanoTime,
                    Map.of("demo", engine),
                    Optional.empty(),
                    around.thread,
                    new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                    new Overviews(Map.of(), System::nanoTime, InstantSource.system()),
                    () -> false,
                    new NoOperations());
            HttpServer server = vertx.createHttpServer(HttpApi.serverOptions("127.0.0.1", 0));
            api.serve(server);
            server.listen().toCompletionStage().toCompletableFuture().join();
            Unstarted.fillMailbox(engine);

            try (SidecarClient client = new SidecarClient(URI.create("http://127.0.0.1:" + server.actualPort()))) {
                refused(client.hold(new long[] {7}, 60));
                refused(client.http.delete(SidecarClient.HOLDS + "/7"));
            }
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    private static void refused(Http.Answer answer) {
        assertThat(answer.status()).as(answer.text()).isEqualTo(503);
        assertThat(answer.error())
                .isEqualTo("The controller of engine demo has 1024 requests waiting: ask again later.");
    }
}
