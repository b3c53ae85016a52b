package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.PinSharedPrompt;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Requests of the pin benchmark as it sent them. */
final class BareBodiesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<LoadRequest> REQUESTS = PinSharedPrompt.workload(
                    42, new PinSharedPrompt.Sizes(2, 16, 16, 64), 2)
            .requests(1);
    private static final HttpSettings BARE = HttpSettings.defaults()
            .withRoute(CompletionRoute.OPENAI_CHAT)
            .withModel("m")
            .bare(PinPoc.WARM_UP_LIMIT);

    @Test
    void warmUp_hasTheFieldsOfTheBenchmarkAndNoOther() throws IOException {
        assertThat(body(REQUESTS.get(1))).isEqualTo(JSON.readTree("""
            {"model": "m",
             "messages": [{"role": "system", "content": "%s"},
                          {"role": "user", "content": "Warmup 1. Reply briefly."}],
             "max_tokens": 16, "temperature": 0.0}
            """.formatted(
                        REQUESTS.get(1).messages().getFirst().content())));
        assertThat(BARE.limit(REQUESTS.get(1))).isEqualTo(Duration.ofSeconds(60));
    }

    @Test
    void load_isTheSameAndAStream() throws IOException {
        LoadRequest request = REQUESTS.get(2);
        assertThat(body(request)).isEqualTo(JSON.readTree("""
            {"model": "m",
             "messages": [{"role": "system", "content": "%s"}, {"role": "user", "content": "%s"}],
             "max_tokens": 64, "temperature": 0.0, "stream": true}
            """.formatted(
                        request.messages().getFirst().content(),
                        request.messages().getLast().content())));
        assertThat(BARE.limit(request)).isEqualTo(BARE.requestTimeout());
    }

    private static JsonNode body(LoadRequest request) throws IOException {
        return JSON.readTree(BARE.body(request));
    }

    @Test
    void warmUpOfAServerThatIsSilent_endsAtItsOwnLimit() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                HttpEngine engine = new HttpEngine(
                        vertx,
                        new ExistingServer(URI.create("http://127.0.0.1:" + silent.getLocalPort())),
                        BARE.bare(Duration.ofMillis(50)),
                        RunClock.system())) {
            Load load = engine.prepare(REQUESTS.subList(0, 1));
            load.connect(1);
            RequestRecord record = load.send(1, 1).getFirst();
            assertThat(record.status()).isEqualTo(RequestStatus.TIMED_OUT);
            assertThat(record.problem()).contains("50 ms");
        } finally {
            vertx.close().await();
        }
    }
}
