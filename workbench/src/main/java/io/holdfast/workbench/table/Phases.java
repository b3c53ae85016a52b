package io.holdfast.workbench.table;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.PublishedTable.StatedChange;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.ChangeRow;
import io.holdfast.workbench.table.Review.Section;
import io.holdfast.workbench.table.TableText.Paragraph;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The phases of a benchmark log, in the order of the file: under a heading that begins with {@code Phase} a table for
 * each workload, whose heading names it, with or without more behind a dash.
 */
record Phases(List<Phase> phases) {
    private static final Pattern DASH = Pattern.compile("\\s+[—–-]\\s+");

    /** Matches {@code Qwen3 prefix_caching uses 1536 blocks} and {@code Qwen3 uses 1536 blocks for this workload}. */
    private static final Pattern OWN_SETTING = Pattern.compile(
            "(\\S+)(?:\\s+(\\S+))?\\s+(?:uses|used|ran with|runs with|has|had)\\s+([\\d,]+)\\s+([\\w-]+)");

    private static final Pattern VERSUS =
            Pattern.compile("\\s+(?:vs\\.?|versus|against)\\s+", Pattern.CASE_INSENSITIVE);

    Phases {
        phases = List.copyOf(phases);
    }

    /** One phase; what was measured of each workload, by its name. */
    record Phase(
            String name,
            Map<String, List<Observation>> workloads,
            List<Paragraph> prose,
            List<PublishedTable> comparisons) {
        /** The id of a workload's requests, where the log tells it. */
        Optional<String> id(String workload) {
            return workloads.getOrDefault(workload, List.of()).stream()
                    .flatMap(each -> Optional.ofNullable(each.where().get(Column.WORKLOAD_ID)).stream())
                    .findFirst();
        }

        /** Returns true if this name means it, with or without what is behind its dash. */
        boolean isCalled(String asked) {
            return name.equalsIgnoreCase(asked)
                    || plain(name).equalsIgnoreCase(plain(asked))
                    || plain(name).equalsIgnoreCase("phase " + plain(asked));
        }

        /** A model that ran one workload with other blocks than all others is another server there. */
        List<Remark> otherServers() {
            Map<String, Remark> remarks = new LinkedHashMap<>();
            workloads.forEach((workload, results) -> results.forEach(each -> {
                Optional<String> own = Optional.ofNullable(each.where().get(Column.BLOCKS));
                Set<String> elsewhere = workloads.entrySet().stream()
                        .filter(other -> !other.getKey().equals(workload))
                        .flatMap(other -> other.getValue().stream())
                        .filter(other -> model(other).equals(model(each)))
                        .flatMap(other -> Optional.ofNullable(other.where().get(Column.BLOCKS)).stream())
                        .collect(Collectors.toCollection(TreeSet::new));
                if (own.isPresent() && elsewhere.size() == 1 && !elsewhere.contains(own.get())) {
                    String where =
                            workload + model(each).map(model -> ", " + model).orElse("");
                    remarks.putIfAbsent(
                            where,
                            Remark.note(
                                    Topic.SETTINGS,
                                    where,
                                    model(each).orElse("It") + " ran with blocks " + own.get()
                                            + " here and with blocks "
                                            + elsewhere.iterator().next() + " elsewhere in this phase."));
                }
            }));
            return List.copyOf(remarks.values());
        }
    }

    static Phases of(List<PublishedTable> tables, List<Paragraph> prose) {
        Map<String, List<PublishedTable>> byPhase = new LinkedHashMap<>();
        List<Map<String, String>> facts = new ArrayList<>();
        for (PublishedTable table : tables) {
            Optional<String> phase = phase(table.headings());
            phase.ifPresent(name ->
                    byPhase.computeIfAbsent(name, any -> new ArrayList<>()).add(table));
            if (phase.isEmpty()) {
                facts.addAll(table.facts());
            }
        }
        List<Phase> phases = new ArrayList<>();
        byPhase.forEach((name, own) -> phases.add(phase(
                name,
                own,
                facts,
                prose.stream()
                        .filter(each -> phase(each.headings()).equals(Optional.of(name)))
                        .toList())));
        return new Phases(phases);
    }

