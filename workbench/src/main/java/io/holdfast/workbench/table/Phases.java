package io.holdfast.workbench.table;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.Section;
import io.holdfast.workbench.table.TableText.Paragraph;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
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

    /** Settings of a table of facts that do not describe how results were measured. */
    private static final Set<String> OF_THE_FACT = Set.of(Column.WORKLOAD, Column.MODEL, Column.LENGTH);

    /**
     * One phase.
     *
     * @param results by workload, each of which names its own
     * @param tables that compare, and have no results of their own
     */
    record Phase(String name, List<Observation> results, List<Paragraph> prose, List<PublishedTable> tables) {
        Phase {
            results = results.stream()
                    .collect(Collectors.groupingBy(Observation::workload, LinkedHashMap::new, Collectors.toList()))
                    .values()
                    .stream()
                    .flatMap(List::stream)
                    .toList();
        }

        Set<String> workloads() {
            return results.stream().map(Observation::workload).collect(Collectors.toCollection(LinkedHashSet::new));
        }

        List<Observation> of(String workload) {
            return results.stream()
                    .filter(each -> each.workload().equals(workload))
                    .toList();
        }

        /** Returns the ids of a workload's requests; none where the log does not tell. */
        Set<String> ids(String workload) {
            return values(of(workload), Column.WORKLOAD_ID);
        }

        private static Set<String> values(List<Observation> some, String name) {
            return some.stream()
                    .flatMap(each -> Optional.ofNullable(each.where().get(name)).stream())
                    .collect(Collectors.toCollection(TreeSet::new));
        }

        /** Returns true if this name means it, with or without what is behind its dash. */
        boolean isCalled(String asked) {
            return name.equalsIgnoreCase(asked)
                    || plain(name).equalsIgnoreCase(plain(asked))
                    || plain(name).equalsIgnoreCase("phase " + plain(asked));
        }

        /** Reports models that ran one workload with other blocks than all others, and so on another server. */
        List<Remark> otherServers() {
            Map<String, Remark> remarks = new LinkedHashMap<>();
            for (Observation each : results) {
                String own = each.where().getOrDefault(Column.BLOCKS, "");
                Set<String> elsewhere = values(
                        results.stream()
                                .filter(other -> !other.workload().equals(each.workload())
                                        && other.model().equals(each.model()))
                                .toList(),
                        Column.BLOCKS);
                if (!own.isEmpty() && elsewhere.size() == 1 && !elsewhere.contains(own)) {
                    String where = each.workload() + (each.model().isEmpty() ? "" : ", " + each.model());
                    String text = (each.model().isEmpty() ? "It" : each.model()) + " ran with blocks " + own
                            + " here and with blocks " + elsewhere.iterator().next() + " elsewhere in this phase.";
                    remarks.putIfAbsent(where, new Remark(Topic.SETTINGS, where, text, false));
                }
            }
            return List.copyOf(remarks.values());
        }
    }

    static Phases of(List<PublishedTable> tables, List<Paragraph> prose) {
        Map<String, List<PublishedTable>> byPhase = tables.stream()
                .collect(Collectors.groupingBy(
                        table -> phase(table.text().headings()).orElse(""), LinkedHashMap::new, Collectors.toList()));
        List<Map<String, String>> outside = byPhase.getOrDefault("", List.of()).stream()
                .flatMap(table -> table.facts().stream())
                .toList();
        byPhase.remove("");
        List<Phase> phases = new ArrayList<>();
        byPhase.forEach((name, own) -> phases.add(phase(
                name,
                own,
                outside,
                prose.stream()
                        .filter(each -> phase(each.headings()).equals(Optional.of(name)))
                        .toList())));
        return new Phases(List.copyOf(phases));
    }

    private static Phase phase(
            String name, List<PublishedTable> tables, List<Map<String, String>> outside, List<Paragraph> prose) {
        List<Map<String, String>> facts = Stream.concat(
                        outside.stream(), tables.stream().flatMap(table -> table.facts().stream()))
                .toList();
        List<Observation> results = tables.stream()
                .filter(Phases::isOfResults)
                .flatMap(table -> table.observations().stream()
                        .filter(each -> each.side().isEmpty())
                        .map(each -> named(each, plain(table.name()))))
                .toList();
        List<Map<String, String>> own = ownSettings(results, prose);
        return new Phase(
                name,
                results.stream().map(each -> with(each, facts, own)).toList(),
                prose,
                tables.stream()
                        .filter(table -> !isOfResults(table) && table.facts().isEmpty())
                        .toList());
    }

    /** Returns a result with a workload of that name, unless it has one. */
    static Observation named(Observation each, String workload) {
        Map<String, String> where = new LinkedHashMap<>(each.where());
        where.putIfAbsent(Column.WORKLOAD, workload);
        return each.at(where);
    }

    /** Returns the settings that sentences give one model in one workload, each with both. */
    private static List<Map<String, String>> ownSettings(List<Observation> results, List<Paragraph> prose) {
        List<Map<String, String>> found = new ArrayList<>();
        for (Paragraph paragraph : prose) {
            for (MatchResult match : OWN_SETTING
                    .matcher(Figure.plain(paragraph.text()))
                    .results()
                    .toList()) {
                String model = match.group(1);
                String workload = Optional.ofNullable(match.group(2))
                        .orElseGet(() -> plain(paragraph.headings().getLast()));
                boolean known = results.stream().anyMatch(each -> each.model().equals(model))
                        && results.stream().anyMatch(each -> each.workload().equals(workload));
                Column.level(match.group(4))
                        .filter(any -> known)
                        .ifPresent(level -> found.add(Map.of(
                                Column.MODEL,
                                model,
                                Column.WORKLOAD,
                                workload,
                                level,
                                match.group(3).replace(",", ""))));
            }
        }
        return found;
    }

    /** Adds the settings that other tables, and above all sentences, give its workload and its model. */
    private static Observation with(Observation each, List<Map<String, String>> facts, List<Map<String, String>> own) {
        Map<String, String> where = new LinkedHashMap<>(each.where());
        facts.stream()
                .filter(fact -> isOf(each, fact))
                .forEach(fact -> fact.forEach((name, value) -> {
                    if (!OF_THE_FACT.contains(name)) {
                        where.putIfAbsent(name, value);
                    }
                }));
        own.stream().filter(fact -> isOf(each, fact)).forEach(where::putAll);
        return each.at(where);
    }

    private static boolean isOf(Observation each, Map<String, String> fact) {
        return fact.getOrDefault(Column.WORKLOAD, each.workload()).equals(each.workload())
                && fact.getOrDefault(Column.MODEL, each.model()).equals(each.model());
    }

    /** Returns true if a table has measured results of a workload, and does not only compare. */
    static boolean isOfResults(PublishedTable table) {
        return table.facts().isEmpty()
                && !isOfComparisons(table)
                && table.observations().stream().anyMatch(each -> each.side().isEmpty());
    }

    /** Returns true if its heading names a phase below that of its own, as {@code Phase 5 vs Phase 4}. */
    private static boolean isOfComparisons(PublishedTable table) {
        return table.text().headings().stream().filter(Phases::isPhase).count() > 1;
    }

    private static boolean isPhase(String heading) {
        return heading.regionMatches(true, 0, "phase", 0, "phase".length());
    }

    static Optional<String> phase(List<String> headings) {
        return headings.stream().filter(Phases::isPhase).findFirst();
    }

    /** Returns a heading without what is behind its dash. */
    static String plain(String heading) {
        return DASH.split(Figure.plain(heading), 2)[0].strip();
    }

    /** Reports how few requests decide on the tails of a log, where its tables give their number. */
    List<Remark> fewRequests() {
        List<Observation> all =
                phases.stream().flatMap(phase -> phase.results().stream()).toList();
        return TableReview.fewRequests(
                all.stream().map(Observation::where).toList(),
                all.stream().map(Observation::metric).collect(Collectors.toSet()));
    }

    /** Returns the last phase in which a workload was measured. */
    Optional<Phase> lastWith(String workload) {
        return phases.reversed().stream()
                .filter(phase -> phase.workloads().contains(workload))
                .findFirst();
    }

    /** Returns the workloads of all phases. */
    Set<String> workloads() {
        return phases.stream()
                .flatMap(phase -> phase.workloads().stream())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns the phase that somebody names; refused where there is none. */
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
     * Returns a section for each phase: its results alone, and against the phase before it.
     *
     * @param against the phase that all later ones are compared with in place of their own last one
     */
    List<Section> sections(Set<String> controls, Optional<Phase> against) {
        List<Section> sections = new ArrayList<>();
        for (int i = 0; i < phases.size(); i++) {
            Phase phase = phases.get(i);
            Remarks remarks = new Remarks();
            remarks.add(phase.otherServers());
            Place.of(phase.results(), List.of()).forEach(place -> {
                String at = Stream.of(Column.WORKLOAD, Column.MODEL)
                        .flatMap(name -> Optional.ofNullable(place.where().get(name)).stream())
                        .collect(Collectors.joining(", "));
                OwnFigures.inconsistent(place).ifPresent(text -> remarks.against(Topic.CONSISTENCY, at, text));
                TableReview.tails(place, "ttft").forEach(text -> remarks.note(Topic.TAIL, at, text));
            });
            if (i == 0) {
                sections.add(Section.of(phase.name(), List.of(), remarks.all()));
            } else {
                Phase before = against.filter(base -> phases.indexOf(base) < phases.indexOf(phase))
                        .orElse(phases.get(i - 1));
                List<Comparison> changes = changes(before, phase, remarks);
                remarks.add(new PhaseReview(changes, printed(phase), phase.prose(), controls).remarks());
                sections.add(Section.of(
                        phase.name() + " against " + before.name(),
                        Review.rows(changes, PhaseReview::where),
                        remarks.all()));
            }
        }
        return sections;
    }

    /** Returns the changes that the tables of a phase print, by workload, model and metric. */
    private Set<List<String>> printed(Phase phase) {
        // What this program writes below each table of results comments nothing.
        return phase.tables().stream()
                .filter(Phases::isOfComparisons)
                .flatMap(table -> Stream.concat(
                                table.comparisons().stream().map(Comparison::treatment), table.stated().stream())
                        .map(each ->
                                PhaseReview.key(named(each, workloadOf(table).orElse("")))))
                .collect(Collectors.toSet());
    }

    /** Returns the only workload that the heading of a table, or the paragraph before it, names. */
    private Optional<String> workloadOf(PublishedTable table) {
        return Stream.of(
                        table.text().headings().getLast(),
                        String.join(" ", table.text().before()))
                .map(text -> workloads().stream()
                        .filter(name -> Pattern.compile("(?<!\\w)" + Pattern.quote(name) + "(?!\\w)")
                                .matcher(text)
                                .find())
                        .toList())
                .filter(named -> named.size() == 1)
                .map(List::getFirst)
                .findFirst();
    }

    /** Checks a table that compares, or prints changes alone, against the results of the log. */
    List<Remark> arithmetic(PublishedTable table) {
        return TableReview.arithmetic(Stream.concat(
                        table.comparisons().stream(),
                        table.stated().stream().flatMap(each -> recomputed(table, each).stream()))
                .toList());
    }

    private Optional<Comparison> recomputed(PublishedTable table, Observation change) {
        String row = change.where().getOrDefault(Column.VARIANT, "");
        if (VERSUS.matcher(row).find()) {
            // Other rows of the same table, whose names begin so.
            String[] both = VERSUS.split(row, 2);
            return compared(
                    change,
                    name -> table.observations().stream()
                            .filter(each -> each.where()
                                    .getOrDefault(Column.VARIANT, "")
                                    .startsWith(name)),
                    both);
        }
        String[] both = VERSUS.split(plain(table.name()), 2);
        String workload = workloadOf(table).orElse("");
        return both.length < 2
                ? Optional.empty()
                : compared(
                        change,
                        name -> phases.stream()
                                .filter(each -> each.isCalled(name))
                                .flatMap(each -> each.of(workload).stream())
                                .filter(each -> each.metric().equals(change.metric())),
                        both);
    }

    private interface Named {
        Stream<Observation> of(String name);
    }

    /** Returns the numbers that a change is made from: to the first of both names, from the second. */
    private static Optional<Comparison> compared(Observation change, Named results, String[] both) {
        Optional<Observation> from = ofModel(results.of(both[1]), change);
        return ofModel(results.of(both[0]), change)
                .flatMap(to -> from.map(
                        is -> new Comparison(change.where(), is, to, Optional.empty(), Optional.of(change.figure()))));
    }

    private static Optional<Observation> ofModel(Stream<Observation> some, Observation change) {
        return some.filter(each -> each.model().equals(change.model())).findFirst();
    }

    /** Returns the changes from one phase to the next, of workloads that are still the same requests. */
    private static List<Comparison> changes(Phase before, Phase now, Remarks remarks) {
        List<Comparison> changes = new ArrayList<>();
        for (String workload : now.workloads()) {
            Set<String> was = before.ids(workload);
            Set<String> is = now.ids(workload);
            if (!was.isEmpty() && !is.isEmpty() && !was.equals(is)) {
                remarks.against(
                        Topic.SETTINGS,
                        workload,
                        "It was redefined: its requests had the id " + String.join(" and ", was) + " and have "
                                + String.join(" and ", is) + ", so it is not compared.");
            } else {
                changes.addAll(changes(before.of(workload), now.of(workload), remarks));
            }
        }
        return changes;
    }

    /** Returns the changes from some results to others of the same workload, model and metric. */
    static List<Comparison> changes(List<Observation> before, List<Observation> now, Remarks remarks) {
        Map<List<String>, Observation> earlier = new LinkedHashMap<>();
        before.forEach(each -> earlier.putIfAbsent(PhaseReview.key(each), each));
        List<Comparison> changes = new ArrayList<>();
        for (Observation each : now) {
            Optional.ofNullable(earlier.get(PhaseReview.key(each))).ifPresent(was -> {
                Map<String, String> where = new LinkedHashMap<>(Map.of(Column.WORKLOAD, each.workload()));
                if (!each.model().isEmpty()) {
                    where.put(Column.MODEL, each.model());
                }
                changes.add(new Comparison(where, was, each, Optional.empty(), Optional.empty()));
                // Once for a model, by its first metric.
                String unequal = each.metric().equals(Metric.OUTPUT_THROUGHPUT) ? unequal(was, each) : "";
                if (!unequal.isEmpty()) {
                    remarks.note(Topic.SETTINGS, Place.text(where), "The settings differ as well: " + unequal + ".");
                }
            });
        }
        return changes;
    }

    private static String unequal(Observation before, Observation now) {
        return now.where().entrySet().stream()
                .filter(each -> !each.getValue().equals(before.where().getOrDefault(each.getKey(), each.getValue())))
                .map(each -> each.getKey() + " " + before.where().get(each.getKey()) + " -> " + each.getValue())
                .sorted()
                .collect(Collectors.joining(", "));
    }
}
