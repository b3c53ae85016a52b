package io.holdfast.workbench.table;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.workbench.table.Claim.Status;
import io.holdfast.workbench.table.Remark.Topic;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.DoubleSummaryStatistics;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;

/**
 * Review of somebody else's numbers: what they can and cannot show.
 *
 * <p>No verdict in it is ever REAL: that asks for pairs in both orders, A/A and the server's own count of cached
 * tokens, by request, and a table is at best a summary of those.
 *
 * @param sections one for each table, or for each step of a log
 * @param remarks on all tables together
 * @param claims what the tables make of what they are published for
 * @param published claims that the file itself has in a ledger
 * @param criteria that the file itself names
 * @param skipped a sentence for each of its tables that is not understood
 * @param rerun commands that would show it
 */
public record Review(
        String file,
        List<Section> sections,
        List<Remark> remarks,
        List<Claim> claims,
        List<Claim> published,
        List<Criterion> criteria,
        List<String> skipped,
        List<RerunPlan.Step> rerun) {
    public Review {
        sections = List.copyOf(sections);
        remarks = List.copyOf(remarks);
        claims = List.copyOf(claims);
        published = List.copyOf(published);
        criteria = List.copyOf(criteria);
        skipped = List.copyOf(skipped);
        rerun = List.copyOf(rerun);
    }

    /**
     * One table.
     *
     * @param changes what it compares, with changes recomputed
     * @param plot throughput over devices, where there is something to draw
     * @param verdicts one for each place that it compares two arms at
     */
    public record Section(
            String name,
            List<ChangeRow> changes,
            @JsonIgnore Optional<Plot> plot,
            List<Remark> remarks,
            List<Judged> verdicts) {
        public Section {
            changes = List.copyOf(changes);
            remarks =
                    remarks.stream().sorted(Comparator.comparing(Remark::topic)).toList();
            verdicts = List.copyOf(verdicts);
        }

        /** Returns a section without arms, and without a plot. */
        static Section of(String name, List<ChangeRow> changes, List<Remark> remarks) {
            return new Section(name, changes, Optional.empty(), remarks, List.of());
        }

        private Section without(List<Remark> said) {
            return new Section(
                    name,
                    changes,
                    plot,
                    remarks.stream().filter(remark -> !said.contains(remark)).toList(),
                    verdicts);
        }
    }

    /** A place and what changes there, by the metrics' titles, as {@code 67.09 -> 52.07 (-22.4 %)}. */
    public record ChangeRow(
            String where, @JsonProperty("metrics") Map<String, String> changes) {}

    /**
     * Result of a load test's rules at one place.
     *
     * @param change of the metric, as printed numbers give it
     * @param signs what looks like an artefact of the order there
     */
    public record Judged(String where, String metric, String change, Verdict verdict, List<String> signs) {}

    /**
     * Knowledge of the person who asks, beyond the table.
     *
     * @param controls workloads or models that the change should leave alone
     * @param saidBias order biases, in milliseconds, that somebody named
     * @param url of the server that the rerun is to ask
     * @param against the phase of a log that all later ones are compared with
     * @param sharedTokens that all requests begin with, where the tables do not tell
     * @param ownTokens that each request has of its own, where the tables do not tell
     */
    public record Settings(
            Set<String> controls,
            List<Double> saidBias,
            String url,
            Optional<String> against,
            OptionalInt sharedTokens,
            OptionalInt ownTokens) {
        public Settings {
            controls = Set.copyOf(controls);
            saidBias = List.copyOf(saidBias);
        }

        Settings(Set<String> controls, List<Double> saidBias, String url) {
            this(controls, saidBias, url, Optional.empty(), OptionalInt.empty(), OptionalInt.empty());
        }

        public static Settings defaults() {
            return new Settings(Set.of(), List.of(), "http://127.0.0.1:30000");
        }

        private Map<String, String> told() {
            Map<String, String> told = new LinkedHashMap<>();
            sharedTokens.ifPresent(tokens -> told.put(Column.SHARED_TOKENS, Integer.toString(tokens)));
            ownTokens.ifPresent(tokens -> told.put(Column.UNIQUE_TOKENS, Integer.toString(tokens)));
            return told;
        }
    }

    /** Reviews all tables of a file. */
    public static Review of(Path file, Settings settings) {
        return of(TableText.read(file), settings);
    }

    static Review of(TableText.Contents contents, Settings settings) {
        PublishedDocument document = PublishedDocument.of(contents, settings.told());
        List<PublishedTable> tables = document.tables();
        List<Section> sections = new ArrayList<>();
        Phases phases = Phases.of(tables, document.prose());
        refuseUnknown(settings.controls(), phases.workloads(), document.file());
        Optional<Phases.Phase> against = settings.against().map(name -> phases.called(name, document.file()));
        List<String> skipped = new ArrayList<>(document.skipped());
        for (PublishedTable table : tables) {
            boolean inPhase = Phases.phase(table.text().headings()).isPresent();
            if (!table.statuses().isEmpty()) {
                sections.add(
                        Section.of(table.name(), List.of(), Outcomes.of(table).remarks()));
            } else if (inPhase && Sweep.of(table).isEmpty()) {
                // What a log says of its own numbers; the numbers themselves are in the phases.
                phases.arithmetic(table).stream()
                        .filter(remark -> remark.against() || !table.stated().isEmpty())
                        .forEach(said -> sections.add(Section.of(table.name(), List.of(), List.of(said))));
            } else if (table.hasNumbers() && !(inPhase && Phases.isOfResults(table))) {
                try {
                    sections.add(section(table, settings));
                } catch (LoadTestException e) {
                    skipped.add(String.valueOf(e.getMessage()));
                }
            }
        }
        sections.addAll(phases.sections(settings.controls(), against));
        List<PublishedTable> compared = tables.stream()
                .filter(table -> !table.comparisons().isEmpty())
                .filter(table -> Phases.phase(table.text().headings()).isEmpty())
                .toList();
        List<Remark> common = common(sections);
        Remarks together = new Remarks();
        together.add(common);
        Replicate.in(compared).forEach(each -> together.note(Topic.REPLICATES, Place.text(each.where()), each.text()));
        together.add(phases.fewRequests());
        document.notes().forEach(note -> together.note(Topic.READING, "", note));
        return new Review(
                document.file(),
                sections.stream().map(section -> section.without(common)).toList(),
                together.all(),
                claims(compared),
                document.claims(),
                document.criteria(),
                skipped,
                RerunPlan.of(compared, settings.url()));
    }

    private static Section section(PublishedTable table, Settings settings) {
        TableReview review = new TableReview(table, settings.saidBias());
        Remarks remarks = new Remarks();
        remarks.add(review.remarks());
        remarks.add(OwnFigures.remarks(table));
        remarks.add(Variants.remarks(table));
        remarks.add(CoolDown.of(table).remarks());
        return new Section(table.name(), rows(table), Variants.plot(table), remarks.all(), review.verdicts());
    }

    /** A control that is nowhere would find nothing, and look as if nothing had moved. */
    private static void refuseUnknown(Set<String> controls, Set<String> workloads, String file) {
        controls.stream()
                .filter(name -> !workloads.contains(name))
                .sorted()
                .findFirst()
                .ifPresent(name -> {
                    throw new LoadTestException("--control names '" + name + "', which is no workload of " + file + "; "
                            + (workloads.isEmpty()
                                    ? "controls are for a log of phases, so leave it out."
                                    : "there are " + String.join(", ", workloads) + "."));
                });
    }

    /** Returns remarks that hold for every table that compares arms, so that they are made once. */
    private static List<Remark> common(List<Section> sections) {
        List<Section> judged = sections.stream()
                .filter(section -> !section.verdicts().isEmpty())
                .toList();
        return judged.size() < 2
                ? List.of()
                : judged.getFirst().remarks().stream()
                        .filter(remark -> remark.topic() != Topic.ARITHMETIC
                                && judged.stream()
                                        .allMatch(each -> each.remarks().contains(remark)))
                        .toList();
    }

    /** The worst of all verdicts; absent where nothing is compared. */
    public Optional<Verdict> verdict() {
        List<Verdict> all = sections.stream()
                .flatMap(section -> section.verdicts().stream())
                .map(Judged::verdict)
                .toList();
        return all.isEmpty() ? Optional.empty() : Optional.of(Verdict.worst(all));
    }

    /** Returns true if the file itself reports that something went wrong, such as legs that failed or are missing. */
    public boolean hasFailures() {
        return sections.stream()
                .flatMap(section -> section.remarks().stream())
                .anyMatch(remark -> remark.topic() == Topic.OUTCOMES && remark.against());
    }

    /** Returns true if nothing that a table is reviewed for can be found real. */
    public boolean isUndecided() {
        return verdict()
                .map(verdict -> verdict.finding() == Finding.INCONCLUSIVE)
                .orElse(false);
    }

    private static List<ChangeRow> rows(PublishedTable table) {
        List<Comparison> all = table.comparisons();
        Set<String> varying = new LinkedHashSet<>();
        all.forEach(each -> each.where().forEach((name, value) -> {
            if (all.stream().anyMatch(other -> !value.equals(other.where().get(name)))) {
                varying.add(name);
            }
        }));
        if (varying.contains(Column.MEMORY)) {
            varying.remove(Column.CAPACITY);
        }
        return rows(all, each -> {
            Map<String, String> where = new LinkedHashMap<>(each.where());
            where.keySet().retainAll(varying);
            each.baseline().repetition().ifPresent(number -> where.put("repetition", number));
            return Place.text(where);
        });
    }

    /** Returns changes in rows, by where they are. */
    static List<ChangeRow> rows(List<Comparison> changes, Function<Comparison, String> where) {
        Map<String, Map<String, String>> rows = new LinkedHashMap<>();
        changes.forEach(each -> rows.computeIfAbsent(where.apply(each), any -> new LinkedHashMap<>())
                .put(each.metric().title(), each.text()));
        return rows.entrySet().stream()
                .map(row -> new ChangeRow(row.getKey(), row.getValue()))
                .toList();
    }

    /**
     * Returns claims that the tables themselves cast doubt on, or support: a gain that is as large where nothing is
     * evicted is suspect wherever it was measured with the same configuration.
     */
    private static List<Claim> claims(List<PublishedTable> tables) {
        List<Claim> claims = new ArrayList<>();
        for (PublishedTable table : tables) {
            Sweep.of(table)
                    .forEach(sweep -> sweep.judged()
                            .ifPresent(metric -> sweep.placebo(metric)
                                    .filter(placebo -> placebo.fails(TableReview.DELTA))
                                    .ifPresent(placebo -> claims.add(claim(table.name(), sweep, metric, placebo)))));
            for (Metric metric : TableReview.deviations(table)) {
                SpreadTable spread = SpreadTable.of(metric, table.comparisons(metric));
                spread.ratio()
                        .filter(any -> spread.differs())
                        .ifPresent(ratio -> claims.add(new Claim(
                                metric.title() + " changes by " + TableReview.percent(ratio.mean()),
                                spread.isCrossed() ? Status.LIKELY_REAL : Status.SUSPECT,
                                "",
                                List.of(table.name() + ": " + spread.text()))));
            }
        }
        return claims;
    }

    private static Claim claim(String table, Sweep sweep, Metric metric, Sweep.Placebo placebo) {
        List<Place> others = sweep.places().stream()
                .filter(place -> !place.equals(placebo.place()))
                .toList();
        DoubleSummaryStatistics effects = others.stream()
                .mapToDouble(place -> place.logRatio(metric.name()))
                .filter(Double::isFinite)
                .summaryStatistics();
        Map<String, String> same = new HashMap<>(others.getFirst().where());
        same.keySet().removeAll(List.of(sweep.axis(), Column.CAPACITY));
        return new Claim(
                metric.title() + " changes by " + TableReview.percent(effects.getMax()) + " to "
                        + TableReview.percent(effects.getMin()) + " at " + Place.text(same),
                Status.SUSPECT,
                "",
                List.of(table + ": " + sweep.at(placebo.place()) + ", " + metric.title() + " "
                        + TableReview.percent(placebo.logRatio())));
    }
}