    private static Phase phase(
            String name, List<PublishedTable> tables, List<Map<String, String>> outside, List<Paragraph> prose) {
        List<Map<String, String>> facts = new ArrayList<>(outside);
        Map<String, List<Observation>> workloads = new LinkedHashMap<>();
        tables.forEach(table -> facts.addAll(table.facts()));
        for (PublishedTable table : tables) {
            if (isOfResults(table)) {
                for (Observation each : table.observations()) {
                    String workload = each.where()
                            .getOrDefault(
                                    Column.WORKLOAD, plain(table.headings().getLast()));
                    if (each.side().isEmpty()) {
                        workloads
                                .computeIfAbsent(workload, any -> new ArrayList<>())
                                .add(each);
                    }
                }
            }
        }
        List<OwnSetting> own = ownSettings(workloads, prose);
        workloads.replaceAll((workload, results) ->
                results.stream().map(each -> with(each, workload, facts, own)).toList());
        return new Phase(
                name,
                workloads,
                prose,
                tables.stream()
                        .filter(table -> !isOfResults(table) && table.facts().isEmpty())
                        .toList());
    }

    /** A setting that a sentence gives one model in one workload. */
    private record OwnSetting(String model, String workload, String name, String value) {}

    private static List<OwnSetting> ownSettings(Map<String, List<Observation>> workloads, List<Paragraph> prose) {
        Set<String> models = workloads.values().stream()
                .flatMap(List::stream)
                .flatMap(each -> model(each).stream())
                .collect(Collectors.toSet());
        List<OwnSetting> found = new ArrayList<>();
        for (Paragraph paragraph : prose) {
            Matcher matcher = OWN_SETTING.matcher(Figure.plain(paragraph.text()));
            while (matcher.find()) {
                String workload = Optional.ofNullable(matcher.group(2))
                        .orElseGet(() -> plain(paragraph.headings().getLast()));
                Optional<Column> column = Column.of(matcher.group(4));
                if (models.contains(matcher.group(1))
                        && workloads.containsKey(workload)
                        && column.orElse(new Column.Note()) instanceof Column.Level level) {
                    found.add(new OwnSetting(
                            matcher.group(1),
                            workload,
                            level.name(),
                            matcher.group(3).replace(",", "")));
                }
            }
        }
        return found;
    }

    /** Adds the settings that other tables, and sentences, give its workload and its model. */
    private static Observation with(
            Observation each, String workload, List<Map<String, String>> facts, List<OwnSetting> own) {
        Map<String, String> where = new LinkedHashMap<>(each.where());
        for (Map<String, String> fact : facts) {
            boolean ofIt = fact.getOrDefault(Column.WORKLOAD, workload).equals(workload)
                    && (!fact.containsKey(Column.MODEL)
                            || model(each).equals(Optional.ofNullable(fact.get(Column.MODEL))));
            if (ofIt) {
                fact.forEach((name, value) -> {
                    if (!name.equals(Column.WORKLOAD) && !name.equals(Column.MODEL) && !name.equals(Column.LENGTH)) {
                        where.putIfAbsent(name, value);
                    }
                });
            }
        }
        own.stream()
                .filter(setting ->
                        setting.workload().equals(workload) && model(each).equals(Optional.of(setting.model())))
                .forEach(setting -> where.put(setting.name(), setting.value()));
        return each.at(where);
    }

    /** Returns true if a table has measured results of a workload, and does not only compare. */
    static boolean isOfResults(PublishedTable table) {
        return table.facts().isEmpty()
                && !isOfComparisons(table)
                && table.observations().stream().anyMatch(each -> each.side().isEmpty());
    }

    /** Returns true if its heading names a phase below that of its own, as {@code Phase 5 vs Phase 4}. */
    private static boolean isOfComparisons(PublishedTable table) {
        return table.headings().stream().filter(Phases::isPhase).count() > 1;
    }

    private static boolean isPhase(String heading) {
        return heading.regionMatches(true, 0, "phase", 0, "phase".length());
    }

    static Optional<String> phase(List<String> headings) {
        return headings.stream().filter(Phases::isPhase).findFirst();
    }

    /** A heading without what is behind its dash. */
    static String plain(String heading) {
        return DASH.split(Figure.plain(heading), 2)[0].strip();
    }

    boolean isEmpty() {
        return phases.isEmpty();
    }

