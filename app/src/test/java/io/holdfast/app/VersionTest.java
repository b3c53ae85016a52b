package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A release is built from the tree as it stands, so one version is written everywhere. */
class VersionTest {
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    /** The first version after the project's own group and artifact. */
    private static final Pattern OWN =
            Pattern.compile("<groupId>io\\.holdfast</groupId>\\s*<artifactId>[^<]+</artifactId>\\s*<version>([^<$]+)<");

    private static final Pattern MODULE = Pattern.compile("<module>([^<]+)</module>");
    private static final Pattern WHEEL = Pattern.compile("(?m)^version = \"([^\"]+)\"$");
    private static final Pattern API = Pattern.compile("(?m)^  version: (\\S+)$");

    /** An image, or a tarball. */
    private static final Pattern SHIPPED = Pattern.compile("holdfast[:-](\\d+\\.\\d+\\.\\d+)");

    @Test
    void everyPlaceThatNamesTheVersion_namesTheSame() throws IOException {
        Map<String, String> found = new TreeMap<>();
        for (Path pom : poms()) {
            found.put(pom.toString(), first(OWN, pom));
        }
        Path api = ROOT.resolve("sidecar/src/main/resources/io/holdfast/sidecar/http/openapi.yaml");
        found.put("openapi.yaml", first(API, api));
        found.put("the connector", first(WHEEL, ROOT.resolve("connectors/vllm/pyproject.toml")));
        found.put("docs/embed.md", first(OWN, ROOT.resolve("docs/embed.md")));
        CommandRun told = CommandRun.by("--version");
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        found.put("holdfast --version", told.out().strip().replaceFirst("^holdfast ", ""));

        assertThat(found).hasSizeGreaterThan(20);
        assertThat(found.values()).as(found.toString()).containsOnly(first(OWN, ROOT.resolve("pom.xml")));
    }

    @Test
    void everyImageAndTarballThatAPageNames_isOfThisVersion() throws IOException {
        String version = first(OWN, ROOT.resolve("pom.xml")).replace("-SNAPSHOT", "");
        for (String page : List.of("README.md", "docs/install.md")) {
            assertThat(SHIPPED.matcher(Files.readString(ROOT.resolve(page))).results())
                    .as(page)
                    .isNotEmpty()
                    .allSatisfy(named -> assertThat(named.group(1)).isEqualTo(version));
        }
    }

    private static List<Path> poms() throws IOException {
        String root = Files.readString(ROOT.resolve("pom.xml"));
        return Stream.concat(
                        Stream.of(".", "examples/standalone"),
                        MODULE.matcher(root).results().map(module -> module.group(1)))
                .map(module -> ROOT.resolve(module).resolve("pom.xml").normalize())
                .toList();
    }

    private static String first(Pattern pattern, Path file) throws IOException {
        Matcher found = pattern.matcher(Files.readString(file));
        assertThat(found.find()).as("a version in %s", file).isTrue();
        return found.group(1);
    }
}
