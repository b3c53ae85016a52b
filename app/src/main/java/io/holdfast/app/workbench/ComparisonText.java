package io.holdfast.app.workbench;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document;
import io.holdfast.workbench.compare.Change;
import io.holdfast.workbench.compare.Change.Finding;
import io.holdfast.workbench.compare.Comparison;
import io.holdfast.workbench.compare.Comparison.Placed;
import io.holdfast.workbench.compare.Comparison.Row;
import io.holdfast.workbench.compare.Expectation.Judged;
import io.holdfast.workbench.compare.Figures;
import io.holdfast.workbench.compare.Group;
import io.holdfast.workbench.compare.Percents;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Predicate;

/**
 * A comparison for people.
 *
 * @param margin as a logarithm: within it two things are the same
 * @param controls workloads that nothing should have changed
 */
record ComparisonText(Comparison comparison, List<Metric> metrics, double margin, Set<String> controls) {
    /**
     * Returns all that a comparison says.
     *
     * @param markdown whether configurations stand beside each other, as a page is wide
     * @param notes on what the files do not say as ours do
     * @param failed what became worse than allowed
     * @param untold what may have become worse than allowed
     */
    Document document(
            boolean markdown, List<String> notes, List<Placed> failed, List<String> untold, List<Judged> judged) {
        Document.Builder text = Document.titled("Comparison");
        if (markdown && files() == 2) {
            comparison.pairs().stream()
                    .map(Row::workload)
                    .distinct()
                    .forEach(workload -> text.heading(3, workload + ": " + name(1) + " vs " + name(0))
                            .add(Document.Table.of(workload, configurations(workload))));
        } else {
            comparison.pairs().forEach(row -> row(row, text));
        }
        section("Not equal", comparison.warnings(), text);
        section(
                "Without a counterpart",
                comparison.alone().entrySet().stream()
                        .map(entry -> "Only in " + entry.getKey() + ": " + String.join(", ", entry.getValue()) + ".")
                        .toList(),
                text);
        section("Repetitions", comparison.spreads(metrics), text);
        section("Largest regressions", told(comparison.regressions(metrics, margin)), text);
        section("Across configurations", comparison.statements(metrics, margin), text);
        section("How to read this", reading(), text);
        section("What the files do not say as ours do", markdown ? List.of() : notes, text);
        if (!judged.isEmpty()) {
            text.heading(3, "Expectations");
            judged.forEach(each -> text.say(told(each)).items(each.why()));
        }
        section("Worse than allowed", told(failed), text);
        section("Not told, so it may be worse than allowed", untold, text);
        return text.build();
    }

    private static void section(String title, List<String> lines, Document.Builder text) {
        if (!lines.isEmpty()) {
            text.heading(3, title).items(lines);
        }
    }

    private static String told(Judged judged) {
        String name = judged.expectation().name();
        String expected = judged.expectation().text();
        return judged.outcome().text() + ": " + (name.equals(expected) ? "" : name + ", ") + expected;
    }

    private int files() {
        return comparison.files().size();
    }

    private String name(int file) {
        return comparison.files().get(file).name();
    }

    private void row(Row row, Document.Builder text) {
        text.heading(3, row.label() + (row.isSaturated() ? " SATURATED" : ""));
        List<List<String>> lines = files() == 2 ? metricRows(row) : fileRows(row);
        if (lines.size() == 1) {
            text.say("Nothing of what is shown is in both files.");
        } else {
            text.add(Document.Table.of(row.label(), lines));
        }
    }

