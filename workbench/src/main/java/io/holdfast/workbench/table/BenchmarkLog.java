package io.holdfast.workbench.table;

import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.Phases.Phase;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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
        TableText.Contents contents = TableText.of(file + ".md", text);
        List<PublishedTable> results = contents.tables().stream()
                .filter(BenchmarkLog::hasResults)
                .map(table -> PublishedTable.of(table, PublishedTable.Told.nothing()))
                .toList();
        return new BenchmarkLog(file, text, Phases.of(results, List.of()));
    }

    private static boolean hasResults(TableText table) {
        List<String> header = table.header().stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .toList();
        return header.getFirst().equals("metric") && !header.contains("better");
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
        Map<String, List<Observation>> workloads = new LinkedHashMap<>();
        results.forEach(each -> read(each)
                .forEach(result -> workloads
                        .computeIfAbsent(workload(result, each), any -> new ArrayList<>())
                        .add(result)));
        Phase now = new Phase(name, workloads, List.of(), List.of());
        workloads.keySet().forEach(workload -> refuseRedefined(now, workload));
        Map<String, Optional<String>> against = new LinkedHashMap<>();
        List<Comparison> changes = new ArrayList<>();
        StringBuilder out = new StringBuilder("## ").append(name).append("\n\n");
        out.append("Single runs: no figure here has an interval.\n");
        workloads.forEach((workload, measured) -> {
            Optional<Phase> last = phases.lastWith(workload);
            against.put(workload, last.map(Phase::name));
            changes.addAll(write(now, workload, last, out));
        });
        replace(out.toString());
        return new Appended(
                against,
                workloads.values().stream()
                        .flatMap(List::stream)
                        .map(BenchmarkLog::model)
                        .collect(Collectors.toCollection(LinkedHashSet::new)),
                PhaseReview.regressions(changes).stream()
                        .map(each ->
                                PhaseReview.where(each) + " " + each.metric().title() + " " + each.text())
                        .toList());
    }

    private static String workload(Observation each, Path file) {
        String workload = Optional.ofNullable(each.where().get(Column.WORKLOAD))
                .orElseThrow(() -> new LoadTestException(
                        "The results " + file + " do not say of which workload they are; add a column 'workload'."));
        String id = each.where().getOrDefault(Column.WORKLOAD_ID, "");
        if (!id.matches(ID)) {
            throw new LoadTestException("The workload '" + workload + "' of " + file
                    + " has no id; add a column 'workload id' with the SHA-256 of its requests.");
        }
        return workload;
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
        Document document = Document.of(TableText.read(file), Map.of());
        document.skipped().forEach(each -> notes.add("Skipped: " + each));
        Phases all = Phases.of(document.tables(), document.prose());
        if (!phases.isEmpty() || !all.isEmpty()) {
            List<Phase> meant = phases.isEmpty()
                    ? all.phases()
                    : phases.stream()
                            .map(each -> all.called(each, file.toString()))
                            .toList();
            return meant.stream()
                    .map(phase -> {
                        String name = Phases.plain(phase.name());
                        phase.otherServers()
                                .forEach(each -> notes.add(name + ", " + each.where() + ": " + each.text()));
                        return new Named(name, results(name, phase.workloads()));
                    })
                    .toList();
        }
        Map<String, List<Observation>> workloads = new LinkedHashMap<>();
        for (PublishedTable table : document.tables()) {
            table.notes().forEach(notes::add);
            for (Observation each : table.observations()) {
                String workload = each.where().getOrDefault(Column.WORKLOAD, Phases.plain(table.name()));
                workloads.computeIfAbsent(workload, any -> new ArrayList<>()).add(each);
            }
        }
        String name = Optional.ofNullable(file.getFileName())
                .map(Path::toString)
                .orElse("table")
                .replaceFirst("\\.\\w+$", "");
        return List.of(new Named(name, results(name, workloads)));
    }

    /** One result for each place, told apart by its model and by whatever else it takes. */
    private static ResultFile results(String suite, Map<String, List<Observation>> workloads) {
        List<LoadResult> results = new ArrayList<>();
        Set<String> names = telling(workloads);
        workloads.forEach((workload, observations) -> {
            Map<List<Object>, List<Observation>> places = new LinkedHashMap<>();
            observations.forEach(each -> places.computeIfAbsent(
                            List.of(each.where(), each.side(), each.repetition()), any -> new ArrayList<>())
                    .add(each));
            places.values().forEach(place -> results.add(result(workload, place, names)));
        });
        if (results.isEmpty()) {
            throw new LoadTestException("'" + suite + "' has no results; name tables with numbers.");
        }
        return new ResultFile(suite, "unknown", "unknown", Map.of(), results);
    }

    private static LoadResult result(String workload, List<Observation> place, Set<String> names) {
        Observation first = place.getFirst();
        Map<String, String> settings = new LinkedHashMap<>(first.where());
        settings.keySet().retainAll(names);
        first.side().ifPresent(side -> settings.put("arm", side.name().toLowerCase(Locale.ROOT)));
        Map<Metric, Double> values = new LinkedHashMap<>();
        place.forEach(each -> values.putIfAbsent(each.metric(), each.value()));
        return new LoadResult(
                workload + "/" + String.join("/", settings.values())
                        + first.repetition().map(each -> "/run" + each).orElse(""),
                workload,
                Optional.ofNullable(first.where().get(Column.WORKLOAD_ID)),
                "a table",
                settings,
                Optional.ofNullable(first.where().get(Column.REQUESTS)).flatMap(Figure::of).stream()
                        .mapToInt(figure -> figure.number().intValue())
                        .findFirst()
                        .orElse(0),
                Map.of(),
                new Measures(values));
    }

    /** Names of settings without which two places of one workload would be the same. */
    private static Set<String> telling(Map<String, List<Observation>> workloads) {
        Set<String> telling = new LinkedHashSet<>(Set.of(Column.MODEL));
        Set<String> all = workloads.values().stream()
                .flatMap(List::stream)
                .flatMap(each -> each.where().keySet().stream())
                .filter(name -> !name.equals(Column.WORKLOAD) && !name.equals(Column.WORKLOAD_ID))
                .collect(Collectors.toCollection(LinkedHashSet::new));
        for (String name : all) {
            boolean needed = workloads.values().stream()
                    .anyMatch(observations -> observations.stream()
                            .collect(Collectors.groupingBy(
                                    each -> List.of(each.metric(), each.side(), each.repetition(), only(each, telling)),
                                    Collectors.mapping(
                                            each -> each.where().getOrDefault(name, ""), Collectors.toSet())))
                            .values()
                            .stream()
                            .anyMatch(values -> values.size() > 1));
            if (needed) {
                telling.add(name);
            }
        }
        return telling;
    }

    private static Map<String, String> only(Observation each, Set<String> names) {
        Map<String, String> where = new TreeMap<>(each.where());
        where.keySet().retainAll(names);
        return where;
    }

    private static List<Observation> read(Path file) {
        if (file.toString().endsWith(".json")) {
            ResultFile results = ResultFile.read(file);
            return results.results().stream()
                    .flatMap(result -> observations(result, results.model()).stream())
                    .toList();
        }
        Document document = Document.of(TableText.read(file), Map.of());
        // A table that is left out would be results that nobody misses.
        document.skipped().stream().findFirst().ifPresent(sentence -> {
            throw new LoadTestException("The results " + file + " are not all understood. " + sentence);
        });
        return document.tables().stream()
                .flatMap(table -> table.observations().stream())
                .toList();
    }

    private static List<Observation> observations(LoadResult result, String model) {
        Map<String, String> where = new LinkedHashMap<>();
        result.settings()
                .forEach((name, value) ->
                        PublishedTable.settings(List.of(name + ": " + value)).forEach(where::put));
        where.put(Column.WORKLOAD, result.workload());
        result.workloadId().ifPresent(id -> where.put(Column.WORKLOAD_ID, id));
        where.put(Column.MODEL, model);
        List<Observation> observations = new ArrayList<>();
        result.measures().values().forEach((metric, value) -> {
            // As tables have it, so that a log reads the same whatever wrote the numbers.
            String[] shown = metric.shown(value).split(" ", 2);
            Figure.of(shown[0])
                    .ifPresent(figure -> observations.add(new Observation(
                            where,
                            metric,
                            Optional.empty(),
                            Optional.empty(),
                            Optional.empty(),
                            figure,
                            value,
                            shown.length > 1 ? shown[1] : "")));
        });
        return observations;
    }

    private void refuseRedefined(Phase now, String workload) {
        Set<String> ids = now.workloads().getOrDefault(workload, List.of()).stream()
                .map(each -> each.where().getOrDefault(Column.WORKLOAD_ID, ""))
                .collect(Collectors.toCollection(TreeSet::new));
        if (ids.size() > 1) {
            throw new LoadTestException("The workload '" + workload + "' has " + ids.size()
                    + " ids in these results, so models were not asked the same; run it again.");
        }
        phases.lastWith(workload)
                .ifPresent(last -> last.id(workload)
                        .filter(id -> !ids.contains(id))
                        .ifPresent(id -> {
                            throw new LoadTestException(
                                    "The workload '" + workload + "' was redefined: in " + last.name()
                                            + " its requests had the id " + id.substring(0, 12) + ", and now "
                                            + ids.iterator().next().substring(0, 12)
                                            + "; give it another name, or run the old phases again.");
                        }));
    }

    private List<Comparison> write(Phase now, String workload, Optional<Phase> last, StringBuilder out) {
        List<Observation> measured = now.workloads().getOrDefault(workload, List.of());
        List<String> models =
                measured.stream().map(BenchmarkLog::model).distinct().toList();
        Map<String, String> common = new LinkedHashMap<>(measured.getFirst().where());
        measured.forEach(each -> common.entrySet().retainAll(each.where().entrySet()));
        common.keySet().removeAll(Set.of(Column.WORKLOAD, Column.MODEL));
        out.append("\n### ").append(workload).append("\n\n");
        out.append(common.entrySet().stream()
                        .map(each -> each.getKey() + ": " + each.getValue())
                        .collect(Collectors.joining(", ")))
                .append("\n\n");
        row(out, "metric", models.stream());
        out.append("|---").append("|---:".repeat(models.size())).append("|\n");
        ownSettings(measured, common)
                .forEach((setting, byModel) ->
                        row(out, setting, models.stream().map(model -> byModel.getOrDefault(model, "-"))));
        for (Metric metric : metrics(measured)) {
            row(
                    out,
                    name(metric, measured),
                    models.stream()
                            .map(model -> find(measured, metric, model)
                                    .map(each -> each.figure().text())
                                    .orElse("-")));
        }
        List<String> notes = now.otherServers().stream()
                .filter(each -> each.where().startsWith(workload + ","))
                .map(each -> "* " + each.text() + "\n")
                .toList();
        out.append(notes.isEmpty() ? "" : "\n").append(String.join("", notes));
        List<Comparison> changes = last.map(before -> Phases.changes(
                        workload, before.workloads().getOrDefault(workload, List.of()), measured, new ArrayList<>()))
                .orElse(List.of());
        if (!changes.isEmpty()) {
            out.append("\nAgainst ").append(last.orElseThrow().name()).append(", single runs both:\n\n");
            row(out, "metric", Stream.concat(Stream.of("better"), models.stream()));
            out.append("|---").append("|---".repeat(models.size() + 1)).append("|\n");
            for (Metric metric : metrics(measured)) {
                row(
                        out,
                        name(metric, measured),
                        Stream.concat(
                                Stream.of(metric.better().name().toLowerCase(Locale.ROOT)),
                                models.stream().map(model -> cell(changes, metric, model))));
            }
        }
        return changes;
    }

    private static void row(StringBuilder out, String first, Stream<String> cells) {
        out.append("| ")
                .append(first)
                .append(" | ")
                .append(cells.map(cell -> cell.replace("|", "\\|")).collect(Collectors.joining(" | ")))
                .append(" |\n");
    }

    private static List<Metric> metrics(List<Observation> measured) {
        return ROWS.stream()
                .flatMap(name -> measured.stream()
                        .map(Observation::metric)
                        .filter(metric -> metric.name().equals(name))
                        .limit(1))
                .toList();
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

    private static Optional<Observation> find(List<Observation> measured, Metric metric, String model) {
        return measured.stream()
                .filter(each -> each.metric().equals(metric) && model(each).equals(model))
                .findFirst();
    }

    /** {@code 212.9 -> 104.2 (-51.1 %, worse)}. */
    private static String cell(List<Comparison> changes, Metric metric, String model) {
        return changes.stream()
                .filter(each -> each.metric().equals(metric)
                        && each.where().getOrDefault(Column.MODEL, "value").equals(model))
                .findFirst()
                .map(each -> {
                    String word = each.isBetter() ? "better" : each.isWorse() ? "worse" : "";
                    String change =
                            each.change().percent(1).map(Percents::printed).orElse("");
                    String both = Stream.of(change, word)
                            .filter(part -> !part.isEmpty())
                            .collect(Collectors.joining(", "));
                    return each.baseline().figure().text() + " -> "
                            + each.treatment().figure().text() + (both.isEmpty() ? "" : " (" + both + ")");
                })
                .orElse("-");
    }

    /** Settings that not all models share, by name and then by model. */
    private static Map<String, Map<String, String>> ownSettings(
            List<Observation> measured, Map<String, String> common) {
        Map<String, Map<String, String>> own = new TreeMap<>();
        for (Observation each : measured) {
            each.where().forEach((name, value) -> {
                if (!common.containsKey(name) && !name.equals(Column.WORKLOAD) && !name.equals(Column.MODEL)) {
                    own.computeIfAbsent(name, any -> new LinkedHashMap<>()).put(model(each), value);
                }
            });
        }
        return own;
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
