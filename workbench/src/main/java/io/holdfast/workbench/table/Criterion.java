package io.holdfast.workbench.table;

import com.fasterxml.jackson.annotation.JsonValue;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.workbench.compare.Comparison.Named;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A goal of an experiment, and whether it was reached.
 *
 * @param evidence what shows it, or why it could not be measured; never empty
 */
public record Criterion(String criterion, State state, List<String> evidence) {
    /** State of a criterion. */
    public enum State {
        MET("met"),
        NOT_MET("not met"),
        NOT_MEASURED("not measured");

        private final String text;

        State(String text) {
            this.text = text;
        }

        /** Returns the word of a cell. */
        @JsonValue
        public String text() {
            return text;
        }
    }

    private static final List<String> COLUMNS = List.of("criterion", "state", "evidence");
    private static final Pattern HITS = Pattern.compile("hit rate|cached|cache hits?");
    private static final Pattern VERSUS = Pattern.compile("(\\S+) (?:vs\\.?|versus|against) (\\S+)");
    private static final Pattern NAMES = Pattern.compile("success (metric|criterion|criteria)|criterion|criteria");

    public Criterion {
        evidence = List.copyOf(evidence);
        if (criterion.isBlank() || evidence.isEmpty()) {
            throw new LoadTestException(
                    "A criterion has a sentence and evidence, and '" + criterion + "' lacks one of them; write both.");
        }
    }

    /**
     * Returns the criteria that a table of a document names, even without a word on how they came out; absent where it
     * is no such table.
     */
    static Optional<List<Criterion>> named(TableText table) {
        Optional<List<List<String>>> judged = table.rows(COLUMNS);
        if (judged.isPresent()) {
            return judged.map(rows -> rows.stream().map(Criterion::of).toList());
        }
        return IntStream.range(0, table.header().size())
                .filter(at ->
                        NAMES.matcher(Column.words(table.header().get(at))).matches())
                .boxed()
                .findFirst()
                .map(at -> table.rows().stream()
                        .map(row -> row.stream()
                                .limit(at + 1L)
                                .map(Figure::plain)
                                .filter(cell -> !cell.isEmpty())
                                .collect(Collectors.joining(": ")))
                        .filter(criterion -> !criterion.isBlank())
                        .map(criterion -> notMeasured(criterion, "the document has no result of it"))
                        .toList());
    }

    private static Criterion notMeasured(String criterion, String why) {
        return new Criterion(criterion, State.NOT_MEASURED, List.of(why));
    }

    /** Returns the criteria by what results have: a criterion of which they have nothing stays not measured. */
    public static List<Criterion> by(List<Criterion> criteria, List<Named> files) {
        String names = files.stream().map(Named::name).collect(Collectors.joining(", "));
        return criteria.stream()
                .map(each -> {
                    List<String> found = evidence(each.criterion, files);
                    return each.state != State.NOT_MEASURED
                            ? each
                            : found.isEmpty()
                                    ? notMeasured(each.criterion, "no result of it in " + names)
                                    : new Criterion(each.criterion, State.MET, found);
                })
                .toList();
    }

    private static List<String> evidence(String criterion, List<Named> files) {
        String words = Column.words(criterion);
        List<String> found = new ArrayList<>();
        Matcher versus = VERSUS.matcher(words);
        for (Named file : files) {
            if (HITS.matcher(words).find()) {
                shares(file).ifPresent(found::add);
            }
            if (versus.reset().find()) {
                both(file, versus.group(1), versus.group(2)).ifPresent(found::add);
            }
        }
        return found;
    }

    private static Optional<String> shares(Named file) {
        double[] shares = file.results().results().stream()
                .flatMapToDouble(result -> result.measures().of(Metric.CACHED_SHARE).stream())
                .sorted()
                .toArray();
        return shares.length == 0
                ? Optional.empty()
                : Optional.of(file.name() + ": cached share " + Metric.CACHED_SHARE.shown(shares[0])
                        + (shares.length > 1
                                ? " to " + Metric.CACHED_SHARE.shown(shares[shares.length - 1]) + " in " + shares.length
                                        + " results"
                                : ""));
    }

    /** Returns a metric of which each of two variants has a result. */
    private static Optional<String> both(Named file, String one, String other) {
        return Stream.of(Metric.percentile(Quantity.TTFT, 50), Metric.OUTPUT_THROUGHPUT)
                .flatMap(metric -> value(file, one, metric)
                        .flatMap(first -> value(file, other, metric)
                                .map(second -> file.name() + ": " + metric.title() + " " + first + ", " + second))
                        .stream())
                .findFirst();
    }

    private static Optional<String> value(Named file, String variant, Metric metric) {
        return file.results().results().stream()
                .filter(result -> result.settings().values().stream().anyMatch(variant::equalsIgnoreCase))
                .flatMapToDouble(result -> result.measures().of(metric).stream())
                .average()
                .stream()
                .mapToObj(value -> metric.shown(value) + " with " + variant)
                .findFirst();
    }

    /** Reads a table with the columns criterion, state and evidence; evidence is parted by semicolons. */
    public static List<Criterion> read(Path file) {
        return TableText.rows(file, COLUMNS).stream().map(Criterion::of).toList();
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
                TableText.parts(row.get(2)));
    }
}
