package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.sidecar.config.Section.Located;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The Helm chart's schema of the configuration, which deploy/helm/render makes, has the keys of this version. */
class ChartSchemaTest {
    private static final String MEND = "run deploy/helm/render";
    private static final Path SCHEMA = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."))
            .resolve("deploy/helm/holdfast/values.schema.json");

    private final JsonNode definitions =
            new ObjectMapper().readTree(SCHEMA.toFile()).path("$defs");

    ChartSchemaTest() throws IOException {}

    private JsonNode of(String path) {
        return definitions.path(path.isEmpty() ? "config" : "config." + path);
    }

    @Test
    void everySection_hasItsKeysAndNoOthers() {
        assertThat(Section.ROOT.all("").map(Located::path))
                .hasSizeGreaterThan(5)
                .allSatisfy(
                        path -> assertThat(of(path).path("additionalProperties").asText())
                                .as("%s: %s", path, MEND)
                                .isEqualTo("false"));
        Section.ROOT
                .all("")
                .forEach(each -> assertThat(of(each.path()).path("properties").properties())
                        .as("%s: %s", each.path(), MEND)
                        .extracting(property -> property.getKey())
                        .containsExactlyElementsOf(each.section().keys().stream()
                                .map(ConfigKey::name)
                                .toList()));
    }

    @Test
    void requiredKeys_areThoseThatHaveNoDefaultAndNeedAValue() {
        Section.ROOT.all("").filter(each -> !each.path().isEmpty()).forEach(each -> {
            List<String> required = new ArrayList<>();
            of(each.path()).path("required").forEach(name -> required.add(name.asText()));
            assertThat(required)
                    .as("%s: %s, after REQUIRED in deploy/helm/chart.py", each.path(), MEND)
                    .containsExactlyInAnyOrderElementsOf(each.section().keys().stream()
                            .filter(key ->
                                    key.none().isEmpty() && key.standard().isEmpty())
                            .map(ConfigKey::name)
                            .toList());
        });
    }

    @Test
    void words_areThoseOfTheKey() {
        Section.ROOT
                .all("")
                .forEach(each -> each.section().keys().stream()
                        .filter(key -> key.type().isEnum())
                        .forEach(key -> {
                            List<String> words = new ArrayList<>();
                            of(each.path())
                                    .path("properties")
                                    .path(key.name())
                                    .path("enum")
                                    .forEach(word -> words.add(word.asText()));
                            assertThat(new TreeSet<>(words))
                                    .as("%s.%s: %s", each.path(), key.name(), MEND)
                                    .containsExactlyInAnyOrderElementsOf(key.words());
                        }));
    }
}
