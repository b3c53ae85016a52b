package io.holdfast.workbench.matrix;

import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.report.ResultTable;
import io.holdfast.loadtest.report.Shown;
import io.holdfast.loadtest.sweep.Cliff;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;

/**
 * Results of differently started servers in each cell, and where pairs of their lives were planned, which of the
 * differences are shown.
 *
 * @param table a row for each cell and variant, the head first
 * @param notStarted why, by variant
 */
public record ServerReport(
        List<List<String>> table, Map<String, String> notStarted, List<Judged> judged, List<String> says) {
    private static final Metric RATE = Metric.OUTPUT_THROUGHPUT;
    private static final Metric STEP = Metric.percentile(Quantity.ITL, 50);
    private static final List<Metric> COLUMNS =
            List.of(Metric.percentile(Quantity.TTFT, 50), STEP, Metric.percentile(Quantity.E2E, 50), RATE);

    /**
     * A cell in which a variant was held against the reference.
     *
     * @param metric that was compared
     */
    public record Judged(String variant, String cell, Metric metric, Verdict verdict) {
        String text(String reference) {
            OptionalDouble effect = verdict.estimate().effect();
            String change = metric.better() == Metric.Better.HIGHER && effect.isPresent()
                    ? Shown.change(-effect.getAsDouble())
                    : Shown.change(effect);
            return variant + " against " + reference + " in " + cell + ": " + verdict.headline() + ", " + metric.title()
                    + " changes by " + change + ".";
        }
    }

    /**
     * Reports on the legs that a folder has.
     *
     * @param rate what prefill cells are judged by; decode cells are judged by the time between tokens
     */
    public static ServerReport of(VariantFile.Contents contents, List<LoadLeg> legs, ResultFile results, Metric rate) {
        Map<String, String> notStarted = new LinkedHashMap<>();
        legs.forEach(leg -> leg.problem()
                .ifPresent(why -> notStarted.put(leg.settings().getOrDefault(ServerCompare.VARIANT, ""), why)));
        Map<String, Map<String, List<LoadResult>>> cells = new LinkedHashMap<>();
        contents.cells().forEach(cell -> cells.put(cell.id(), new LinkedHashMap<>()));
        for (LoadResult result : results.results()) {
            Optional.ofNullable(cells.get(cellOf(result.id())))
                    .ifPresent(cell -> cell.computeIfAbsent(
                                    result.settings().getOrDefault(ServerCompare.VARIANT, ""), any -> new ArrayList<>())
                            .add(result));
        }
        List<Judged> judged = judged(contents, results, rate);
        List<String> says = new ArrayList<>();
        notStarted.forEach((variant, why) -> says.add(variant + " " + why));
        if (notStarted.containsKey(contents.reference())) {
            says.add("The reference " + contents.reference() + " did not start, so no variant is held against it.");
        }
        judged.forEach(each -> says.add(each.text(contents.reference())));
        if (contents.swept()) {
            cells.forEach((cell, variants) ->
                    cliff(contents, variants).ifPresent(found -> says.add("In " + cell + ": " + found)));
        }
        return new ServerReport(table(contents, cells, notStarted), notStarted, judged, says);
    }

    private static Optional<String> cliff(VariantFile.Contents contents, Map<String, List<LoadResult>> variants) {
        List<Cliff.Point> points = new ArrayList<>();
        contents.variants()
                .forEach(variant -> mean(variants, variant.name(), RATE)
                        .ifPresent(rate -> points.add(new Cliff.Point(variant.name(), rate))));
        return cliff(points);
    }

    /** Returns where throughput falls off over a sweep, and which point to take; absent for fewer than two points. */
    static Optional<String> cliff(List<Cliff.Point> points) {
        if (points.size() < 2) {
            return Optional.empty();
        }
        return Cliff.of(points).map(cliff -> cliff.text("tok/s")).or(() -> {
            Cliff.Point taken = Cliff.nearlyBest(points);
            return Optional.of(String.format(
                    Locale.ROOT,
                    "Throughput falls by half nowhere. Take %s (%.1f tok/s).",
                    taken.level(),
                    taken.value()));
        });
    }

    /** Returns the part of {@code tp2/b8/512tok/pass1} between the variant and the pass. */
    private static String cellOf(String id) {
        return id.substring(id.indexOf('/') + 1, id.lastIndexOf('/'));
    }

    private static List<List<String>> table(
            VariantFile.Contents contents,
            Map<String, Map<String, List<LoadResult>>> cells,
            Map<String, String> notStarted) {
        List<List<String>> rows = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of("cell", "variant"));
        COLUMNS.forEach(metric -> head.add(metric.title()));
        head.add("to " + contents.reference());
        head.add("lives");
        rows.add(head);
        Set<String> order = new LinkedHashSet<>(List.of(contents.reference()));
        contents.variants().forEach(variant -> order.add(variant.name()));
        cells.forEach((cell, variants) -> {
            OptionalDouble reference = mean(variants, contents.reference(), RATE);
            for (String variant : order) {
                List<String> row = new ArrayList<>(List.of(cell, variant));
                COLUMNS.forEach(metric -> row.add(shown(mean(variants, variant, metric), metric)));
                OptionalDouble own = mean(variants, variant, RATE);
                row.add(
                        own.isPresent() && reference.isPresent()
                                ? String.format(Locale.ROOT, "%.2f x", own.getAsDouble() / reference.getAsDouble())
                                : "-");
                row.add(
                        notStarted.containsKey(variant)
                                ? "did not start"
                                : Integer.toString(variants.getOrDefault(variant, List.of())
                                        .size()));
                rows.add(row);
            }
        });
        return rows;
    }

    private static String shown(OptionalDouble value, Metric metric) {
        // The time of a decode step is what is compared here, so its tenths are shown.
        return metric.equals(STEP) ? Shown.number("%.1f ms", value, "-") : ResultTable.shown(metric, value);
    }

    private static OptionalDouble mean(Map<String, List<LoadResult>> variants, String variant, Metric metric) {
        return MatrixReport.mean(variants.getOrDefault(variant, List.of()), metric);
    }

    private static List<Judged> judged(VariantFile.Contents contents, ResultFile results, Metric rate) {
        Map<String, Map<String, PairedLegs>> pairs = new LinkedHashMap<>();
        Map<String, Map<String, Integer>> planned = new LinkedHashMap<>();
        Map<String, LoadResult> firsts = new LinkedHashMap<>();
        for (LoadResult result : results.results()) {
            String against = result.settings().getOrDefault(ServerCompare.AGAINST, "");
            if (against.isEmpty()) {
                continue;
            }
            String cell = cellOf(result.id());
            String key = cell + " " + result.settings().getOrDefault(Staggered.PAIR, "");
            LoadResult first = firsts.putIfAbsent(key, result);
            if (first != null) {
                Metric metric = metric(result, rate);
                planned.computeIfAbsent(against, any -> new LinkedHashMap<>()).merge(cell, 1, Integer::sum);
                PairedLegs its = pairs.computeIfAbsent(against, any -> new LinkedHashMap<>())
                        .computeIfAbsent(cell, any -> new PairedLegs());
                its.add(
                        PairOrder.valueOf(result.settings().getOrDefault(Staggered.ORDER, "")),
                        cost(first, metric),
                        cost(result, metric));
            }
        }
        List<Judged> judged = new ArrayList<>();
        pairs.forEach((against, cells) -> PairedLegs.verdicts(cells, planned.getOrDefault(against, Map.of()))
                .forEach((cell, verdict) -> {
                    boolean decode = cell.endsWith("/" + ServerCompare.DECODE);
                    judged.add(new Judged(against, cell, decode ? STEP : rate, verdict));
                }));
        return judged.stream()
                .filter(each -> contents.variants().stream()
                        .anyMatch(known -> known.name().equals(each.variant())))
                .toList();
    }

    private static Metric metric(LoadResult result, Metric rate) {
        return Boolean.parseBoolean(result.settings().getOrDefault(ServerCompare.DECODE, "false")) ? STEP : rate;
    }

    /** Returns a value of which less is better; 0 where it was not measured, which no pair takes. */
    private static double cost(LoadResult result, Metric metric) {
        double value = result.measures().of(metric).orElse(0);
        return value > 0 && metric.better() == Metric.Better.HIGHER ? 1 / value : value;
    }
}
