package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A sidecar that dies without a word leaves pins behind; the next one must find and release them. */
class KillTest {
    private final Vertx vertx = Vertx.vertx();

    @TempDir
    Path directory;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void pinsOfAKilledSidecar_areReleasedByTheNextBeforeItIsReady() throws IOException {
        int[] one = EngineClient.prompt(1, 512);
        int[] two = EngineClient.prompt(2, 256);
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            Path config = Files.writeString(
                    directory.resolve("holdfast.yaml"), TestBed.yaml(directory.resolve("state"), emulator.uri(), ""));

            try (ChildSidecar killed = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(killed.uri())) {
                client.meet(engine);
                engine.generate(one);
                engine.generate(two);
                client.held(one);
                client.held(two);
                assertThat(engine.usedTokens()).isEqualTo(768);
            }
            assertThat(engine.usedTokens())
                    .as("nobody unpinned when the process was killed")
                    .isEqualTo(768);

            try (ChildSidecar next = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(engine.usedTokens())
                        .as("pinned tokens when the next sidecar says it is ready")
                        .isZero();
                assertThat(client.metric("holdfast_pins{engine=\"demo\",state=\"leftover\"}"))
                        .isZero();
                assertThat(client.holds()).noneMatch(hold -> "held".equals(hold.getString("state")));

                client.meet(engine);
                int[] three = EngineClient.prompt(3, 256);
                engine.generate(three);
                client.held(three);
                assertThat(engine.usedTokens()).isEqualTo(256);
            }
        }
    }
}
