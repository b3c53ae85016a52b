package io.holdfast.loadtest.table;

import io.holdfast.loadtest.LoadTestException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

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

    public Criterion {
        evidence = List.copyOf(evidence);
        if (criterion.isBlank() || evidence.isEmpty()) {
            throw new LoadTestException(
                    "A criterion has a sentence and evidence, and '" + criterion + "' lacks one of them; write both.");
        }
    }

    /** Reads a table with the columns criterion, state and evidence; evidence is parted by semicolons. */
    public static List<Criterion> read(Path file) {
        return WordTable.read(file, List.of("criterion", "state", "evidence")).stream()
                .map(row -> new Criterion(
                        row.get(0),
                        Arrays.stream(State.values())
                                .filter(state -> state.text.equalsIgnoreCase(row.get(1)))
                                .findFirst()
                                .orElseThrow(() -> new LoadTestException("The criterion '" + row.get(0) + "' of " + file
                                        + " has the state '" + row.get(1) + "'; write one of "
                                        + Arrays.stream(State.values())
                                                .map(State::text)
                                                .collect(Collectors.joining(", "))
                                        + ".")),
                        WordTable.parts(row.get(2))))
                .toList();
    }
}
