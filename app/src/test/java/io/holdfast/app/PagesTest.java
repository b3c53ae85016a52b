package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The pages that people read: their links lead somewhere, and the page of commands has every command. */
final class PagesTest {
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    private static final Path DOCS = ROOT.resolve("docs");
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
    private static final Pattern CODE = Pattern.compile("(?ms)^ *```.*?^ *```|`[^`\n]*`");
    private static final Pattern COMMAND = Pattern.compile("`(holdfast [a-z -]+)`");

    @Test
    void links_leadToFilesAndHeadings() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path page : pages()) {
            String text = CODE.matcher(Files.readString(page)).replaceAll("");
            LINK.matcher(text).results().map(link -> link.group(1)).forEach(link -> {
                if (!link.startsWith("https://") && !leads(page, link)) {
                    broken.add(ROOT.relativize(page) + ": " + link);
                }
            });
        }
        assertThat(broken).isEmpty();
    }

    /** A page that nobody links to is found by nobody. */
    @Test
    void everyPage_isLinkedFromTheReadme() throws IOException {
        Set<String> linked = LINK.matcher(Files.readString(ROOT.resolve("README.md")))
                .results()
                .map(link -> link.group(1).replaceAll("#.*", ""))
                .collect(Collectors.toSet());
        assertThat(docs()).allSatisfy(page -> assertThat(linked).contains("docs/" + page.getFileName()));
    }

    @Test
    void pageOfCommands_hasEveryCommand() throws IOException {
        Set<String> documented = COMMAND.matcher(Files.readString(DOCS.resolve("cli.md")))
                .results()
                .map(command -> command.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        List<Set<String>> commands = new ArrayList<>();
        collect(Holdfast.commandLine(CommandLine.defaultFactory()), "holdfast", commands);
        assertThat(commands)
                .hasSizeGreaterThan(20)
                .allSatisfy(names -> assertThat(documented).containsAnyElementsOf(names));
        assertThat(commands.stream().flatMap(Set::stream)).containsAll(documented);
    }

    /** Collects the names of each command that does something; presets are listed by {@code preset --list}. */
    private static void collect(CommandLine group, String path, List<Set<String>> commands) {
        for (CommandLine command : Set.copyOf(group.getSubcommands().values())) {
            Set<String> names = new TreeSet<>();
            for (String name : command.getCommandSpec().names()) {
                names.add(path + " " + name);
            }
            String name = path + " " + command.getCommandName();
            if (command.getSubcommands().isEmpty() || name.endsWith(" preset")) {
                commands.add(names);
            } else {
                collect(command, name, commands);
            }
        }
    }

    private static boolean leads(Path page, String link) {
        String[] parts = link.split("#", 2);
        Path target = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
        if (!Files.exists(target)) {
            return false;
        }
        return parts.length == 1 || anchors(target).contains(parts[1]);
    }

    static Set<String> anchors(Path page) {
        try {
            return CODE.matcher(Files.readString(page).replaceAll("`([^`\n]*)`", "$1"))
                    .replaceAll("")
                    .lines()
                    .filter(line -> line.startsWith("#"))
                    .map(line -> line.replaceFirst("#+ ", "")
                            .toLowerCase(Locale.ROOT)
                            .replaceAll("[^\\p{L}\\p{N} _-]", "")
                            .replace(' ', '-'))
                    .collect(Collectors.toSet());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(docs());
        for (String page : List.of(
                "README.md",
                "CONTRIBUTING.md",
                "SECURITY.md",
                "RELEASING.md",
                "THIRD-PARTY.md",
                "benchmarks/README.md")) {
            pages.add(ROOT.resolve(page));
        }
        pages.add(DOCS.resolve("runs").resolve("h200").resolve("README.md"));
        return pages;
    }

    private static List<Path> docs() throws IOException {
        try (Stream<Path> files = Files.list(DOCS)) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .toList();
        }
    }
}
