package io.holdfast.loadtest.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.table.Remark.Topic;
import io.holdfast.loadtest.table.Review.ChangeRow;
import io.holdfast.loadtest.table.Review.Section;
import io.holdfast.loadtest.table.TableText.Paragraph;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The phases of a benchmark log, in the order of the file: under a heading that begins with {@code Phase} a table for each
 * workload.
 */
record Phases(List<Phase> phases) {
    Phases {
        phases = List.copyOf(phases);
    }

    /** One phase; what was measured of each workload, by its name. */
    record Phase(String name, Map<String, List<Observation>> workloads, List<Paragraph> prose) {
        /** The id of a workload's requests, where the log tells it. */
        Optional<String> id(String workload) {
            return workloads.getOrDefault(workload, List.of()).stream()
                    .flatMap(each -> Optional.ofNullable(each.where().get(Column.WORKLOAD_ID)).stream())
                    .findFirst();
        }
    }

    static Phases of(List<PublishedTable> tables, List<Paragraph> prose) {
        Map<String, Phase> phases = new LinkedHashMap<>();
        for (PublishedTable table : tables) {
            phase(table.headings()).ifPresent(name -> {
                Phase phase = phases.computeIfAbsent(
                        name,
                        any -> new Phase(
                                name,
                                new LinkedHashMap<>(),
                                prose.stream()
                                        .filter(each -> phase(each.headings()).equals(Optional.of(name)))
                                        .toList()));
                for (Observation each : table.observations()) {
                    if (each.side().isEmpty()) {
                        String workload = each.where()
                                .getOrDefault(Column.WORKLOAD, table.headings().getLast());
                        phase.workloads()
                                .computeIfAbsent(workload, any -> new ArrayList<>())
                                .add(each);
                    }
                }
            });
        }
        return new Phases(List.copyOf(phases.values()));
    }

    static Optional<String> phase(List<String> headings) {
        return headings.stream()
                .filter(heading -> heading.regionMatches(true, 0, "phase", 0, "phase".length()))
                .findFirst();
    }

    boolean isEmpty() {
        return phases.isEmpty();
    }

    /** The last phase before which a workload was measured, or of all. */
    Optional<Phase> lastWith(String workload) {
        return phases.reversed().stream()
                .filter(phase -> phase.workloads().containsKey(workload))
                .findFirst();
    }

    /** All that any phase has. */
    Set<String> workloads() {
        return phases.stream()
                .flatMap(phase -> phase.workloads().keySet().stream())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** One for each phase: its results alone, and against the phase before it. */
    List<Section> sections(Set<String> controls) {
        List<Section> sections = new ArrayList<>();
        for (int i = 0; i < phases.size(); i++) {
            Phase phase = phases.get(i);
            List<Remark> remarks = new ArrayList<>();
            phase.workloads().forEach((workload, results) -> remarks.addAll(PhaseReview.ofResults(workload, results)));
            if (i == 0) {
                sections.add(Section.of(phase.name(), List.of(), remarks));
                continue;
            }
            Phase before = phases.get(i - 1);
            List<Comparison> changes = changes(before, phase, remarks);
            remarks.addAll(new PhaseReview(changes, phase.prose(), controls).remarks());
            sections.add(Section.of(phase.name() + " against " + before.name(), rows(changes), remarks));
        }
        return sections;
    }

    private static List<ChangeRow> rows(List<Comparison> changes) {
        Map<String, Map<String, String>> rows = new LinkedHashMap<>();
        for (Comparison each : changes) {
            rows.computeIfAbsent(PhaseReview.where(each), any -> new LinkedHashMap<>())
                    .put(each.metric().title(), each.text());
        }
        List<ChangeRow> list = new ArrayList<>();
        rows.forEach((where, row) -> list.add(new ChangeRow(where, row)));
        return list;
    }

    /** What changed from one phase to the next, of workloads that are still the same requests. */
    private static List<Comparison> changes(Phase before, Phase now, List<Remark> remarks) {
        List<Comparison> changes = new ArrayList<>();
        now.workloads().forEach((workload, results) -> {
            Optional<String> was = before.id(workload);
            Optional<String> is = now.id(workload);
            if (was.isPresent() && is.isPresent() && !was.equals(is)) {
                remarks.add(Remark.against(
                        Topic.SETTINGS,
                        workload,
                        "It was redefined: its requests had the id " + was.get() + " and have " + is.get()
                                + ", so it is not compared."));
                return;
            }
            changes.addAll(changes(workload, before.workloads().getOrDefault(workload, List.of()), results, remarks));
        });
        return changes;
    }

    static List<Comparison> changes(
            String workload, List<Observation> before, List<Observation> now, List<Remark> remarks) {
        List<Comparison> changes = new ArrayList<>();
        for (Observation each : now) {
            Optional<Observation> earlier = before.stream()
                    .filter(other ->
                            other.metric().equals(each.metric()) && model(other).equals(model(each)))
                    .findFirst();
            earlier.ifPresent(other -> {
                Map<String, String> where = new LinkedHashMap<>();
                where.put(Column.WORKLOAD, workload);
                model(each).ifPresent(model -> where.put(Column.MODEL, model));
                changes.add(new Comparison(
                        where, each.metric(), other, each, Optional.empty(), Optional.empty(), Optional.empty()));
                unequal(other, each)
                        .ifPresent(text -> remarks.add(Remark.note(Topic.SETTINGS, PublishedTable.text(where), text)));
            });
        }
        return changes;
    }

    private static Optional<String> model(Observation each) {
        return Optional.ofNullable(each.where().get(Column.MODEL));
    }

    /** Said once for a model, by its first metric. */
    private static Optional<String> unequal(Observation before, Observation now) {
        if (!now.metric().equals(Metric.OUTPUT_THROUGHPUT)) {
            return Optional.empty();
        }
        List<String> differing = now.where().entrySet().stream()
                .filter(each -> before.where().containsKey(each.getKey())
                        && !before.where().get(each.getKey()).equals(each.getValue()))
                .map(each -> each.getKey() + " " + before.where().get(each.getKey()) + " -> " + each.getValue())
                .sorted()
                .toList();
        return differing.isEmpty()
                ? Optional.empty()
                : Optional.of("The settings differ as well: " + String.join(", ", differing) + ".");
    }
}
