package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Legs of a real journal, made again and drawn. The server keeps every body that it was sent. */
class LoadtestReproTest {
    private static final String ANSWER = """
        data: {"choices":[{"text":" a","finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}

        data: [DONE]

        """;

    @TempDir
    private Path folder = Path.of("");

    private final Vertx vertx = Vertx.vertx();
    private final BlockingQueue<String> bodies = new LinkedBlockingQueue<>();
    private URI server = URI.create("http://127.0.0.1:1");

    @BeforeEach
    void serve() {
        HttpServer http = vertx.createHttpServer()
                .requestHandler(request -> {
                    if ("/v1/completions".equals(request.path())) {
                        request.body().onSuccess(body -> {
                            bodies.add(body.toString());
                            request.response()
                                    .putHeader("content-type", "text/event-stream")
                                    .end(ANSWER);
                        });
                    } else {
                        request.response().setStatusCode(404).end();
                    }
                })
                .listen(0, "127.0.0.1")
                .await();
        server = URI.create("http://127.0.0.1:" + http.actualPort());
    }

    @AfterEach
    void close() {
        vertx.close().await();
    }

    private Path journal() {
        Path journal = folder.resolve("aa.jsonl");
        List<String> line = new ArrayList<>(List.of("loadtest", "aa", "--engine", server.toString(), "--pairs", "1"));
        line.addAll(List.of("--model", "o'model", "--prefix-tokens", "16", "--flood-requests", "2"));
        line.addAll(List.of("--flood-tokens", "8", "--cycles", "1", "--output-tokens", "1"));
        line.addAll(List.of("--header", "X-Team: secret", "--journal", journal.toString()));
        CommandRun told = CommandRun.by(line.toArray(String[]::new));
        assertThat(Files.exists(journal)).as(told.out() + told.err()).isTrue();
        return journal;
    }

    @Test
    void curlCommands_sendTheBytesOfTheLeg() throws IOException, InterruptedException {
        Path journal = journal();
        List<String> sent = new ArrayList<>();
        bodies.drainTo(sent);
        CommandRun told = CommandRun.by("loadtest", "repro", journal.toString(), "1/2");
        assertThat(told.code()).as(told.err()).isZero();
        assertThat(told.out()).startsWith("#!/bin/sh\n# life 1 AA, leg 2").contains("-H \"x-team: $X_TEAM\"");
        assertThat(told.out()).doesNotContain("secret");
        Path script = Files.writeString(folder.resolve("again.sh"), told.out());
        Process process = new ProcessBuilder("/bin/sh", script.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("said")))
                .isZero();
        List<String> again = new ArrayList<>();
        bodies.drainTo(again);
        assertThat(again).hasSize(4).doesNotHaveDuplicates();
        assertThat(sent).containsAll(again);
        JsonNode body = new ObjectMapper().readTree(again.getFirst());
        assertThat(body.path("model").asText()).isEqualTo("o'model");
    }

    @Test
    void timeline_drawsTheRequestsOfTheLeg() {
        Path journal = journal();
        CommandRun told = CommandRun.by("loadtest", "timeline", journal.toString(), "1/1", "--cycle", "1");
        assertThat(told.code()).as(told.err()).isZero();
        assertThat(told.out().lines().filter(line -> line.startsWith("flood"))).hasSize(2);
        assertThat(told.out()).contains("life 1 AA, leg 1", "probe ", "under way", "until the first token");
        assertThat(CommandRun.by("loadtest", "repro", journal.toString(), "1/2", "--failed")
                        .badInput())
                .contains("No request of life 1 AA, leg 2");
        assertThat(CommandRun.by("loadtest", "timeline", journal.toString(), "9/1")
                        .badInput())
                .contains("The journal has no leg 9/1; it has lives 0 to 1");
        assertThat(CommandRun.by("loadtest", "timeline", journal.toString(), "second")
                        .badInput())
                .contains("write life and leg, as 3/2.");
        assertThatNoException().isThrownBy(() -> Files.delete(journal));
    }
}
