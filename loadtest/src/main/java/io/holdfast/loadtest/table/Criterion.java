package io.holdfast.loadtest.table;

import io.holdfast.loadtest.LoadTestException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What an experiment was to reach, and whether it did.
 *
 * @param evidence what shows it, or why it could not be measured; never empty
 */
public record Criterion(String criterion, State state, List<String> evidence) {
    /** Whether it was reached. */
    public enum State {
        MET("met"),
        NOT_MET("not met"),
        NOT_MEASURED("not measured");

        private final String text;

        State(String text) {
            this.text = text;
        }

        public String text() {
            return text;
        }
    }

    private static final List<String> COLUMNS = List.of("criterion", "state", "evidence");
    private static final Pattern NAMES = Pattern.compile("success (metric|criterion|criteria)|criterion|criteria");

    public Criterion {
        evidence = List.copyOf(evidence);
        if (criterion.isBlank() || evidence.isEmpty()) {
            throw new LoadTestException(
                    "A criterion has a sentence and evidence, and '" + criterion + "' lacks one of them; write both.");
        }
    }

    /** Those that a table of a document names, be it without a word on how they came out; absent where it is no such table. */
    static Optional<List<Criterion>> named(TableText table) {
        if (COLUMNS.stream().allMatch(name -> WordTable.has(table, name))) {
            return Optional.of(
                    WordTable.rows(table, COLUMNS).stream().map(Criterion::of).toList());
        }
        List<String> header = table.header();
        return IntStream.range(0, header.size())
                .filter(at -> NAMES.matcher(Column.words(header.get(at))).matches())
                .boxed()
                .findFirst()
                .map(at -> table.rows().stream()
                        .map(row -> row.stream()
                                .limit(at + 1L)
                                .map(Figure::plain)
                                .filter(cell -> !cell.isEmpty())
                                .collect(Collectors.joining(": ")))
                        .filter(criterion -> !criterion.isBlank())
                        .map(criterion ->
                                new Criterion(criterion, State.NOT_MEASURED, List.of("the document has no result of it")))
                        .toList());
    }

    /** Reads a table with the columns criterion, state and evidence; evidence is parted by semicolons. */
    public static List<Criterion> read(Path file) {
        return WordTable.read(file, COLUMNS).stream().map(Criterion::of).toList();
    }

    private static Criterion of(List<String> row) {
        return new Criterion(
                row.get(0),
                Arrays.stream(State.values())
                        .filter(state -> state.text.equalsIgnoreCase(row.get(1)))
                        .findFirst()
                        .orElseThrow(() -> new LoadTestException("The criterion '" + row.get(0) + "' has the state '"
                                + row.get(1) + "'; write one of "
                                + Arrays.stream(State.values()).map(State::text).collect(Collectors.joining(", "))
                                + ".")),
                WordTable.parts(row.get(2)));
    }
}