    /** Returns how few requests decide on the tails of a log, where its tables give their number. */
    Optional<Remark> fewRequests() {
        List<Observation> all = phases.stream()
                .flatMap(phase -> phase.workloads().values().stream())
                .flatMap(List::stream)
                .toList();
        return TableReview.fewRequests(
                all.stream().map(Observation::where).distinct().toList(),
                all.stream().map(Observation::metric).collect(Collectors.toSet()));
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

    /** The phase that somebody names; refused where there is none. */
    Phase called(String name, String file) {
        return phases.stream()
                .filter(each -> each.isCalled(name))
                .findFirst()
                .orElseThrow(() -> new LoadTestException("There is no phase '" + name + "' in " + file
                        + (phases.isEmpty()
                                ? ", which has no phases at all; leave it out."
                                : "; there are "
                                        + phases.stream()
                                                .map(each -> "'" + plain(each.name()) + "'")
                                                .collect(Collectors.joining(", "))
                                        + ".")));
    }

    /**
     * One for each phase: its results alone, and against the phase before it.
     *
     * @param against the phase that all later ones are compared with in place of their own last one
     */
    List<Section> sections(Set<String> controls, Optional<Phase> against) {
        List<Section> sections = new ArrayList<>();
        for (int i = 0; i < phases.size(); i++) {
            Phase phase = phases.get(i);
            List<Remark> remarks = new ArrayList<>(phase.otherServers());
            phase.workloads().forEach((workload, results) -> remarks.addAll(PhaseReview.ofResults(workload, results)));
            Optional<Phase> before = i == 0
                    ? Optional.empty()
                    : Optional.of(against.filter(base -> phases.indexOf(base) < phases.indexOf(phase))
                            .orElse(phases.get(i - 1)));
            if (before.isEmpty()) {
                sections.add(Section.of(phase.name(), List.of(), remarks));
                continue;
            }
            List<Comparison> changes = changes(before.get(), phase, remarks);
            Set<String> told = printed(phase);
            remarks.addAll(new PhaseReview(changes, told, phase.prose(), controls).remarks());
            sections.add(Section.of(phase.name() + " against " + before.get().name(), rows(changes), remarks));
        }
        return sections;
    }

    /** The changes that the tables of a phase print, by workload, model and metric. */
    private Set<String> printed(Phase phase) {
        Set<String> printed = new TreeSet<>();
        // What this program writes below each table of results comments nothing.
        for (PublishedTable table :
                phase.comparisons().stream().filter(Phases::isOfComparisons).toList()) {
            Optional<String> workload = workloadOf(table);
            Stream.concat(
                            table.comparisons().stream()
                                    .map(each -> PhaseReview.key(each.where(), each.metric(), workload)),
                            table.stated().stream().map(each -> PhaseReview.key(each.where(), each.metric(), workload)))
                    .forEach(printed::add);
        }
        return printed;
    }

    /** The only workload that the heading of a table, or the paragraph before it, names. */
    private Optional<String> workloadOf(PublishedTable table) {
        Set<String> all = workloads();
        for (String text : List.of(table.headings().getLast(), String.join(" ", table.before()))) {
            List<String> named = all.stream()
                    .filter(name -> Pattern.compile("(?<!\\w)" + Pattern.quote(name) + "(?!\\w)")
                            .matcher(text)
                            .find())
                    .toList();
            if (named.size() == 1) {
                return Optional.of(named.getFirst());
            }
        }
        return Optional.empty();
    }

    /** Checks a table that compares, or prints changes alone, against the results of the log. */
    Optional<Remark> arithmetic(PublishedTable table) {
        List<Comparison> all = new ArrayList<>(table.comparisons());
        table.stated().forEach(each -> recomputed(table, each).ifPresent(all::add));
        return TableReview.arithmetic(all);
    }

    private Optional<Comparison> recomputed(PublishedTable table, StatedChange change) {
        String row = change.where().getOrDefault("variant", "");
        if (VERSUS.matcher(row).find()) {
            String[] both = VERSUS.split(row, 2);
            return compared(change, row(table, change, both[1]), row(table, change, both[0]));
        }
        String[] both = VERSUS.split(plain(table.headings().getLast()), 2);
        Optional<String> workload = workloadOf(table);
        if (both.length < 2 || workload.isEmpty()) {
            return Optional.empty();
        }
        return compared(change, result(change, workload.get(), both[1]), result(change, workload.get(), both[0]));
    }

    private static Optional<Comparison> compared(
            StatedChange change, Optional<Observation> from, Optional<Observation> to) {
        return from.isEmpty() || to.isEmpty()
                ? Optional.empty()
                : Optional.of(new Comparison(
                        change.where(),
                        change.metric(),
                        from.get(),
                        to.get(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.of(change.percent())));
    }

    /** Another row of the same table and column, whose name begins so. */
    private static Optional<Observation> row(PublishedTable table, StatedChange change, String name) {
        return table.observations().stream()
                .filter(each -> each.where().getOrDefault("variant", "").startsWith(name)
                        && model(each).equals(Optional.ofNullable(change.where().get(Column.MODEL))))
                .findFirst();
    }

    private Optional<Observation> result(StatedChange change, String workload, String phase) {
        return phases.stream()
                .filter(each -> each.isCalled(phase))
                .flatMap(each -> each.workloads().getOrDefault(workload, List.of()).stream())
                .filter(each -> each.metric().equals(change.metric())
                        && model(each).equals(Optional.ofNullable(change.where().get(Column.MODEL))))
                .findFirst();
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

    /** Returns the changes from one phase to the next, of workloads that are still the same requests. */
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
