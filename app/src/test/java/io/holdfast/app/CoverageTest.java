package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds the list of coverage, {@code coverage.md}, to the tests that it names, and its sums to its tables. */
final class CoverageTest {
    private static final Pattern HEADING = Pattern.compile("(?m)^##? ");
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    private static final Path TESTS = Path.of("src", "test", "java");
    private static final Path COVERAGE = Path.of("src", "test", "resources", "io", "holdfast", "app", "coverage.md");
    private static final List<String> STATES = List.of("works", "thin", "open");
    private static final Pattern ID = Pattern.compile("S[0-4]-\\d\\d");
    private static final Pattern TOLD_ROW = Pattern.compile("(?m)^\\| *(S\\S*) *\\|");
    private static final Pattern SUM = Pattern.compile("(\\d+) rows: (\\d+) work, (\\d+) are thin, (\\d+) are open");
    private static final Pattern OF_A_LIST = Pattern.compile("(S[0-4]) (\\d+) / (\\d+) / (\\d+)");
    private static final Pattern NAMED = Pattern.compile("\\b([A-Z]\\w*Test)\\b(?:\\.(\\w+))?(…?)");
    private static final Pattern ABBREVIATED = Pattern.compile("[\\s(`]\\.\\w+_\\w+|\\w…|_\\.\\.\\.");
    private static final Pattern CLASS = Pattern.compile("\\bclass (\\w+)(?: extends (\\w+))?");
    private static final Pattern MARK =
            Pattern.compile("@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|ArchTest)\\b");
    private static final Pattern METHOD = Pattern.compile("\\b(?:void|ArchRule|\\w+<[^>]*>) (\\w+)\\s*[(=]");

    /** One row of a table. */
    private record Row(String id, String state, String shown) {}

    /** One table with the text before it. */
    private record Section(String title, String text, List<Row> rows) {}

    private record Sum(int all, int work, int thin, int open) {
        static Sum of(List<String> states) {
            return new Sum(states.size(), count(states, 0), count(states, 1), count(states, 2));
        }

        private static int count(List<String> states, int which) {
            return (int) states.stream().filter(STATES.get(which)::equals).count();
        }

