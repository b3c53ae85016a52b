package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.measure.FailurePattern;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.report.ResultTable;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/** Results of a matrix of cache states, computed from its legs. Passes are averaged here and nowhere else. */
public record MatrixReport(
        SuiteState state, List<List<String>> table, List<String> findings, List<String> failures, List<String> notes) {
    private static final List<Metric> COLUMNS = List.of(
            Metric.OUTPUT_THROUGHPUT,
            Metric.mean(Quantity.TTFT),
            Metric.mean(Quantity.ITL),
            Metric.mean(Quantity.E2E),
            Metric.CACHED_SHARE);

    /**
     * Reports on a folder.
     *
     * @param results of its legs
     * @param sameTexts whether all legs of a length asked for the same texts
     */
    public static MatrixReport of(SuiteState state, List<LoadLeg> legs, ResultFile results, boolean sameTexts) {
        List<String> notes = new ArrayList<>();
        CoolDown.told(legs).ifPresent(notes::add);
        AnswerEquality.of(legs, sameTexts).map(AnswerEquality::text).ifPresent(notes::add);
        return new MatrixReport(
                state,
                table(state, results),
                findings(state, legs, results),
                pattern(state).lines(),
                notes);
    }

    static FailurePattern pattern(SuiteState state) {
        List<Map.Entry<List<String>, Boolean>> runs = new ArrayList<>();
        for (LegVerdict verdict : state.verdicts()) {
            MatrixLeg.of(verdict.id())
                    .ifPresent(leg -> runs.add(Map.entry(
                            List.of("b" + leg.batch(), leg.state().word(), leg.way(), leg.context() + "tok"),
                            !verdict.counts())));
        }
        return FailurePattern.of(List.of("batch", "cache", "answers", "context"), runs);
    }

    /** A row for each configuration, each figure the mean of its passes that count. */
    private static List<List<String>> table(SuiteState state, ResultFile results) {
        Map<String, List<LoadResult>> counted = new LinkedHashMap<>();
        Map<String, Integer> passes = new LinkedHashMap<>();
        Map<String, LegVerdict> verdicts = new LinkedHashMap<>();
        state.verdicts().forEach(verdict -> verdicts.put(verdict.id(), verdict));
        for (LoadResult result : results.results()) {
            String configuration = result.id().substring(0, result.id().lastIndexOf('/'));
            passes.merge(configuration, 1, Integer::sum);
            List<LoadResult> its = counted.computeIfAbsent(configuration, any -> new ArrayList<>());
            if (Optional.ofNullable(verdicts.get(result.id()))
                            .map(LegVerdict::counts)
                            .orElse(false)
                    && MatrixLeg.of(result.id()).isPresent()) {
                its.add(result);
            }
        }
        List<List<String>> rows = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of("configuration"));
        COLUMNS.forEach(metric -> head.add(metric.title()));
        head.add("passes");
        rows.add(head);
        counted.forEach((configuration, its) -> {
            if (MatrixLeg.of(configuration + "/pass1").isPresent()) {
                List<String> row = new ArrayList<>(List.of(configuration));
                COLUMNS.forEach(metric -> row.add(ResultTable.shown(metric, mean(its, metric))));
                row.add(its.size() + "/" + passes.get(configuration));
                rows.add(row);
            }
        });
        return rows;
    }

    /** The mean over passes; absent where one of them has none. */
    static OptionalDouble mean(List<LoadResult> passes, Metric metric) {
        return passes.stream().anyMatch(pass -> pass.measures().of(metric).isEmpty())
                ? OptionalDouble.empty()
                : passes.stream()
                        .mapToDouble(pass -> pass.measures().of(metric).orElseThrow())
                        .average();
    }

    /** Returns findings to look into, the gravest first. */
    private static List<String> findings(SuiteState state, List<LoadLeg> legs, ResultFile results) {
        List<String> findings = new ArrayList<>();
        for (LegVerdict.Word word : List.of(LegVerdict.Word.INVALID, LegVerdict.Word.FAIL, LegVerdict.Word.WARN)) {
            for (LegVerdict verdict : state.verdicts()) {
                if (verdict.word() == word && verdict.flagged()) {
                    findings.add(word + " " + verdict.id() + ": " + String.join("; ", verdict.reasons()) + ".");
                }
            }
        }
        findings.addAll(implausible(legs, results));
        return findings;
    }

    /** Two users against one at the same length, where both were measured. */
    private static List<String> implausible(List<LoadLeg> legs, ResultFile results) {
        List<String> findings = new ArrayList<>();
        Map<Integer, List<Double>> two = new LinkedHashMap<>();
        legs.forEach(leg -> TwoUsers.of(leg)
                .filter(users -> users.mode() == Staggered.Mode.BATCHED && users.met())
                .ifPresent(users -> two.computeIfAbsent(users.context(), any -> new ArrayList<>())
                        .add(users.systemTps())));
        two.forEach((context, rates) -> {
            double together =
                    rates.stream().mapToDouble(Double::doubleValue).average().orElseThrow();
            results.results().stream()
                    .filter(result -> MatrixLeg.of(result.id())
                            .filter(leg -> leg.batch() == 1
                                    && leg.state() == CacheState.COLD
                                    && leg.streaming()
                                    && leg.context() == context)
                            .isPresent())
                    .flatMapToDouble(result -> result.measures().of(Metric.OUTPUT_THROUGHPUT).stream())
                    .average()
                    .stream()
                    .mapToObj(alone -> TwoUsers.implausible(together, alone, context))
                    .flatMap(Optional::stream)
                    .forEach(findings::add);
        });
        return findings;
    }

    /** Returns the number of legs by word, as 183 OK + 15 WARN = 198. */
    public String counts() {
        int sum = state.verdicts().size();
        return String.format(
                Locale.ROOT,
                "%d OK + %d WARN + %d FAIL + %d INVALID = %d",
                state.count(LegVerdict.Word.OK),
                state.count(LegVerdict.Word.WARN),
                state.count(LegVerdict.Word.FAIL),
                state.count(LegVerdict.Word.INVALID),
                sum);
    }
}
