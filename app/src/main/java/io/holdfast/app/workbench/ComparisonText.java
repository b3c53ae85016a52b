package io.holdfast.app.workbench;

import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Change;
import io.holdfast.workbench.compare.Change.Finding;
import io.holdfast.workbench.compare.Comparison;
import io.holdfast.workbench.compare.Comparison.Placed;
import io.holdfast.workbench.compare.Comparison.Row;
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
import java.util.stream.IntStream;

/** What a comparison says, for a terminal and as Markdown. */
final class ComparisonText {
    private static final int BESIDE = 3;

    private final Comparison comparison;
    private final List<Metric> metrics;
    private final double margin;
    private final Set<String> controls;

    /**
     * Begins with what is to be shown.
     *
     * @param margin as a logarithm: within it two things are the same
     * @param controls workloads that nothing should have changed
     */
    ComparisonText(Comparison comparison, List<Metric> metrics, double margin, Set<String> controls) {
        this.comparison = comparison;
        this.metrics = metrics;
        this.margin = margin;
        this.controls = controls;
    }

    void print(TerminalText out, java.io.PrintWriter table) {
        for (Row row : comparison.pairs()) {
            out.heading(row.label() + (row.isSaturated() ? " SATURATED" : ""));
            if (files() == 2) {
                List<List<String>> lines = metricRows(row);
                if (lines.size() == 1) {
                    out.line("  Nothing of what is shown is in both files.");
                } else {
                    SuiteTable.print(lines, table);
                }
            } else {
                parts(row).forEach(part -> SuiteTable.print(fileRows(row, part, false), table));
            }
        }
        tail().forEach((title, lines) -> {
            out.heading(title);
            lines.forEach(line -> out.paragraph("  ", line));
        });
    }

    String markdown() {
        StringBuilder text = new StringBuilder();
        if (files() == 2) {
            comparison.pairs().stream()
                    .map(Row::workload)
                    .distinct()
                    .forEach(workload -> markdownOfTwo(workload, text));
        } else {
            for (Row row : comparison.pairs()) {
                text.append("### ").append(row.label()).append("\n\n");
                table(fileRows(row, metrics, true), text);
            }
        }
        tail().forEach((title, lines) -> {
            text.append("**").append(title).append("**\n\n");
            lines.forEach(line -> text.append("- ").append(line).append('\n'));
            text.append('\n');
        });
        return text.toString();
    }

    /** So many metrics as fit beside each other on a screen. */
    private List<List<Metric>> parts(Row row) {
        List<Metric> there = metrics.stream().filter(row::has).toList();
        return IntStream.iterate(0, from -> from < there.size(), from -> from + BESIDE)
                .mapToObj(from -> there.subList(from, Math.min(there.size(), from + BESIDE)))
                .toList();
    }

    private int files() {
        return comparison.files().size();
    }

