package io.holdfast.workbench.table;

import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.table.Phases.Phase;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/*
 * What a log looks like
 * ---------------------
 * Under "## Phase NAME" stands "### WORKLOAD" for each workload; below that a line with the id of its requests and what
 * was the same for all models, a table with a row for each metric and a column for each model, and a second table with
 * the change against the last phase that had this workload. People write what they like between and around these; a
 * line with settings and a table whose first column is "metric" are all that is read back.
 *
 * A log only ever grows: what was in the file stays as it was, byte for byte, and the new phase is behind it. The file
 * is replaced as a whole, so a process that dies meanwhile leaves the old one.
 */

/** A benchmark log in Markdown to which phases are appended. */
public final class BenchmarkLog {
    private static final List<String> ROWS = List.of(
            "output_throughput",
            "ttft_p50",
            "ttft_p95",
            "ttft_p99",
            "itl_p50",
            "itl_p95",
            "itl_p99",
            "e2e_p50",
            "errors");
    private static final String ID = "[0-9a-f]{64}";

    /** Settings that are the names of a table and of its columns. */
    private static final Set<String> NAMES = Set.of(Column.WORKLOAD, Column.MODEL);

    private final Path file;
    private final String text;
    private final Phases phases;

    private BenchmarkLog(Path file, String text, Phases phases) {
        this.file = file;
        this.text = text;
        this.phases = phases;
    }

    /**
     * Result of appending to a log.
     *
     * @param workloads by name, each with the phase that it is compared with
     * @param worse what became worse by more than 5 %, the worst first
     */
    public record Appended(Map<String, Optional<String>> workloads, Set<String> models, List<String> worse) {}

    /** Opens a log; a file that is not there yet is one without phases. */
    public static BenchmarkLog open(Path file) {
        if (!Files.exists(file)) {
            return new BenchmarkLog(file, "", new Phases(List.of()));
        }
        String text;
        try {
            text = Files.readString(file);
        } catch (IOException e) {
            throw new LoadTestException(
                    "The log " + file + " cannot be read (" + e.getMessage() + "); name a file in Markdown.");
        }
        List<PublishedTable> results = TableText.of(file + ".md", text).tables().stream()
                .filter(table -> table.header().getFirst().equalsIgnoreCase("metric")
                        && table.header().stream().noneMatch("better"::equalsIgnoreCase))
                .map(table -> PublishedTable.of(table, PublishedTable.Told.nothing()))
                .toList();
        return new BenchmarkLog(file, text, Phases.of(results, List.of()));
    }

    /** Appends a phase with the results of these files, CSV or those that a preset wrote. */
    public Appended append(String phase, List<Path> results) {
        String name = phase.regionMatches(true, 0, "phase ", 0, "phase ".length()) ? phase : "Phase " + phase;
        if (phase.isBlank() || phase.chars().anyMatch(Character::isISOControl)) {
            throw new LoadTestException("The phase has no name; write one line, as --phase '5: continuous batching'.");
        }
        if (phases.phases().stream().anyMatch(each -> each.name().equals(name))) {
            throw new LoadTestException("The log " + file + " has a '" + name + "' already; name another one.");
        }
        Phase now = new Phase(
                name, results.stream().flatMap(each -> read(each).stream()).toList(), List.of(), List.of());
        now.workloads().forEach(workload -> refuseRedefined(now, workload));
        Map<String, Optional<String>> against = new LinkedHashMap<>();
        List<Comparison> changes = new ArrayList<>();
        StringBuilder out = new StringBuilder("## ").append(name).append("\n\n");
        out.append("Single runs: no figure here has an interval.\n");
        for (String workload : now.workloads()) {
            Optional<Phase> last = phases.lastWith(workload);
            against.put(workload, last.map(Phase::name));
            changes.addAll(write(now, workload, last, out));
        }
        replace(out.toString());
        return new Appended(
                against,
                models(now.results()),
                PhaseReview.regressions(changes).stream()
                        .map(PhaseReview::placed)
                        .toList());
    }