    /** Returns metrics by configurations, each cell with both values and the change as a whole number. */
    private List<List<String>> configurations(String workload) {
        List<Row> rows = comparison.pairs().stream()
                .filter(row -> row.workload().equals(workload))
                .toList();
        List<List<String>> cells = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of("Metric"));
        rows.forEach(row -> head.add(row.label().equals(workload) ? name(0) + " → " + name(1) : row.detail()));
        cells.add(head);
        for (Metric metric : metrics) {
            List<String> line = new ArrayList<>(
                    List.of(metric.title() + (controls.isEmpty() ? "" : " (noise " + noise(metric) + ")")));
            rows.forEach(row -> line.add(row.change(1, metric)
                    .map(change -> values(change)
                            + change.share().stream()
                                    .mapToObj(share -> " (" + Percents.whole(share) + ")")
                                    .findFirst()
                                    .orElse("")
                            + ", " + said(change))
                    .orElse("-")));
            cells.add(line);
        }
        return cells;
    }

    private static String values(Change change) {
        return Figures.shown(change.metric(), change.from()) + " → " + Figures.shown(change.metric(), change.to());
    }

    /** Returns one metric a line, where there are two files. */
    private List<List<String>> metricRows(Row row) {
        boolean intervals = metrics.stream()
                .flatMap(metric -> row.change(1, metric).stream())
                .anyMatch(change -> change.interval().isPresent());
        boolean floored = !controls.isEmpty();
        List<List<String>> lines = new ArrayList<>();
        lines.add(line(intervals, floored, "", name(0), name(1), "ratio", "change", "95 % interval", "noise", ""));
        for (Metric metric : metrics) {
            row.change(1, metric)
                    .ifPresent(change -> lines.add(line(
                            intervals,
                            floored,
                            metric.title(),
                            Figures.shown(metric, change.from()),
                            Figures.shown(metric, change.to()),
                            change.logRatio().stream()
                                    .mapToObj(log -> String.format(Locale.ROOT, "%.3f", Math.exp(log)))
                                    .findFirst()
                                    .orElse("-"),
                            share(change),
                            interval(change),
                            noise(metric),
                            said(change))));
        }
        return lines;
    }

    /** Returns a line without what no line of its table has. */
    private static List<String> line(boolean intervals, boolean floored, String... cells) {
        List<String> line = new ArrayList<>(List.of(cells));
        if (!floored) {
            line.remove(6);
        }
        if (!intervals) {
            line.remove(5);
        }
        return line;
    }

    /** Returns one file a line, each change against the first; cost columns stand beside gain columns. */
    private List<List<String>> fileRows(Row row) {
        boolean several = files() > 1;
        List<List<String>> lines = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of(""));
        List<Metric> there = metrics.stream().filter(row::has).toList();
        there.forEach(metric -> head.addAll(several ? List.of(metric.title(), "change") : List.of(metric.title())));
        head.addAll(several ? List.of("") : List.of());
        lines.add(head);
        for (int file = 0; file < files(); file++) {
            Optional<Group> group = row.groups().get(file);
            if (group.isEmpty()) {
                continue;
            }
            List<String> line = new ArrayList<>(List.of(name(file)));
            String repetitions = file == 0 ? "reference" : "";
            for (Metric metric : there) {
                double[] values = group.get().values(metric);
                line.add(values.length > 0 ? Figures.shown(metric, Change.mean(values)) : "-");
                Optional<Change> change = file == 0 ? Optional.empty() : row.change(file, metric);
                repetitions = change.map(Change::repetitions).orElse(repetitions);
                line.addAll(
                        several
                                ? List.of(change.map(each -> share(each) + mark(each))
                                        .orElse(""))
                                : List.of());
            }
            line.addAll(several ? List.of(repetitions) : List.of());
            lines.add(line);
        }
        return lines;
    }

    /** The finding as one sign: better, worse, or neither shown. */
    private String mark(Change change) {
        return switch (change.finding(margin)) {
            case BETTER -> " +";
            case WORSE -> " -";
            case SAME, EQUAL -> " =";
            case UNDECIDED -> " ?";
            case DIFFERENT -> "";
        };
    }

    private static String share(Change change) {
        return change.share().stream().mapToObj(Percents::signed).findFirst().orElse("-");
    }

    private static String interval(Change change) {
        return change.interval()
                .map(logs -> Percents.plainSigned(Math.expm1(logs.low())).replace(" %", "") + " to "
                        + Percents.plainSigned(Math.expm1(logs.high())))
                .orElse("-");
    }

    private String noise(Metric metric) {
        OptionalDouble floor = comparison.noiseFloor(metric, controls);
        return floor.isPresent() ? Percents.plain(floor.getAsDouble()) : "-";
    }

    private String said(Change change) {
        String finding = switch (change.finding(margin)) {
            case BETTER -> "better, ";
            case WORSE -> "worse, ";
            case SAME -> "the same within ±" + Percents.plain(Math.expm1(margin)) + ", ";
            case EQUAL -> "equal, ";
            case UNDECIDED -> "undecided, ";
            case DIFFERENT -> "";
        };
        return finding + change.repetitions();
    }

    private List<String> told(List<Placed> changes) {
        return changes.stream()
                .map(placed -> placed.row().label() + (files() > 2 ? " in " + name(placed.file()) : "") + ": "
                        + placed.change().metric().title() + " " + values(placed.change()) + " ("
                        + share(placed.change())
                        + (placed.change().interval().isPresent() ? ", 95 % interval " + interval(placed.change()) : "")
                        + ", " + placed.change().repetitions() + ")")
                .toList();
    }

    private List<String> reading() {
        List<String> lines = new ArrayList<>(comparison.sources());
        Map<String, List<String>> byMethod = new LinkedHashMap<>();
        metrics.forEach(metric -> comparison
                .methods(metric)
                .forEach(method -> byMethod.computeIfAbsent(method, key -> new ArrayList<>())
                        .add(metric.title())));
        byMethod.forEach((method, titles) -> lines.add("By " + method + ": " + String.join(", ", titles) + "."));
        if (files() > 1) {
            if (any(Change::isWithoutInterval)) {
                lines.add("An interval needs " + Change.FEWEST
                        + " runs on each side; without one, better and worse are what the values say, and noise may say"
                        + " the same.");
            }
            if (any(change -> !change.isWithoutInterval())) {
                lines.add("Intervals are Student's on the logarithm of the ratio of geometric means, from the spread"
                        + " between runs. They do not cover the order in which the files were measured: 'loadtest run'"
                        + " does.");
            }
            if (any(change -> change.finding(margin) == Finding.UNDECIDED)) {
                lines.add("Undecided: the interval contains no change as well as a change; measure more runs.");
            }
            if (comparison.pairs().stream().anyMatch(Row::isSaturated)) {
                lines.add("SATURATED: a server answered less than 95 % of the rate that was offered, so its latencies"
                        + " are those of a queue that grows, and its throughput is all it can.");
            }
            if (!controls.isEmpty()) {
                lines.add("Noise: the largest change of the same metric in " + String.join(", ", controls)
                        + ", which nothing should have changed.");
            }
            if (files() > 2) {
                lines.add("Behind a change: + better, - worse, = the same, ? undecided.");
            }
        }
        return lines;
    }

    private boolean any(Predicate<Change> is) {
        return comparison.changes(metrics).stream().map(Placed::change).anyMatch(is);
    }
}
