package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.http.ApiContract;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever a sidecar printed and answered, searched for what nobody may read in it. */
class SecretsTest {
    private static final String ACT = "act-secret-7d1f0c9a";
    private static final String READ = "read-secret-55b2e8e1";
    private static final String KEY = "engine-secret-c0ffee17";
    private static final String PROMPT = "a prompt that nobody else may read, long enough for several blocks of tokens";

    @Test
    void secretsAndPrompts_areInNoAnswer_andInNothingThatWasPrinted(@TempDir Path directory) throws IOException {
        StringBuilder seen = new StringBuilder();
        Vertx vertx = Vertx.vertx();
        Path errors = directory.resolve("errors.txt");
        Path config = Files.writeString(directory.resolve("holdfast.yaml"), """
            listen: {port: 0, actTokenEnv: TEST_ACT, readTokenEnv: TEST_READ}
            stateDirectory: '%s'
            engines:
              demo: {type: sglang, url: '%s', backend: keep_warm, apiKeyEnv: TEST_KEY, readingsMillis: 50}
              gone: {type: sglang, url: 'http://127.0.0.1:9', apiKeyEnv: TEST_KEY, readingsMillis: 50}
            """);
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.STOCK))) {
            Files.writeString(config, Files.readString(config).formatted(directory.resolve("state"), emulator.uri()));
            try (ChildSidecar child = ChildSidecar.start(
                            config, Map.of("TEST_ACT", ACT, "TEST_READ", READ, "TEST_KEY", KEY), Optional.of(errors));
                    Http http = new Http(child.uri())) {
                for (String token : List.of(ACT, READ, KEY, ACT + "x", "")) {
                    ask(http, token, seen);
                }
                String wish = "{\"text\":\"" + PROMPT + "\",\"leaseSeconds\":60}";
                seen.append(http.send(
                                "POST",
                                SidecarClient.HOLDS,
                                wish,
                                "content-type",
                                "application/json",
                                "Authorization",
                                "Bearer " + ACT)
                        .text());
                ask(http, ACT, seen);
                seen.append(child.rest());
            }
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
        String printed = Files.readString(errors, StandardCharsets.UTF_8);
        assertThat(seen.toString())
                .hasSizeGreaterThan(10_000)
                .contains("\"status\":401")
                .contains("\"engine\":\"demo\"");
        for (String secret : List.of(ACT, READ, KEY, PROMPT)) {
            assertThat(seen.toString()).doesNotContain(secret);
            assertThat(printed).doesNotContain(secret);
        }
    }

    /** Every route, with what its document shows and with nonsense. */
    private static void ask(Http http, String token, StringBuilder seen) {
        ApiContract.OF_THE_SIDECAR.operations((name, operation) -> {
            String method = name.substring(0, name.indexOf(' '));
            // All is to be held still, and a stream ends when the sidecar does.
            if ((name.endsWith("/holds") && method.equals("DELETE")) || name.endsWith("/stream")) {
                return;
            }
            String path = name.substring(method.length() + 1)
                    .replace("{engine}", "demo")
                    .replaceAll("\\{[a-z]+}", "1");
            for (String body : List.of(
                    ApiContract.bodies(operation).stream().findFirst().orElse("{}"), "{\"nonsense\":1}", "nonsense")) {
                Http.Answer answer = method.equals("GET")
                        ? http.send(method, path, "", "Authorization", "Bearer " + token)
                        : http.send(
                                method,
                                path,
                                body,
                                "content-type",
                                "application/json",
                                "Authorization",
                                "Bearer " + token);
                seen.append(answer.text());
            }
        });
    }
}
