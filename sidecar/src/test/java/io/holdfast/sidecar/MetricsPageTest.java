package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.view.Metrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page that people read and what a running sidecar exports say the same. */
class MetricsPageTest {
    private static final Path PAGE = Path.of("..", "docs", "metrics.md");
    private static final Pattern ROW =
            Pattern.compile("\\| `(\\w+)` \\| (gauge|counter|summary) \\| [^|]+ \\| ([^|]+) \\| ([^|]+) \\|");
    private static final Pattern SAMPLE = Pattern.compile("(\\w+)(?:\\{.*})? \\S+");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"");

    @TempDir
    Path state;

    /** @param labels in their order, separated by commas; "none" where there are none */
    private record Metric(String type, String labels, String meaning) {}

    @Test
    void documentedMetrics_areThoseOfARunningSidecar() throws IOException {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Vertx vertx = Sidecar.instrumented(registry);
        try (Sidecar sidecar = sidecar(vertx, state, registry);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.hold(new long[] {1}, 1);
            // Vert.x counts an answer after it was sent, so the page lists it a moment later.
            Map<String, Metric> documented = documented();
            Eventually.see(
                    "the page lists what is documented",
                    () -> exported(client.http.get("/metrics").text()),
                    documented::equals);
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    /**
     * Writes the rows of engines' metrics into the page with {@code -Dholdfast.docs=write}, before any test reads it.
     */
    @BeforeAll
    static void writePage() throws IOException {
        if ("write".equals(System.getProperty("holdfast.docs"))) {
            List<String> rows = Metrics.documented();
            List<String> page = new ArrayList<>(Files.readAllLines(PAGE));
            Set<String> names = rows.stream().map(row -> row.split("`")[1]).collect(Collectors.toSet());
            page.removeIf(line -> names.contains(line.startsWith("| `") ? line.split("`")[1] : ""));
            page.addAll(page.indexOf("|---|---|---|---|---|") + 1, rows);
            Files.write(PAGE, page);
        }
    }

    @Test
    void rowsOfThePage_areThoseOfTheTable() throws IOException {
        assertThat(Files.readAllLines(PAGE)).containsAll(Metrics.documented());
    }

    @Test
    void sidecarsOfOneProcess_countTheirOwnRequests() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Vertx vertx = Sidecar.instrumented(registry);
        PrometheusMeterRegistry other = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Vertx others = Sidecar.instrumented(other);
        try (Sidecar sidecar = sidecar(vertx, state.resolve("one"), registry);
                Sidecar beside = sidecar(others, state.resolve("other"), other);
                SidecarClient client = new SidecarClient(sidecar.uri());
                SidecarClient asked = new SidecarClient(beside.uri())) {
            for (SidecarClient one : List.of(client, asked)) {
                Eventually.see(
                        "the page counts what was asked",
                        () -> one.http.get("/metrics").text(),
                        text -> text.contains("vertx_http_server_requests_total{code=\"200\",method=\"GET\""));
            }
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
            others.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    private static Sidecar sidecar(Vertx vertx, Path state, PrometheusMeterRegistry registry) {
        SidecarConfig config = TestBed.config(state, URI.create("http://127.0.0.1:1"), "");
        return Sidecar.start(vertx, config, registry, Seams.none());
    }

    private static Map<String, Metric> documented() throws IOException {
        Map<String, Metric> documented = new TreeMap<>();
        for (String line : Files.readAllLines(PAGE)) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                Metric metric = new Metric(row.group(2), row.group(3), row.group(4));
                assertThat(documented.put(row.group(1), metric)).isNull();
            }
        }
        return documented;
    }

    private static Map<String, Metric> exported(String text) {
        Map<String, String> meanings = new TreeMap<>();
        Map<String, String> types = new TreeMap<>();
        Map<String, Set<String>> labels = new TreeMap<>();
        text.lines().forEach(line -> {
            String[] words = line.split(" ", 4);
            if (line.startsWith("# HELP ")) {
                meanings.put(words[2], words[3]);
            } else if (line.startsWith("# TYPE ")) {
                types.put(words[2], words[3]);
            } else {
                Matcher sample = SAMPLE.matcher(line);
                assertThat(sample.matches()).as(line).isTrue();
                String series = sample.group(1).replaceFirst("_(count|sum)$", "");
                Set<String> seen = labels.computeIfAbsent(series, name -> new TreeSet<>());
                LABEL.matcher(line).results().forEach(label -> seen.add(label.group(1)));
            }
        });
        Map<String, Metric> exported = new TreeMap<>();
        types.forEach((name, type) -> {
            Set<String> told = labels.getOrDefault(name, Set.of());
            exported.put(
                    name,
                    new Metric(
                            type, told.isEmpty() ? "none" : String.join(", ", told), meanings.getOrDefault(name, "")));
        });
        return exported;
    }
}
