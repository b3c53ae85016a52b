package io.holdfast.workbench.table;

import io.holdfast.evidence.Criteria;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.TableText.Paragraph;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.Collectors;

/** Review of a step from one phase of a log to the next, both of which were single runs. */
final class PhaseReview {
    private static final double DELTA = Criteria.standard().delta();
    private static final int MOST_LISTED = 10;

    /** So much further than the next is a change of one model alone. */
    private static final double ALONE = 3;

    /** Two figures of one load may differ by this much. */
    private static final double CONSISTENT = 0.03;

    private static final double LONG_TAIL = 5;

    private final List<Comparison> changes;
    private final Set<String> printed;
    private final List<Paragraph> prose;
    private final Set<String> controls;
    private final List<Remark> remarks = new ArrayList<>();

    /**
     * Begins with what there is.
     *
     * @param printed changes that a table of the phase shows, by {@link #key}
     * @param controls workloads that the change should leave alone
     */
    PhaseReview(List<Comparison> changes, Set<String> printed, List<Paragraph> prose, Set<String> controls) {
        this.changes = List.copyOf(changes);
        this.printed = Set.copyOf(printed);
        this.prose = List.copyOf(prose);
        this.controls = Set.copyOf(controls);
    }

    List<Remark> remarks() {
        if (!changes.isEmpty()) {
            remarks.add(Remark.against(
                    Topic.REPETITIONS,
                    "",
                    "Single runs of both phases: no change has an interval, and each may be noise."));
        }
        controls();
        regressions();
        byWorkload().forEach(this::models);
        Map<String, List<Comparison>> cells = new LinkedHashMap<>();
        changes.forEach(each ->
                cells.computeIfAbsent(where(each), any -> new ArrayList<>()).add(each));
        cells.forEach((where, cell) ->
                TableReview.tradeOff(cell).ifPresent(text -> remarks.add(Remark.note(Topic.TRADE_OFF, where, text))));
        return remarks;
    }

    /** Returns a text such as {@code prefix_caching, Qwen3}. */
    static String where(Comparison each) {
        return String.join(", ", each.where().values());
    }

    private static String workload(Comparison each) {
        return each.where().getOrDefault(Column.WORKLOAD, "");
    }

    private static String model(Comparison each) {
        return each.where().getOrDefault(Column.MODEL, "");
    }

    private Map<String, List<Comparison>> byWorkload() {
        return changes.stream()
                .filter(each -> each.metric().equals(Metric.OUTPUT_THROUGHPUT))
                .collect(Collectors.groupingBy(PhaseReview::workload, LinkedHashMap::new, Collectors.toList()));
    }

    /** Returns the changes for the worse by more than 5 %, the worst first. */
    static List<Comparison> regressions(List<Comparison> changes) {
        return changes.stream()
                .filter(each -> each.isWorse() && each.exceeds(DELTA))
                .sorted(Comparator.comparingDouble(
                                (Comparison each) -> Math.abs(each.logRatio().orElse(0.0)))
                        .reversed())
                .toList();
    }

    private void regressions() {
        List<Comparison> worse = regressions(changes);
        if (worse.isEmpty()) {
            return;
        }
        String listed = worse.stream()
                .limit(MOST_LISTED)
                .map(each -> where(each) + " " + each.metric().title() + " " + each.text()
                        + (isCommented(each) ? "" : " not commented"))
                .collect(Collectors.joining("; "));
        remarks.add(Remark.against(
                Topic.REGRESSIONS,
                "",
                "Worse by more than 5 %, the worst first: " + listed
                        + (worse.size() > MOST_LISTED ? "; and " + (worse.size() - MOST_LISTED) + " more" : "")
                        + "."));
    }

    /** Returns the key that tells a change from others. */
    static String key(Map<String, String> where, Metric metric, Optional<String> workload) {
        return where.getOrDefault(Column.WORKLOAD, workload.orElse("")) + "/" + where.getOrDefault(Column.MODEL, "")
                + "/" + metric.name();
    }