    /** Metrics by configurations, each cell with both values and the change as a whole number. */
    private void markdownOfTwo(String workload, StringBuilder text) {
        List<Row> rows = comparison.pairs().stream()
                .filter(row -> row.workload().equals(workload))
                .toList();
        text.append("### ")
                .append(workload)
                .append(": ")
                .append(comparison.files().get(1).name())
                .append(" vs ")
                .append(comparison.files().get(0).name())
                .append("\n\n");
        List<List<String>> cells = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of("Metric"));
        rows.forEach(row -> head.add(
                row.label().equals(workload)
                        ? comparison.files().get(0).name() + " → "
                                + comparison.files().get(1).name()
                        : row.label().substring(workload.length()).strip()));
        cells.add(head);
        for (Metric metric : metrics) {
            List<String> line = new ArrayList<>(List.of(metric.title() + floor(metric)));
            rows.forEach(row -> line.add(row.change(1, metric)
                    .map(change -> Figures.shown(metric, change.from()) + " → " + Figures.shown(metric, change.to())
                            + change.share().stream()
                                    .mapToObj(share -> " (**" + Percents.whole(share) + "**)")
                                    .findFirst()
                                    .orElse("")
                            + ", " + said(change))
                    .orElse("-")));
            cells.add(line);
        }
        table(cells, text);
    }

    /** In Markdown; the first line is the head. */
    static void table(List<List<String>> cells, StringBuilder text) {
        for (int line = 0; line < cells.size(); line++) {
            text.append("| ").append(String.join(" | ", cells.get(line))).append(" |\n");
            if (line == 0) {
                text.append("|---".repeat(cells.getFirst().size())).append("|\n");
            }
        }
        text.append('\n');
    }

    /** One metric a line, where there are two files. */
    private List<List<String>> metricRows(Row row) {
        List<List<String>> lines = new ArrayList<>();
        boolean floored = !controls.isEmpty();
        List<String> head = new ArrayList<>(List.of(
                "", comparison.files().get(0).name(), comparison.files().get(1).name(), "ratio", "change"));
        boolean intervals = metrics.stream()
                .flatMap(metric -> row.change(1, metric).stream())
                .anyMatch(change -> change.interval().isPresent());
        if (intervals) {
            head.add("95 % interval");
        }
        if (floored) {
            head.add("noise");
        }
        head.add("");
        lines.add(head);
        for (Metric metric : metrics) {
            row.change(1, metric).ifPresent(change -> {
                List<String> line = new ArrayList<>(List.of(
                        metric.title(),
                        Figures.shown(metric, change.from()),
                        Figures.shown(metric, change.to()),
                        change.logRatio().isPresent()
                                ? String.format(
                                        Locale.ROOT,
                                        "%.3f",
                                        Math.exp(change.logRatio().getAsDouble()))
                                : "-",
                        share(change)));
                if (intervals) {
                    line.add(interval(change));
                }
                if (floored) {
                    line.add(noise(metric));
                }
                line.add(said(change));
                lines.add(line);
            });
        }
        return lines;
    }

    /** One file a line, each change against the first; cost columns stand beside gain columns. */
    private List<List<String>> fileRows(Row row, List<Metric> wanted, boolean bold) {
        List<List<String>> lines = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of(""));
        List<Metric> there = wanted.stream().filter(row::has).toList();
        there.forEach(metric -> {
            head.add(metric.title());
            if (files() > 1) {
                head.add("change");
            }
        });
        if (files() > 1) {
            head.add("");
        }
        lines.add(head);
        for (int file = 0; file < files(); file++) {
            Optional<Group> group = row.groups().get(file);
            if (group.isPresent()) {
                lines.add(fileRow(row, file, group.get(), there, bold && file == files() - 1));
            }
        }
        return lines;
    }

    private List<String> fileRow(Row row, int file, Group group, List<Metric> there, boolean bold) {
        List<String> line = new ArrayList<>(List.of(comparison.files().get(file).name()));
        String repetitions = "";
        for (Metric metric : there) {
            line.add(
                    group.has(metric)
                            ? Figures.shown(
                                    metric,
                                    Change.of(metric, group.values(metric), group.values(metric))
                                            .from())
                            : "-");
            if (files() > 1) {
                Optional<Change> change = file == 0 ? Optional.empty() : row.change(file, metric);
                String text = change.map(each -> share(each) + mark(each)).orElse("");
                line.add(bold && !text.isEmpty() ? "**" + text + "**" : text);
                repetitions = change.map(Change::repetitions).orElse(repetitions);
            }
        }
        if (files() > 1) {
            line.add(file == 0 ? "reference" : repetitions);
        }
        return line;
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

    private String floor(Metric metric) {
        return controls.isEmpty() ? "" : " (noise " + noise(metric) + ")";
    }

    private String noise(Metric metric) {
        OptionalDouble floor = comparison.noiseFloor(metric, controls);
        return floor.isPresent() ? Percents.plain(floor.getAsDouble()) : "-";
    }

    private String said(Change change) {
        String finding = switch (change.finding(margin)) {
            case BETTER -> "better";
            case WORSE -> "worse";
            case SAME -> "the same within ±" + Percents.plain(Math.expm1(margin));
            case EQUAL -> "equal";
            case UNDECIDED -> "undecided";
            case DIFFERENT -> "";
        };
        return (finding.isEmpty() ? "" : finding + ", ") + change.repetitions();
    }

    private Map<String, List<String>> tail() {
        Map<String, List<String>> tail = new java.util.LinkedHashMap<>();
        put(tail, "Not equal", comparison.warnings());
        put(
                tail,
                "Without a counterpart",
                comparison.alone().entrySet().stream()
                        .map(entry -> "Only in " + entry.getKey() + ": " + String.join(", ", entry.getValue()) + ".")
                        .toList());
        put(tail, "Repetitions", comparison.spreads(metrics));
        List<Placed> regressions = comparison.regressions(metrics, margin);
        put(
                tail,
                "Largest regressions",
                regressions.stream().map(placed -> told(placed)).toList());
        put(tail, "Across configurations", comparison.statements(metrics, margin));
        put(tail, "How to read this", reading());
        return tail;
    }

    private static void put(Map<String, List<String>> tail, String title, List<String> lines) {
        if (!lines.isEmpty()) {
            tail.put(title, lines);
        }
    }

    /** A change in a sentence. */
    String told(Placed placed) {
        Change change = placed.change();
        Metric metric = change.metric();
        return placed.row().label()
                + (files() > 2 ? " in " + comparison.files().get(placed.file()).name() : "") + ": "
                + metric.title() + " " + Figures.shown(metric, change.from()) + " → "
                + Figures.shown(metric, change.to()) + " (" + share(change)
                + (change.interval().isPresent() ? ", 95 % interval " + interval(change) : "") + ", "
                + change.repetitions() + ")";
    }

    private List<String> reading() {
        List<String> lines = new ArrayList<>(comparison.sources());
        Map<String, List<String>> byMethod = new LinkedHashMap<>();
        metrics.forEach(metric -> comparison
                .methods(metric)
                .forEach(method -> byMethod.computeIfAbsent(method, key -> new ArrayList<>())
                        .add(metric.title())));
        byMethod.forEach((method, titles) -> lines.add("By " + method + ": " + String.join(", ", titles) + "."));
        if (files() < 2) {
            return lines;
        }
        List<Placed> changes = comparison.changes(metrics);
        boolean single = changes.stream().anyMatch(placed -> placed.change().isWithoutInterval());
        boolean measured = changes.stream().anyMatch(placed -> !placed.change().isWithoutInterval());
        if (single) {
            lines.add("An interval needs " + Change.FEWEST
                    + " runs on each side; without one, better and worse are what the values say, and noise may say the"
                    + " same.");
        }
        if (measured) {
            lines.add(
                    "Intervals are Student's on the logarithm of the ratio of geometric means, from the spread between"
                        + " runs. They do not cover the order in which the files were measured: 'loadtest run' does.");
        }
        if (changes.stream().anyMatch(placed -> placed.change().finding(margin) == Finding.UNDECIDED)) {
            lines.add("Undecided: the interval contains no change as well as a change; measure more runs.");
        }
        if (comparison.pairs().stream().anyMatch(Row::isSaturated)) {
            lines.add("SATURATED: a server answered less than 95 % of the rate that was offered, so its latencies are"
                    + " those of a queue that grows, and its throughput is all it can.");
        }
        if (!controls.isEmpty()) {
            lines.add("Noise: the largest change of the same metric in " + String.join(", ", controls)
                    + ", which nothing should have changed.");
        }
        if (files() > 2) {
            lines.add("Behind a change: + better, - worse, = the same, ? undecided.");
        }
        return lines;
    }
}
