package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.TableText.Paragraph;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Review of a step from one phase of a log to the next, both of which were single runs. */
final class PhaseReview {
    private static final double DELTA = TableReview.DELTA;
    private static final int MOST_LISTED = 10;

    /** So much further than the next is a change of one model alone. */
    private static final double ALONE = 3;

    private static final Comparator<Comparison> LARGEST_FIRST =
            Comparator.comparingDouble(Comparison::size).reversed();

    private final List<Comparison> changes;
    private final Set<List<String>> printed;
    private final List<Paragraph> prose;
    private final Set<String> controls;
    private final Remarks remarks = new Remarks();

    /**
     * Begins with what there is.
     *
     * @param printed changes that a table of the phase shows, by {@link #key}
     * @param controls workloads that the change should leave alone
     */
    PhaseReview(List<Comparison> changes, Set<List<String>> printed, List<Paragraph> prose, Set<String> controls) {
        this.changes = List.copyOf(changes);
        this.printed = Set.copyOf(printed);
        this.prose = List.copyOf(prose);
        this.controls = Set.copyOf(controls);
    }

    List<Remark> remarks() {
        if (!changes.isEmpty()) {
            remarks.against(
                    Topic.REPETITIONS,
                    "",
                    "Single runs of both phases: no change has an interval, and each may be noise.");
        }
        controls();
        List<Comparison> worse = regressions(changes);
        if (!worse.isEmpty()) {
            remarks.against(
                    Topic.REGRESSIONS,
                    "",
                    "Worse by more than 5 %, the worst first: "
                            + worse.stream()
                                    .limit(MOST_LISTED)
                                    .map(each -> placed(each) + (isCommented(each) ? "" : " not commented"))
                                    .collect(Collectors.joining("; "))
                            + (worse.size() > MOST_LISTED ? "; and " + (worse.size() - MOST_LISTED) + " more" : "")
                            + ".");
        }
        changes.stream()
                .filter(each -> each.metric().equals(Metric.OUTPUT_THROUGHPUT))
                .collect(Collectors.groupingBy(PhaseReview::workload, LinkedHashMap::new, Collectors.toList()))
                .forEach(this::models);
        changes.stream()
                .collect(Collectors.groupingBy(PhaseReview::where, LinkedHashMap::new, Collectors.toList()))
                .forEach((where, cell) ->
                        TableReview.tradeOff(cell).ifPresent(text -> remarks.note(Topic.TRADE_OFF, where, text)));
        return remarks.all();
    }

    /** Returns a text such as {@code prefix_caching, Qwen3}. */
    static String where(Comparison each) {
        return String.join(", ", each.where().values());
    }

    /** Returns the change in its place, as {@code prefix_caching, Qwen3 ITL P50 43 -> 51 (+18.6 %)}. */
    static String placed(Comparison each) {
        return where(each) + " " + each.titled();
    }

    private static String workload(Comparison each) {
        return each.treatment().workload();
    }

    private static String model(Comparison each) {
        return each.treatment().model();
    }

    /** Returns the key that tells a result from others of its phase. */
    static List<String> key(Observation each) {
        return List.of(each.workload(), each.model(), each.metric().name());
    }

    /** Returns the changes for the worse by more than 5 %, the worst first. */
    static List<Comparison> regressions(List<Comparison> changes) {
        return changes.stream()
                .filter(each -> each.direction() < 0 && each.size() >= DELTA)
                .sorted(LARGEST_FIRST)
                .toList();
    }

    /** Returns true if a table of the phase shows the change, or a paragraph names both its workload and its model. */
    private boolean isCommented(Comparison each) {
        return printed.contains(key(each.treatment()))
                || prose.stream()
                        .anyMatch(paragraph -> mentions(paragraph, workload(each)) && mentions(paragraph, model(each)));
    }

    private static boolean mentions(Paragraph paragraph, String name) {
        String text = paragraph.text() + " " + String.join(" ", paragraph.headings());
        return text.toLowerCase(Locale.ROOT).contains(name.toLowerCase(Locale.ROOT));
    }

    private void models(String workload, List<Comparison> throughput) {
        Set<Integer> signs = throughput.stream().map(Comparison::direction).collect(Collectors.toSet());
        if (signs.containsAll(Set.of(1, -1))) {
            remarks.note(
                    Topic.MIXED_SIGNS,
                    workload,
                    "Output throughput: "
                            + throughput.stream()
                                    .map(each -> model(each) + " " + each.percent())
                                    .collect(Collectors.joining(", "))
                            + ". The signs differ, so there is no statement for all models.");
        }
        List<Comparison> worst = throughput.stream()
                .sorted(Comparator.comparingDouble(Comparison::logRatio))
                .limit(2)
                .toList();
        double first = worst.getFirst().logRatio();
        if (worst.size() == 2
                && first < -DELTA
                && first < ALONE * Math.min(0, worst.getLast().logRatio())) {
            remarks.note(
                    Topic.MIXED_SIGNS,
                    workload,
                    "Mostly " + model(worst.getFirst()) + " became slower ("
                            + worst.getFirst().percent() + "); the next is " + model(worst.getLast()) + " with "
                            + worst.getLast().percent() + ".");
        }
    }

    private void controls() {
        Map<Boolean, List<Comparison>> byControl =
                changes.stream().collect(Collectors.partitioningBy(each -> controls.contains(workload(each))));
        List<Comparison> controlled = byControl.getOrDefault(true, List.of());
        if (controlled.isEmpty()) {
            return;
        }
        List<String> moved = controlled.stream()
                .filter(each -> each.size() >= DELTA)
                .map(PhaseReview::placed)
                .toList();
        remarks.say(
                !moved.isEmpty(),
                Topic.CONTROLS,
                "",
                moved.isEmpty()
                        ? "All " + controlled.size() + " controls stayed within 5 %; as single runs that leaves"
                                + " undecided whether they are equal."
                        : moved.size() + " of " + controlled.size()
                                + " controls moved by more than 5 %, which the change should leave alone: "
                                + String.join("; ", moved) + ".");
        byControl.getOrDefault(false, List.of()).stream()
                .filter(each -> each.metric().equals(Metric.OUTPUT_THROUGHPUT))
                .forEach(each -> beside(
                        each,
                        controlled.stream()
                                .filter(other -> other.metric().equals(each.metric())
                                        && model(other).equals(model(each)))
                                .sorted(LARGEST_FIRST)
                                .toList()));
    }

    /** Sets a change beside what the controls of its model and metric did, the largest first. */
    private void beside(Comparison change, List<Comparison> same) {
        if (!same.isEmpty()) {
            Comparison largest = same.getFirst();
            boolean aboveNext = same.size() > 1 && change.size() > same.get(1).size();
            remarks.note(
                    Topic.CONTROLS,
                    where(change),
                    change.titled() + ", and the controls changed by up to " + largest.percent() + " ("
                            + workload(largest) + "): "
                            + (change.size() > largest.size()
                                    ? "above that."
                                    : aboveNext
                                            ? "above the others (" + same.get(1).percent()
                                                    + ") only if that one is explained."
                                            : "not above that."));
        }
    }
}
