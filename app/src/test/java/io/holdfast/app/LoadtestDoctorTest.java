package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a test bed is found to have, line by line. */
class LoadtestDoctorTest {
    @TempDir
    private Path folder = Path.of("");

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void close() {
        vertx.close().await();
    }

    private CommandRun doctor(URI engine, String... more) {
        List<String> line = new ArrayList<>(List.of("loadtest", "doctor", "--engine", engine.toString()));
        line.addAll(List.of("--streams", "2", "--shared-memory", folder.toString()));
        line.addAll(List.of("--tools", folder.toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    private static Map<String, String> states(JsonNode document) {
        Map<String, String> states = new TreeMap<>();
        document.path("findings")
                .forEach(each -> states.put(
                        each.path("subject").asText(), each.path("status").asText()));
        return states;
    }

    @Test
    void emulatedSglang_hasAllThatMatters() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults())) {
            CommandRun told = doctor(emulator.uri(), "--json");
            assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
            JsonNode document = new ObjectMapper().readTree(told.out());
            assertThat(document.path("format").asInt()).isEqualTo(1);
            assertThat(states(document))
                    .containsEntry("engine", "ok")
                    .containsEntry("event format", "ok")
                    .containsEntry("cache report", "ok")
                    .containsEntry("cached tokens", "ok")
                    .containsEntry("open files", "ok")
                    .containsEntry("clock source", "ok")
                    .containsEntry("flags", "ok")
                    .containsEntry("GPU", "note")
                    .containsKeys("client", "shared memory", "kvcached", "pin_blocks");
            assertThat(document.path("environment").path("gpu").asText()).isEqualTo("unknown");
            assertThat(document.path("environment").path("engine").asText()).startsWith("sglang 0.5");
            assertThat(document.path("environment").path("commit").asText()).isEqualTo("unknown");
            assertThat(document.path("environment").path("flags").asText()).contains("page_size=");
        }
    }

    @Test
    void doctorForALoadTest_isTheSameCommand() {
        CommandRun told = CommandRun.by(
                "doctor", "--for-load-test", "--engine", "http://127.0.0.1:1", "--shared-memory", folder.toString());
        assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(told.out()).contains("The test bed of http://127.0.0.1:1", "Nothing listens at http://127.0.0.1:1.");
        assertThat(CommandRun.by("doctor", "--engine", "http://127.0.0.1:1", "--streams", "2")
                        .badInput())
                .contains("--streams is about a load test; add --for-load-test, or leave it out.");
    }

    @Test
    void nobodyThere_isNamedBesideWhatTheMachineHas() {
        CommandRun told = doctor(URI.create("http://127.0.0.1:1"));
        assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(told.out())
                .contains("MISSING  engine", "Nothing listens at http://127.0.0.1:1.")
                .contains("Missing, and needed: engine.")
                .containsPattern("Java +[0-9]")
                .containsPattern("gpu +unknown");
    }

    @Test
    void strangerOnAGpu_isNamedAndRefusedOnDemand() throws IOException {
        Path tool = Files.writeString(folder.resolve("nvidia-smi"), """
            #!/bin/sh
            case "$*" in
            *query-gpu*) printf '0, NVIDIA L4, 550.54\\n1, NVIDIA L4, 550.54\\n' ;;
            *compute-apps*) printf '4711, python3, 812 MiB\\n' ;;
            esac
            """);
        Files.setPosixFilePermissions(tool, PosixFilePermissions.fromString("rwxr-xr-x"));
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults())) {
            CommandRun warned = doctor(emulator.uri());
            assertThat(warned.code()).as(warned.out()).isEqualTo(ExitCode.OK);
            assertThat(warned.out()).contains("2 x NVIDIA L4, driver 550.54", "warning  GPU is idle");
            CommandRun refused = doctor(emulator.uri(), "--require-idle-gpu");
            assertThat(refused.code()).isEqualTo(ExitCode.CHECK_FAILED);
            assertThat(refused.out()).contains("MISSING  GPU is idle", "python3, process 4711", "kill 4711");
        }
    }

    @Test
    void badOptions_areOneSentence() {
        assertThat(CommandRun.by("loadtest", "doctor", "--engine", "nosuch").badInput())
                .contains("--engine is 'nosuch'");
        assertThat(CommandRun.by("loadtest", "doctor", "--engine", "http://127.0.0.1:1", "--streams", "0")
                        .badInput())
                .contains("--streams is 0; write 1 to 4096.");
        assertThat(doctor(URI.create("http://127.0.0.1:1"), "--wait", "1h").badInput())
                .contains("wait at most 1m.");
    }
}
