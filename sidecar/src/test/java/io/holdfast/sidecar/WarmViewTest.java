package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.Endpoints;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a sidecar knows of an engine that no longer repeats how it began. */
class WarmViewTest {
    private static final int REPEATS = 40;

    private final Vertx vertx = Vertx.vertx();
    private final Emulator emulator = Emulator.start(
            vertx, TestBed.fast().withEndpoints(Endpoints.FREE.withReplay(0).withRepeats(REPEATS)));
    private final EngineClient engine = new EngineClient(emulator.uri());
    private int prompts;

    @TempDir
    Path directory;

    @AfterEach
    void stop() {
        engine.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Sidecar sidecar(String state, List<URI> siblings) throws IOException {
        Path made = Files.createDirectories(directory.resolve(state));
        String yaml = TestBed.yaml(
                        made,
                        emulator.uri(),
                        "events: '" + emulator.eventsEndpoint() + "', replay: '"
                                + emulator.replayEndpoint().orElseThrow() + "', topic: ''")
                .replace(
                        "engines:",
                        "snapshotSeconds: 1\n" + (siblings.isEmpty() ? "" : "fleet: {siblings: " + siblings + "}\n")
                                + "engines:");
        return Sidecar.start(
                vertx, SidecarConfig.parse(yaml, "test.yaml"), new PrometheusMeterRegistry(PrometheusConfig.DEFAULT));
    }

    private void generate(int count) {
        for (int i = 0; i < count; i++) {
            engine.generate(EngineClient.prompt(1_000 + prompts++, 48));
        }
    }

    @Test
    void lateSidecar_goesOnFromItsDisk_andASiblingsView_andSaysHowLongThatTook() throws Exception {
        try (Sidecar first = sidecar("one", List.of());
                SidecarClient client = new SidecarClient(first.uri())) {
            client.meet(engine);
            generate(REPEATS);
            Eventually.see("it is certain", client::engine, seen -> seen.getBoolean("certain"));

            // One that comes late and has nobody to ask.
            try (Sidecar alone = sidecar("alone", List.of());
                    SidecarClient cold = new SidecarClient(alone.uri())) {
                JsonObject late = Eventually.see(
                        "no view is found",
                        cold::engine,
                        seen -> seen.getJsonObject("view").containsKey("notTaken")
                                && seen.getString("certainty").startsWith("joined late"));
                assertThat(late.getBoolean("certain")).isFalse();
                assertThat(late.getJsonObject("view").getString("notTaken")).isEqualTo("no view of it was found");
                assertThat(tree(alone).statusCode()).isEqualTo(409);
            }

            // One that comes late and has a sibling.
            try (Sidecar second = sidecar("two", List.of(first.uri()));
                    SidecarClient warm = new SidecarClient(second.uri())) {
                JsonObject late = Eventually.see(
                        "the view is taken over, and how long that took is known",
                        warm::engine,
                        seen -> seen.getBoolean("certain")
                                && seen.getJsonObject("view").getDouble("certainAfterSeconds") != null);
                assertThat(late.getString("certainty")).contains("was taken over");
                assertThat(late.getJsonObject("view").getInteger("taken")).isEqualTo(1);
                assertThat(late.getJsonObject("view").getDouble("certainAfterSeconds"))
                        .isNotNegative();
                generate(3);
                Eventually.see(
                        "both know the same",
                        () -> warm.engine().getInteger("blocks")
                                - client.engine().getInteger("blocks"),
                        difference -> difference == 0);
                assertThat(ViewSnapshot.decode(tree(second).body()).blocks())
                        .isEqualTo(ViewSnapshot.decode(tree(first).body()).blocks());
            }
        }
        // The first has closed and written; the engine goes on, within what it repeats.
        generate(5);
        try (Sidecar again = sidecar("one", List.of());
                SidecarClient client = new SidecarClient(again.uri())) {
            JsonObject seen =
                    Eventually.see("its own view is taken over", client::engine, now -> now.getBoolean("certain"));
            assertThat(seen.getString("certainty")).contains("was taken over");
        }
        // And beyond it: refused, with the reason.
        generate(3 * REPEATS);
        try (Sidecar again = sidecar("one", List.of());
                SidecarClient client = new SidecarClient(again.uri())) {
            JsonObject seen = Eventually.see(
                    "its own view is refused",
                    client::engine,
                    now -> now.getJsonObject("view").containsKey("notTaken"));
            assertThat(seen.getBoolean("certain")).isFalse();
            assertThat(seen.getJsonObject("view").getString("notTaken")).contains("repeats nothing before its batch");
        }
    }

    private static HttpResponse<byte[]> tree(Sidecar sidecar) throws IOException, InterruptedException {
        try (HttpClient http = HttpClient.newHttpClient()) {
            return http.send(
                    HttpRequest.newBuilder(sidecar.uri().resolve("/api/v1/engines/demo/tree"))
                            .build(),
                    HttpResponse.BodyHandlers.ofByteArray());
        }
    }
}
