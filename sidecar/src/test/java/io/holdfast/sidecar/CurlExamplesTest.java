package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The curl commands of the documentation, run as they stand but for the address and the engine's name. */
class CurlExamplesTest {
    private static final Path ROOT = Path.of("..");

    @TempDir
    Path state;

    @ParameterizedTest
    @CsvSource({"docs/api.md, 15", "docs/first-hour.md, 3"})
    void examples_doWhatThePageSays(String page, int count) throws IOException, InterruptedException {
        requireCurl();
        List<String> commands = commands(ROOT.resolve(page));
        assertThat(commands).hasSize(count);
        try (TestBed bed = TestBed.with(TestBed.fast(), state, "backend: keep_warm")) {
            List<String> statuses = new ArrayList<>();
            for (String command : commands) {
                String status = run(command, bed);
                String expected =
                        command.contains("/nope") ? "404" : command.contains("contentHashes") ? "400" : "2\\d\\d";
                statuses.add(status);
                assertThat(status).as(command).matches(expected);
            }
            assertThat(statuses).as("each of them was asked").hasSize(count);
        }
    }

    @Test
    void bodyThatSaysNoType_isSentAsAFormAndRefused() throws IOException, InterruptedException {
        requireCurl();
        try (TestBed bed = TestBed.with(TestBed.fast(), state, "backend: keep_warm")) {
            assertThat(run("curl -s http://127.0.0.1:8471/query -d '{\"token_ids\":[1]}'", bed))
                    .isEqualTo("415");
        }
    }

    private static void requireCurl() {
        assumeTrue(
                Stream.of(System.getenv("PATH").split(":", -1))
                        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "curl"))),
                "There is no curl on this machine, so the commands of the documentation are not run.");
    }

    /** Each command after a prompt, with the lines that belong to it as its quotes are not closed. */
    private static List<String> commands(Path page) throws IOException {
        List<String> commands = new ArrayList<>();
        StringBuilder open = new StringBuilder();
        for (String line : Files.readAllLines(page)) {
            if (open.isEmpty() && !(line.startsWith("$ curl") && line.contains(":8471"))) {
                continue;
            }
            open.append(open.isEmpty() ? line.substring(2) : "\n" + line);
            if (open.chars().filter(each -> each == '\'').count() % 2 == 0) {
                commands.add(open.toString());
                open.setLength(0);
            }
        }
        return commands;
    }

    private static String run(String command, TestBed bed) throws IOException, InterruptedException {
        String ours = command.replace("http://127.0.0.1:8471", bed.sidecar.uri().toString())
                .replace("/engines/main", "/engines/demo");
        Process process = new ProcessBuilder("bash", "-c", ours + " -o /dev/null -w '%{http_code}'")
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }
}