        static Sum read(MatchResult told) {
            int[] numbers = new int[4];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = Integer.parseInt(told.group(i + 1));
            }
            return new Sum(numbers[0], numbers[1], numbers[2], numbers[3]);
        }
    }

    @Test
    void tests_thatThePageNames_areThere() throws IOException {
        Map<String, Set<String>> tests = tests();
        List<String> missing = new ArrayList<>();
        for (Section section : sections()) {
            for (Row row : section.rows()) {
                Matcher named = NAMED.matcher(row.shown());
                while (named.find()) {
                    Set<String> methods = tests.getOrDefault(named.group(1), Set.of());
                    String method = named.group(2);
                    if (methods.isEmpty() || (method != null && !methods.contains(method))) {
                        missing.add(row.id() + ": " + named.group());
                    }
                }
                Matcher abbreviated = ABBREVIATED.matcher(row.shown());
                if (abbreviated.find()) {
                    missing.add(row.id() + ": '" + abbreviated.group().strip() + "' is no whole name");
                }
            }
        }
        assertThat(missing).isEmpty();
    }

    @Test
    void rows_haveAnIdOnceATableAndAKnownState() throws IOException {
        for (Section section : sections()) {
            List<String> ids = section.rows().stream().map(Row::id).toList();
            assertThat(ids).as(section.title()).doesNotHaveDuplicates().isSorted();
            assertThat(ids).as(section.title()).allMatch(ID.asMatchPredicate());
            assertThat(section.rows()).as(section.title()).allSatisfy(row -> {
                assertThat(row.state()).as(row.id()).isIn(STATES);
                assertThat(row.shown()).as(row.id()).isNotBlank();
            });
        }
    }

    @Test
    void sums_areThoseOfTheTables() throws IOException {
        List<Section> sections = sections();
        assertThat(sections).hasSizeGreaterThan(1);
        for (Section section : sections) {
            List<String> states = section.rows().stream().map(Row::state).toList();
            assertThat(sums(section.text()).getLast()).as(section.title()).isEqualTo(Sum.of(states));
        }
        Map<String, String> all = states(sections);
        assertThat(sums(sections.getFirst().text()).getFirst())
                .as("the sum of all tables")
                .isEqualTo(Sum.of(List.copyOf(all.values())));
        Map<String, Sum> told = new TreeMap<>();
        OF_A_LIST.matcher(sections.getFirst().text()).results().forEach(list -> {
            List<String> states = all.entrySet().stream()
                    .filter(row -> row.getKey().startsWith(list.group(1)))
                    .map(Map.Entry::getValue)
                    .toList();
            Sum sum = Sum.of(states);
            told.put(list.group(1), sum);
            assertThat(List.of(list.group(2), list.group(3), list.group(4)))
                    .as(list.group(1))
                    .containsExactly(
                            Integer.toString(sum.work()), Integer.toString(sum.thin()), Integer.toString(sum.open()));
        });
        assertThat(told).containsOnlyKeys("S0", "S1", "S2", "S3", "S4");
    }

    @Test
    void rows_areThoseThatWereAskedFor() throws IOException {
        Path asked = ROOT.resolve("../shared/reference/mission.md");
        assumeThat(asked)
                .as("the rows that were asked for lie beside the repository")
                .exists();
        Set<String> ids = TOLD_ROW.matcher(Files.readString(asked))
                .results()
                .map(row -> row.group(1))
                .filter(ID.asMatchPredicate())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(ids).hasSizeGreaterThan(250);
        assertThat(states(sections())).containsOnlyKeys(ids);
    }

    /** Returns the state of each row: where several tables have it, the one that works least. */
    private static Map<String, String> states(List<Section> sections) {
        Map<String, String> all = new TreeMap<>();
        sections.stream()
                .flatMap(section -> section.rows().stream())
                .forEach(row -> all.merge(
                        row.id(),
                        row.state(),
                        (one, other) -> STATES.indexOf(one) < STATES.indexOf(other) ? other : one));
        return all;
    }

    private static List<Sum> sums(String text) {
        List<Sum> sums = SUM.matcher(text).results().map(Sum::read).toList();
        assertThat(sums).as(text).isNotEmpty();
        return sums;
    }

    private static List<Section> sections() throws IOException {
        List<Section> sections = new ArrayList<>();
        for (String part : HEADING.splitAsStream(Files.readString(COVERAGE)).toList()) {
            if (!part.isBlank()) {
                List<Row> rows = part.lines()
                        .filter(line -> TOLD_ROW.matcher(line).find())
                        .map(CoverageTest::row)
                        .toList();
                sections.add(new Section(
                        part.lines().findFirst().orElseThrow(),
                        part.lines().filter(line -> !line.startsWith("|")).collect(Collectors.joining("\n")),
                        rows));
            }
        }
        return sections;
    }

    private static Row row(String line) {
        String[] cells = line.split("\\|", -1);
        assertThat(cells).as(line).hasSize(6);
        return new Row(cells[1].strip(), cells[3].strip(), cells[4]);
    }

    /** Returns the methods of each class of tests in the repository, with those of the classes that it extends. */
    private static Map<String, Set<String>> tests() throws IOException {
        Map<String, Set<String>> own = new LinkedHashMap<>();
        Map<String, String> parents = new TreeMap<>();
        try (Stream<Path> files = Files.walk(ROOT)) {
            List<Path> sources = files.filter(file -> file.toString().contains(TESTS.toString())
                            && file.toString().endsWith(".java"))
                    .toList();
            for (Path file : sources) {
                read(file, own, parents);
            }
        }
        Map<String, Set<String>> all = new TreeMap<>();
        own.forEach((name, methods) -> {
            Set<String> with = new TreeSet<>(methods);
            for (String parent = parents.get(name); parent != null; parent = parents.get(parent)) {
                with.addAll(own.getOrDefault(parent, Set.of()));
            }
            all.put(name, with);
        });
        return all;
    }

    private static void read(Path file, Map<String, Set<String>> own, Map<String, String> parents) throws IOException {
        String text = Files.readString(file);
        String name = file.getFileName().toString().replace(".java", "");
        CLASS.matcher(text)
                .results()
                .filter(type -> type.group(1).equals(name) && type.group(2) != null)
                .findFirst()
                .ifPresent(type -> parents.put(name, type.group(2)));
        Set<String> methods = own.computeIfAbsent(name, _ -> new TreeSet<>());
        String[] parts = MARK.split(text, -1);
        for (int i = 1; i < parts.length; i++) {
            Matcher method = METHOD.matcher(parts[i]);
            if (method.find()) {
                methods.add(method.group(1));
            }
        }
    }
}