    /** Returns true if a table of the phase shows the change, or a paragraph names both its workload and its model. */
    private boolean isCommented(Comparison each) {
        return printed.contains(key(each.where(), each.metric(), Optional.empty()))
                || prose.stream()
                        .anyMatch(paragraph -> mentions(paragraph, workload(each)) && mentions(paragraph, model(each)));
    }

    private static boolean mentions(Paragraph paragraph, String name) {
        String text = paragraph.text() + " " + String.join(" ", paragraph.headings());
        return text.toLowerCase(Locale.ROOT).contains(name.toLowerCase(Locale.ROOT));
    }

    private void models(String workload, List<Comparison> throughput) {
        if (throughput.size() < 2) {
            return;
        }
        String all = throughput.stream()
                .map(each -> model(each) + " " + each.percent())
                .collect(Collectors.joining(", "));
        boolean up = throughput.stream().anyMatch(Comparison::isBetter);
        boolean down = throughput.stream().anyMatch(Comparison::isWorse);
        if (up && down) {
            remarks.add(Remark.note(
                    Topic.MIXED_SIGNS,
                    workload,
                    "Output throughput: " + all + ". The signs differ, so there is no statement for all models."));
        }
        List<Comparison> worst = throughput.stream()
                .sorted(Comparator.comparingDouble(each -> each.logRatio().orElse(0.0)))
                .toList();
        double first = worst.getFirst().logRatio().orElse(0.0);
        double next = Math.min(0, worst.get(1).logRatio().orElse(0.0));
        if (first < -DELTA && first < ALONE * next) {
            remarks.add(Remark.note(
                    Topic.MIXED_SIGNS,
                    workload,
                    "Mostly " + model(worst.getFirst()) + " became slower ("
                            + worst.getFirst().percent() + "); the next is " + model(worst.get(1)) + " with "
                            + worst.get(1).percent() + "."));
        }
    }

    /** The largest change among the controls of one model and metric. */
    record NoiseFloor(Comparison largest, Optional<Comparison> next) {
        static Optional<NoiseFloor> of(List<Comparison> controls) {
            List<Comparison> sorted = controls.stream()
                    .filter(each -> each.logRatio().isPresent())
                    .sorted(Comparator.comparingDouble((Comparison each) ->
                                    Math.abs(each.logRatio().orElseThrow()))
                            .reversed())
                    .toList();
            return sorted.isEmpty()
                    ? Optional.empty()
                    : Optional.of(new NoiseFloor(
                            sorted.getFirst(), sorted.stream().skip(1).findFirst()));
        }

        /** A change of this place beside what the controls did. */
        String beside(Comparison change) {
            double size = Math.abs(change.logRatio().orElse(0.0));
            double floor = Math.abs(largest.logRatio().orElseThrow());
            String text = change.metric().title() + " " + change.text() + ", and the controls changed by up to "
                    + largest.percent() + " (" + workload(largest) + ")";
            if (size > floor) {
                return text + ": above that.";
            }
            return next.filter(other -> size > Math.abs(other.logRatio().orElseThrow()))
                    .map(other -> text + ": above the others (" + other.percent() + ") only if that one is explained.")
                    .orElse(text + ": not above that.");
        }
    }

    private void controls() {
        List<Comparison> controlled = changes.stream()
                .filter(each -> controls.contains(workload(each)))
                .toList();
        if (controlled.isEmpty()) {
            return;
        }
        List<String> moved = controlled.stream()
                .filter(each -> each.exceeds(DELTA))
                .map(each -> where(each) + " " + each.metric().title() + " " + each.text())
                .toList();
        remarks.add(
                moved.isEmpty()
                        ? Remark.note(
                                Topic.CONTROLS,
                                "",
                                "All " + controlled.size() + " controls stayed within 5 %; as single runs that leaves"
                                        + " undecided whether they are equal.")
                        : Remark.against(
                                Topic.CONTROLS,
                                "",
                                moved.size() + " of " + controlled.size()
                                        + " controls moved by more than 5 %, which the change should leave alone: "
                                        + String.join("; ", moved) + "."));
        for (Comparison each : changes) {
            if (!controls.contains(workload(each)) && each.metric().equals(Metric.OUTPUT_THROUGHPUT)) {
                List<Comparison> same = controlled.stream()
                        .filter(other -> other.metric().equals(each.metric())
                                && model(other).equals(model(each)))
                        .toList();
                NoiseFloor.of(same)
                        .ifPresent(floor -> remarks.add(Remark.note(Topic.CONTROLS, where(each), floor.beside(each))));
            }
        }
    }

