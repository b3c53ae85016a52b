package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.budget.Budget.AlarmKind;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever is woken by an alarm, or reads a reason of /readyz, finds its cause and its mend. */
class OperationsPageTest {
    private static final Path PAGE = Path.of("..", "docs", "operate.md");
    private static final List<Path> SOURCES = List.of(
            Path.of("src", "main", "java"),
            Path.of("..", "controller-core", "src", "main", "java"),
            Path.of("..", "embed", "src", "main", "java"),
            Path.of("..", "kv-events", "src", "main", "java"));

    @TempDir
    Path directory;

    /** The rows below a heading: what is in the first column, and the rest. */
    private static Map<String, String> rows(String heading) throws IOException {
        Map<String, String> rows = new TreeMap<>();
        boolean below = false;
        for (String line : Files.readAllLines(PAGE)) {
            below = line.startsWith("#") ? line.startsWith("### " + heading) : below;
            if (below && line.startsWith("| `")) {
                String[] cells = line.split("\\|", -1);
                assertThat(cells).as(line).hasSize(5);
                assertThat(cells[2].isBlank()).as("the cause: " + line).isFalse();
                assertThat(cells[3].isBlank()).as("the mend: " + line).isFalse();
                rows.put(cells[1].strip().replace("`", ""), cells[2] + cells[3]);
            }
        }
        assertThat(rows).isNotEmpty();
        return rows;
    }

    @Test
    void everyAlarm_hasACauseAndAMend() throws IOException {
        assertThat(rows("By alarm").keySet())
                .containsExactlyInAnyOrderElementsOf(Stream.of(AlarmKind.values())
                        .map(kind -> kind.name().toLowerCase(Locale.ROOT))
                        .toList());
    }

    @Test
    void documentedReasons_areSaidSomewhere() throws IOException {
        StringBuilder all = new StringBuilder();
        for (Path source : SOURCES) {
            try (Stream<Path> files = Files.walk(source)) {
                for (Path file :
                        files.filter(each -> each.toString().endsWith(".java")).toList()) {
                    all.append(Files.readString(file).replaceAll("\"\\s*\\+\\s*\"", ""));
                }
            }
        }
        List<String> words = new ArrayList<>(rows("By reason").keySet());
        words.addAll(rows("By note").keySet());
        for (String word : words) {
            for (String part : word.split("…", -1)) {
                assertThat(all.indexOf(part.strip()))
                        .as("somebody says: " + part)
                        .isPositive();
            }
        }
    }

    @Test
    void reasonsOfASidecarWithoutAnEngine_areAllDocumented() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(directory, URI.create("http://127.0.0.1:9"), ""));
                Http http = new Http(sidecar.uri())) {
            JsonArray reasons = http.get("/readyz").json().getJsonArray("reasons");
            assertThat(reasons).hasSize(3);
            List<String> documented = List.copyOf(rows("By reason").keySet());
            reasons.forEach(reason -> assertThat(documented)
                    .as(reason.toString())
                    .anyMatch(words -> reason.toString().contains(words)));
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }
}