    /** Returns the models of some results; one without a name is called a value. */
    private static Set<String> models(List<Observation> results) {
        return results.stream().map(BenchmarkLog::model).collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static String model(Observation each) {
        return each.where().getOrDefault(Column.MODEL, "value");
    }

    /**
     * Returns the results in tables in a form that can be compared: each phase of a log as a file of its own.
     *
     * @param phases those that are meant; all where none is named
     * @param notes takes what is not to be seen in the results
     */
    public static List<Named> results(Path file, List<String> phases, List<String> notes) {
        PublishedDocument document = PublishedDocument.of(TableText.read(file), Map.of());
        document.skipped().forEach(each -> notes.add("Skipped: " + each));
        Phases all = Phases.of(document.tables(), document.prose());
        if (phases.isEmpty() && all.phases().isEmpty()) {
            document.tables().forEach(table -> notes.addAll(table.notes()));
            String name = String.valueOf(file.getFileName()).replaceFirst("\\.\\w+$", "");
            return List.of(new Named(name, results(name, document.results())));
        }
        return (phases.isEmpty()
                        ? all.phases().stream()
                        : phases.stream().map(each -> all.called(each, file.toString())))
                .map(phase -> {
                    String name = Phases.plain(phase.name());
                    phase.otherServers().forEach(each -> notes.add(name + ", " + each.where() + ": " + each.text()));
                    return new Named(name, results(name, phase.results()));
                })
                .toList();
    }

    /** Returns one result for each place, told apart by its model and by whatever else it takes. */
    private static ResultFile results(String suite, List<Observation> observations) {
        Set<String> names = telling(observations);
        List<LoadResult> results = observations.stream()
                .collect(Collectors.groupingBy(
                        each -> List.of(each.where(), each.side(), each.repetition()),
                        LinkedHashMap::new,
                        Collectors.toList()))
                .values()
                .stream()
                .map(place -> result(place, names))
                .toList();
        if (results.isEmpty()) {
            throw new LoadTestException("'" + suite + "' has no results; name tables with numbers.");
        }
        return new ResultFile(suite, "unknown", "unknown", Map.of(), results);
    }

    private static LoadResult result(List<Observation> place, Set<String> names) {
        Observation first = place.getFirst();
        Map<String, String> settings = new LinkedHashMap<>(first.where());
        settings.keySet().retainAll(names);
        first.side().ifPresent(side -> settings.put("arm", side.name().toLowerCase(Locale.ROOT)));
        Map<Metric, Double> values = new LinkedHashMap<>();
        place.forEach(each -> values.putIfAbsent(each.metric(), each.value()));
        return new LoadResult(
                first.workload() + "/" + String.join("/", settings.values())
                        + first.repetition().map(each -> "/run" + each).orElse(""),
                first.workload(),
                Optional.ofNullable(first.where().get(Column.WORKLOAD_ID)),
                "a table",
                settings,
                // None where it is not told.
                (int) Figure.value(first.where().get(Column.REQUESTS)),
                Map.of(),
                new Measures(values));
    }

    /** Returns the settings without which two places of one workload would be the same. */
    private static Set<String> telling(List<Observation> observations) {
        Set<String> telling = new LinkedHashSet<>(Set.of(Column.MODEL));
        observations.stream()
                .flatMap(each -> each.where().keySet().stream())
                .filter(name -> !name.equals(Column.WORKLOAD) && !name.equals(Column.WORKLOAD_ID))
                .distinct()
                .forEach(name -> {
                    Set<String> more = new LinkedHashSet<>(telling);
                    more.add(name);
                    if (places(observations, more) > places(observations, telling)) {
                        telling.add(name);
                    }
                });
        return telling;
    }

    private static long places(List<Observation> observations, Set<String> settings) {
        return observations.stream()
                .map(each -> List.of(
                        each.workload(),
                        each.metric(),
                        each.side(),
                        each.repetition(),
                        settings.stream()
                                .map(name -> each.where().getOrDefault(name, ""))
                                .toList()))
                .distinct()
                .count();
    }

    private static List<Observation> read(Path file) {
        List<Observation> results;
        if (file.toString().endsWith(".json")) {
            ResultFile from = ResultFile.read(file);
            results = from.results().stream()
                    .flatMap(result -> observations(result, from.model()))
                    .toList();
        } else {
            PublishedDocument document = PublishedDocument.of(TableText.read(file), Map.of());
            // A table that is left out would be results that nobody misses.
            document.skipped().stream().findFirst().ifPresent(sentence -> {
                throw new LoadTestException("The results " + file + " are not all understood. " + sentence);
            });
            results = document.tables().stream()
                    .flatMap(table -> table.observations().stream())
                    .toList();
        }
        results.forEach(each -> refuseUnnamed(each, file));
        return results;
    }

    private static void refuseUnnamed(Observation each, Path file) {
        if (each.workload().isEmpty()) {
            throw new LoadTestException(
                    "The results " + file + " do not say of which workload they are; add a column 'workload'.");
        }
        if (!each.where().getOrDefault(Column.WORKLOAD_ID, "").matches(ID)) {
            throw new LoadTestException("The workload '" + each.workload() + "' of " + file
                    + " has no id; add a column 'workload id' with the SHA-256 of its requests.");
        }
    }

    private static Stream<Observation> observations(LoadResult result, String model) {
        Map<String, String> where = new LinkedHashMap<>(PublishedTable.settings(result.settings().entrySet().stream()
                .map(setting -> setting.getKey() + ": " + setting.getValue())
                .toList()));
        where.put(Column.WORKLOAD, result.workload());
        result.workloadId().ifPresent(id -> where.put(Column.WORKLOAD_ID, id));
        where.put(Column.MODEL, model);
        return result.measures().values().entrySet().stream().flatMap(each -> {
            // As tables have it, so that a log reads the same whatever wrote the numbers.
            String[] shown = (each.getKey().shown(each.getValue()) + " ").split(" ", 2);
            return Figure.of(shown[0]).stream()
                    .map(figure -> new Observation(
                            where,
                            Optional.empty(),
                            Optional.empty(),
                            Optional.empty(),
                            each.getKey(),
                            figure,
                            each.getValue(),
                            shown[1].strip()));
        });
    }

    private void refuseRedefined(Phase now, String workload) {
        Set<String> ids = now.ids(workload);
        if (ids.size() > 1) {
            throw new LoadTestException("The workload '" + workload + "' has " + ids.size()
                    + " ids in these results, so models were not asked the same; run it again.");
        }
        String id = ids.iterator().next();
        phases.lastWith(workload)
                .ifPresent(last -> last.ids(workload).stream()
                        .filter(was -> !was.equals(id))
                        .findFirst()
                        .ifPresent(was -> {
                            throw new LoadTestException(
                                    "The workload '" + workload + "' was redefined: in " + last.name()
                                            + " its requests had the id " + was.substring(0, 12) + ", and now "
                                            + id.substring(0, 12)
                                            + "; give it another name, or run the old phases again.");
                        }));
    }

    private static List<Comparison> write(Phase now, String workload, Optional<Phase> last, StringBuilder out) {
        List<Observation> measured = now.of(workload);
        Set<String> models = models(measured);
        Map<String, String> common = new LinkedHashMap<>(measured.getFirst().where());
        measured.forEach(each -> common.entrySet().retainAll(each.where().entrySet()));
        common.keySet().removeAll(NAMES);
        Set<String> own = new TreeSet<>();
        measured.forEach(each -> own.addAll(each.where().keySet()));
        own.removeAll(common.keySet());
        own.removeAll(NAMES);
        List<Metric> metrics = ROWS.stream()
                .flatMap(name -> measured.stream()
                        .map(Observation::metric)
                        .filter(metric -> metric.name().equals(name))
                        .limit(1))
                .toList();
        out.append("\n### ").append(workload).append("\n\n");
        out.append(common.entrySet().stream()
                        .map(each -> each.getKey() + ": " + each.getValue())
                        .collect(Collectors.joining(", ")))
                .append("\n\n");
        row(out, Stream.of("metric"), models.stream());
        out.append("|---").append("|---:".repeat(models.size())).append("|\n");
        for (String setting : own) {
            row(
                    out,
                    Stream.of(setting),
                    cells(models, measured, each -> each.where().getOrDefault(setting, "-")));
        }
        for (Metric metric : metrics) {
            Stream<String> figures = cells(
                    models,
                    measured.stream()
                            .filter(each -> each.metric().equals(metric))
                            .toList(),
                    each -> each.figure().text());
            row(out, Stream.of(name(metric, measured)), figures);
        }
        List<Remark> notes = now.otherServers().stream()
                .filter(each -> each.where().startsWith(workload + ","))
                .toList();
        out.append(notes.isEmpty() ? "" : "\n");
        notes.forEach(each -> out.append("* ").append(each.text()).append('\n'));
        List<Comparison> changes = last.map(before -> Phases.changes(before.of(workload), measured, new Remarks()))
                .orElse(List.of());
        if (!changes.isEmpty()) {
            out.append("\nAgainst ").append(last.orElseThrow().name()).append(", single runs both:\n\n");
            row(out, Stream.of("metric", "better"), models.stream());
            out.append("|---".repeat(models.size() + 2)).append("|\n");
            for (Metric metric : metrics) {
                Map<Observation, String> byResult = changes.stream()
                        .filter(each -> each.metric().equals(metric))
                        .collect(Collectors.toMap(Comparison::treatment, BenchmarkLog::change));
                String better = metric.better().name().toLowerCase(Locale.ROOT);
                row(
                        out,
                        Stream.of(name(metric, measured), better),
                        cells(models, byResult.keySet(), each -> byResult.getOrDefault(each, "-")));
            }
        }
        return changes;
    }

    private static void row(StringBuilder out, Stream<String> names, Stream<String> cells) {
        out.append(Stream.concat(names, cells.map(cell -> cell.replace("|", "\\|")))
                .collect(Collectors.joining(" | ", "| ", " |\n")));
    }

    /** Returns a cell of each model, from its first result. */
    private static Stream<String> cells(
            Set<String> models, Collection<Observation> results, Function<Observation, String> cell) {
        return models.stream()
                .map(model -> results.stream()
                        .filter(each -> model(each).equals(model))
                        .findFirst()
                        .map(cell)
                        .orElse("-"));
    }

    /** Returns the name under which it is read back, with the unit of its numbers. */
    private static String name(Metric metric, List<Observation> measured) {
        String unit = measured.stream()
                .filter(each -> each.metric().equals(metric))
                .map(Observation::unit)
                .findFirst()
                .orElse("");
        return metric.title() + (unit.isEmpty() ? "" : " (" + unit + ")");
    }

    /** Returns a text such as {@code 212.9 -> 104.2 (-51.1 %, worse)}. */
    private static String change(Comparison each) {
        String word = each.direction() > 0 ? ", better" : each.direction() < 0 ? ", worse" : "";
        return each.text().endsWith(")")
                ? each.text().replaceFirst("\\)$", word + ")")
                : each.text() + (word.isEmpty() ? "" : " (" + word.substring(2) + ")");
    }

    private void replace(String phase) {
        String end = text.contains("\r\n") ? "\r\n" : "\n";
        String before = text.isEmpty() ? "# Benchmark log\n\n" : text.endsWith("\n") ? "\n" : "\n\n";
        byte[] added = (before + phase).replace("\n", end).getBytes(StandardCharsets.UTF_8);
        Path next = file.resolveSibling(file.getFileName() + ".next");
        try {
            byte[] old = Files.exists(file) ? Files.readAllBytes(file) : new byte[0];
            if (!new String(old, StandardCharsets.UTF_8).equals(text)) {
                throw new LoadTestException("The log " + file + " changed meanwhile; do it again.");
            }
            byte[] all = new byte[old.length + added.length];
            System.arraycopy(old, 0, all, 0, old.length);
            System.arraycopy(added, 0, all, old.length, added.length);
            Files.write(next, all);
            move(next);
        } catch (IOException e) {
            throw new LoadTestException("The log " + file + " cannot be written (" + FileTrouble.why(e)
                    + "); name a file in a folder that is there.");
        }
    }

    private void move(Path next) throws IOException {
        try {
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (AtomicMoveNotSupportedException e) {
            Files.move(next, file, StandardCopyOption.REPLACE_EXISTING);
        }
    }
}