    /** Returns remarks on the plain results of a table, from themselves alone. */
    static List<Remark> ofResults(PublishedTable table) {
        return ofResults("", table.observations());
    }

    static List<Remark> ofResults(String workload, List<Observation> results) {
        Map<Map<String, String>, Map<Metric, Observation>> places = new LinkedHashMap<>();
        results.stream()
                .filter(each -> each.side().isEmpty())
                .forEach(each -> places.computeIfAbsent(each.where(), any -> new LinkedHashMap<>())
                        .putIfAbsent(each.metric(), each));
        List<Remark> remarks = new ArrayList<>();
        places.forEach((where, metrics) -> {
            String at = String.join(
                    ", ",
                    java.util.stream.Stream.of(workload, where.getOrDefault(Column.MODEL, ""))
                            .filter(each -> !each.isEmpty())
                            .toList());
            inconsistent(where, metrics).ifPresent(text -> remarks.add(Remark.against(Topic.CONSISTENCY, at, text)));
            if (!workload.isEmpty()) {
                tail(metrics).ifPresent(text -> remarks.add(Remark.note(Topic.TAIL, at, text)));
            }
        });
        return remarks;
    }

    /**
     * One request after the other gives so many tokens in the time of one; where it does not, mean and median disagree.
     */
    static Optional<String> inconsistent(Map<String, String> where, Map<Metric, Observation> metrics) {
        OptionalDouble tokens = number(where, Column.OUTPUT_TOKENS);
        Optional<Observation> latency = named(metrics, "e2e_p50");
        Optional<Observation> throughput = named(metrics, Metric.OUTPUT_THROUGHPUT.name());
        boolean oneAfterTheOther = number(where, Column.CONCURRENCY).orElse(0) == 1;
        if (tokens.isEmpty() || latency.isEmpty() || throughput.isEmpty() || !oneAfterTheOther) {
            return Optional.empty();
        }
        Observation median = latency.get();
        double implied = tokens.getAsDouble() / (median.value() / 1e3);
        double off = throughput.get().value() / implied - 1;
        return Math.abs(off) <= CONSISTENT || !Double.isFinite(off)
                ? Optional.empty()
                : Optional.of("Output throughput is "
                        + throughput.get().figure().text() + " tok/s, and "
                        + where.get(Column.OUTPUT_TOKENS) + " tokens in the median latency of "
                        + median.figure().text() + " " + median.unit() + " are " + Comparison.rounded(implied, 1) + " ("
                        + Percents.plainSigned(off)
                        + "): some requests were far from the median.");
    }

    private static Optional<Observation> named(Map<Metric, Observation> metrics, String name) {
        return Place.named(metrics.keySet(), name).flatMap(metric -> Optional.ofNullable(metrics.get(metric)));
    }

    private static OptionalDouble number(Map<String, String> where, String name) {
        return Optional.ofNullable(where.get(name)).flatMap(Figure::of).stream()
                .mapToDouble(figure -> figure.number().doubleValue())
                .findFirst();
    }

    private static Optional<String> tail(Map<Metric, Observation> metrics) {
        Optional<Observation> median = named(metrics, "ttft_p50");
        Optional<Observation> tail = named(metrics, "ttft_p99");
        if (median.isEmpty() || tail.isEmpty()) {
            return Optional.empty();
        }
        double ratio = tail.get().value() / median.get().value();
        return !(ratio > LONG_TAIL && Double.isFinite(ratio))
                ? Optional.empty()
                : Optional.of("TTFT P99 is " + Comparison.rounded(ratio, 1) + " times TTFT P50.");
    }
}
