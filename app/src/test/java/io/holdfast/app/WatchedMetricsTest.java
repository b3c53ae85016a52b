package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The alerts and dashboards of deploy/ use metrics that the sidecar documents, and say where to read on. What Prometheus
 * makes of them is for deploy/verify.
 */
final class WatchedMetricsTest {
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    private static final Path DEPLOY = ROOT.resolve("deploy");
    private static final Pattern ROW =
            Pattern.compile("(?m)^\\| `((?:holdfast|vertx)_\\w+)` \\| (\\w+) \\|[^|]*\\| ([^|]+) \\|");
    private static final Pattern NAME = Pattern.compile("(?<![\\w.])[a-zA-Z_:][\\w:]*(?!\\w|\\s*\\()");
    private static final Pattern SELECTOR = Pattern.compile("([a-zA-Z_:][\\w:]*)\\{([^}]*)}");
    private static final Pattern LABEL = Pattern.compile("(\\w+)\\s*[=!]");
    private static final Set<String> WORDS = Set.of("and", "or", "unless", "bool");
    /** Metric of Prometheus' own, which every target has. */
    private static final String UP = "up";

    /** @param expression in PromQL, with Grafana's variables */
    private record Asked(String where, String expression) {}

    @Test
    void everyMetric_isOneThatTheSidecarDocuments() throws IOException {
        Set<String> documented = new TreeSet<>(documented().keySet());
        documented.add(UP);
        assertThat(asked())
                .hasSizeGreaterThan(50)
                .allSatisfy(asked -> assertThat(documented).as(asked.where()).containsAll(names(asked.expression())));
    }

    @Test
    void everyLabel_isOneThatItsMetricHas() throws IOException {
        Map<String, Set<String>> documented = documented();
        for (Asked asked : asked()) {
            for (MatchResult selector :
                    SELECTOR.matcher(asked.expression()).results().toList()) {
                assertThat(documented.get(selector.group(1)))
                        .as(asked.where() + ": " + selector.group())
                        .containsAll(LABEL.matcher(selector.group(2).replaceAll("\"[^\"]*\"", ""))
                                .results()
                                .map(label -> label.group(1))
                                .toList());
            }
        }
    }

    @Test
    void everyDocumentedMetric_isUsedOrListedWithAReason() throws IOException {
        Set<String> left =
                rows().keySet().stream().map(WatchedMetricsTest::family).collect(Collectors.toSet());
        for (Asked asked : asked()) {
            names(asked.expression()).forEach(name -> left.remove(family(name)));
        }
        Set<String> listed = new TreeSet<>();
        for (String line : Files.readAllLines(DEPLOY.resolve("prometheus/not-used"))) {
            if (!line.startsWith("#")) {
                assertThat(line).matches("\\w+: \\S.+");
                listed.add(family(line.split(":")[0]));
            }
        }
        assertThat(listed).isEqualTo(new TreeSet<>(left));
    }

    @Test
    void everyAlert_saysWhatToDo_whereItsRunbookLeads() throws IOException {
        List<JsonNode> rules = rules();
        assertThat(rules).hasSizeGreaterThan(5).allSatisfy(rule -> {
            String alert = rule.path("alert").asText();
            assertThat(rule.at("/labels/severity").asText()).as(alert).isIn("critical", "warning");
            for (String text : List.of("summary", "description")) {
                assertThat(rule.at("/annotations/" + text).asText())
                        .as(alert + ": " + text)
                        .isNotBlank();
            }
            String[] runbook = rule.at("/annotations/runbook").asText().split("#", 2);
            Path page = ROOT.resolve(runbook[0]);
            assertThat(PagesTest.anchors(page)).as(alert).contains(runbook[1]);
            assertThat(page).content().contains("| `" + alert + "` |");
        });
        assertThat(Files.readString(ROOT.resolve("docs/operate.md")).lines())
                .filteredOn(line -> line.startsWith("| `Holdfast"))
                .hasSameSizeAs(rules);
    }

    @Test
    void dashboards_haveNoDataSourceOfTheirOwn_andNoPanelWithoutATitle() throws IOException {
        Set<String> known = new TreeSet<>();
        for (Path file : dashboards()) {
            JsonNode dashboard = json(file);
            assertThat(known.add(dashboard.path("uid").asText()))
                    .as("uid of " + file)
                    .isTrue();
            assertThat(dashboard.path("schemaVersion").asInt()).isEqualTo(42);
            assertThat(dashboard.at("/templating/list").findValuesAsText("name"))
                    .containsExactly("datasource", "engine");
            assertThat(panels(dashboard)).hasSizeGreaterThan(10).allSatisfy(panel -> {
                assertThat(panel.path("title").asText()).as(panel.toString()).isNotBlank();
                assertThat(panel.path("type").asText().equals("row") || panel.has("targets"))
                        .isTrue();
            });
            assertThat(panels(dashboard).stream().map(panel -> panel.path("id").asInt()))
                    .doesNotHaveDuplicates();
            assertThat(dashboard.findValues("datasource").stream()
                            .map(source -> source.path("uid").asText())
                            .distinct())
                    .containsExactlyInAnyOrder("${datasource}", "-- Grafana --");
        }
        assertThat(known).containsExactly("holdfast-engine", "holdfast-engines");
    }

    private static List<Asked> asked() throws IOException {
        List<Asked> asked = new ArrayList<>();
        for (JsonNode rule : rules()) {
            asked.add(new Asked(rule.path("alert").asText(), rule.path("expr").asText()));
        }
        for (Path file : dashboards()) {
            for (JsonNode panel : panels(json(file))) {
                for (JsonNode target : panel.path("targets")) {
                    asked.add(new Asked(
                            file.getFileName() + ": " + panel.path("title").asText(),
                            target.path("expr").asText()));
                }
            }
        }
        return asked;
    }

    /** Returns the metrics of an expression: without labels, ranges and the labels after by and on. */
    private static Set<String> names(String expression) {
        String bare = expression
                .replaceAll("\"[^\"]*\"", "")
                .replaceAll("\\{[^}]*}|\\[[^]]*]", " ")
                .replaceAll("\\b(by|on) \\([^)]*\\)", " ");
        return NAME.matcher(bare)
                .results()
                .map(MatchResult::group)
                .filter(name -> !WORDS.contains(name))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns the labels of each series: those of a summary are its count and its sum. */
    private static Map<String, Set<String>> documented() throws IOException {
        Map<String, Set<String>> series = new TreeMap<>();
        rows().forEach((name, row) -> {
            Set<String> labels = Set.of(row.group(3).split(", "));
            if (row.group(2).equals("summary")) {
                series.put(name + "_count", labels);
                series.put(name + "_sum", labels);
            } else {
                series.put(name, labels);
            }
        });
        return series;
    }

    private static Map<String, MatchResult> rows() throws IOException {
        Map<String, MatchResult> rows = new TreeMap<>();
        ROW.matcher(Files.readString(ROOT.resolve("docs/metrics.md")))
                .results()
                .forEach(row -> rows.put(row.group(1), row));
        assertThat(rows).hasSizeGreaterThan(80);
        return rows;
    }

    /** Returns the name under which the page lists a series. */
    private static String family(String series) {
        return series.replaceFirst("_seconds_(count|sum)$", "_seconds");
    }

    private static List<JsonNode> rules() throws IOException {
        JsonNode file = new YAMLMapper()
                .readTree(DEPLOY.resolve("prometheus/holdfast.rules.yaml").toFile());
        List<JsonNode> rules = new ArrayList<>();
        file.path("groups").forEach(group -> group.path("rules").forEach(rules::add));
        return rules;
    }

    private static List<Path> dashboards() throws IOException {
        try (Stream<Path> files = Files.list(DEPLOY.resolve("grafana"))) {
            return files.filter(file -> file.toString().endsWith(".json"))
                    .sorted()
                    .toList();
        }
    }

    private static JsonNode json(Path file) throws IOException {
        return new ObjectMapper().readTree(file.toFile());
    }

    /** Returns the panels, and those within closed rows. */
    private static List<JsonNode> panels(JsonNode of) {
        List<JsonNode> panels = new ArrayList<>();
        for (JsonNode panel : of.path("panels")) {
            panels.add(panel);
            panels.addAll(panels(panel));
        }
        return panels;
    }
}
