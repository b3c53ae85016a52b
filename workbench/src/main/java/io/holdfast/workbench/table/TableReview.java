package io.holdfast.workbench.table;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Flag;
import io.holdfast.evidence.Judge;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.MeanInterval;
import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.RequiredPairs;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.Judged;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Review of one table of two arms: what it can and cannot show. */
final class TableReview {
    private static final double DELTA = Criteria.standard().delta();

    /** A change of a line this sure counts as one. */
    private static final double SURE = 0.05;

    /** Ratio from which a tail is so long that the median says nothing about it. */
    private static final double LONG_TAIL = 5;

    private static final List<String> RANKS = List.of("slowest", "second slowest", "third slowest");

    /** The band in which order biases of this kind were published. */
    private static final double[] BAND = {0.15, 0.25};

    private final PublishedTable table;
    private final List<Double> saidBias;
    private final List<Place> places;
    private final List<Sweep> sweeps;
    private final List<Remark> remarks = new ArrayList<>();

    TableReview(PublishedTable table, List<Double> saidBias) {
        this.table = table;
        this.saidBias = saidBias;
        this.places = Place.of(table);
        this.sweeps = Sweep.of(table);
    }

    List<Remark> remarks() {
        arithmetic(table).ifPresent(remarks::add);
        if (places.stream().anyMatch(place -> !place.compared().isEmpty())) {
            order();
            repetitions();
            exposure();
            spread();
        }
        demand();
        sweeps.forEach(this::sweep);
        places.forEach(this::place);
        firstWaves();
        fewRequests(places.stream().map(Place::where).toList(), metricsOf(places))
                .ifPresent(remarks::add);
        table.notes().forEach(note -> remarks.add(Remark.note(Topic.READING, "", note)));
        return remarks;
    }

    private static Set<Metric> metricsOf(List<Place> places) {
        return places.stream()
                .flatMap(place -> Stream.concat(place.compared().keySet().stream(), place.plain().keySet().stream()))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /** Returns how few requests decide on a P99, where the places give their number. */
    static Optional<Remark> fewRequests(List<Map<String, String>> places, Set<Metric> metrics) {
        if (metrics.stream().noneMatch(metric -> metric.name().endsWith("_p99"))) {
            return Optional.empty();
        }
        Map<Integer, String> ranks = new TreeMap<>();
        places.stream()
                .flatMap(where -> Optional.ofNullable(where.get(Column.REQUESTS)).flatMap(Figure::of).stream())
                .map(figure -> figure.number().intValue())
                .filter(requests -> requests > 0)
                .forEach(requests -> {
                    int slowest = requests - (int) Math.ceil(0.99 * requests) + 1;
                    if (slowest <= RANKS.size()) {
                        ranks.put(requests, RANKS.get(slowest - 1));
                    }
                });
        return ranks.isEmpty()
                ? Optional.empty()
                : Optional.of(Remark.note(
                        Topic.TAIL,
                        "",
                        ranks.entrySet().stream()
                                        .map(each ->
                                                "a P99 of " + each.getKey() + " requests is its " + each.getValue())
                                        .collect(Collectors.joining(", "))
                                        .replaceFirst("^a", "A")
                                + ": one slow request more or less moves it."));
    }

    /** The verdict on each place that compares two arms. */
    List<Judged> verdicts() {
        boolean placeboFails = sweeps.stream()
                .anyMatch(sweep -> sweep.places().getFirst().judged().flatMap(sweep::placebo).stream()
                        .anyMatch(placebo -> placebo.fails(DELTA)));
        List<Judged> verdicts = new ArrayList<>();
        for (Place place : places) {
            Optional<Metric> metric = place.judged();
            if (metric.isPresent() && place.compared().containsKey(metric.get())) {
                Verdict verdict = verdict(place, metric.get());
                List<String> signs = new ArrayList<>();
                if (placeboFails) {
                    signs.add("as large with memory to spare");
                }
                signs.addAll(signs(place));
                verdicts.add(new Judged(
                        where(place),
                        metric.get().title(),
                        place.comparisons(metric.get()).getFirst().percent(),
                        verdict,
                        List.copyOf(signs)));
            }
        }
        return verdicts;
    }

    private Verdict verdict(Place place, Metric metric) {
        Experiment experiment = Experiment.of(place.pairs(metric), CacheProof.unknown());
        return Judge.judge(
                place.mixed().isEmpty() ? experiment : experiment.withFlags(Set.of(Flag.MIXED)), Criteria.standard());
    }

    /** Returns signs at a place of an artefact of the order. */
    private List<String> signs(Place place) {
        List<String> signs = new ArrayList<>();
        Optional<Metric> median = Place.named(place.compared().keySet(), "ttft_p50");
        OptionalDouble change = median.map(place::logRatio).orElse(OptionalDouble.empty());
        if (change.isPresent() && change.getAsDouble() > -DELTA) {
            signs.add("the median did not fall by 5 %");
        }
        place.firstWave().ifPresent(count -> signs.add(Comparison.rounded(count, 1) + " slow requests would do it"));
        return signs;
    }

    /** Checks the printed changes of a table against its numbers; absent where it prints none. */
    static Optional<Remark> arithmetic(PublishedTable table) {
        return arithmetic(table.comparisons());
    }

    /** Checks comparisons from any source. */
    static Optional<Remark> arithmetic(List<Comparison> comparisons) {
        List<Comparison> stated =
                comparisons.stream().filter(each -> each.stated().isPresent()).toList();
        List<String> wrong = stated.stream()
                .flatMap(each -> each.wrongStatement().stream()
                        .map(sentence -> PublishedTable.text(each.where()) + ", "
                                + each.metric().title() + ": " + sentence))
                .toList();
        if (stated.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(
                wrong.isEmpty()
                        ? Remark.note(
                                Topic.ARITHMETIC,
                                "",
                                "All " + stated.size() + " printed changes are what the numbers give.")
                        : Remark.against(
                                Topic.ARITHMETIC,
                                "",
                                wrong.size() + " of " + stated.size()
                                        + " printed changes are not what the numbers give, rounded half up: "
                                        + String.join("; ", wrong) + "."));
    }

    private void order() {
        List<Comparison> all = table.comparisons();
        Set<PairOrder> orders = all.stream()
                .flatMap(each -> each.order().stream())
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(PairOrder.class)));
        if (orders.isEmpty()) {
            remarks.add(Remark.against(
                    Topic.ORDER,
                    "",
                    "It does not say which arm ran first. If it was always the same one, the change holds what being"
                            + " second gives as well, and nothing in the table tells them apart."));
        } else if (!orders.contains(PairOrder.BP) || !orders.contains(PairOrder.PB)) {
            remarks.add(Remark.against(
                    Topic.ORDER,
                    "",
                    "The arms ran in one order only (" + (orders.contains(PairOrder.BP) ? "baseline" : "treatment")
                            + " first), so the change holds what being second gives as well."));
        } else {
            remarks.add(Remark.note(Topic.ORDER, "", "Both orders are there."));
        }
        if (!orders.contains(PairOrder.AA)) {
            remarks.add(Remark.against(
                    Topic.ORDER, "", "There is no A/A: nothing shows what the second leg gains when nothing changes."));
        }
        for (Place place : places) {
            place.judged().ifPresent(metric -> orderBias(place, metric));
        }
    }

    private void orderBias(Place place, Metric metric) {
        Estimate.of(place.pairs(metric)).orderBias().ifPresent(bias -> {
            double share = Math.abs(Math.expm1(bias));
            remarks.add(Remark.note(
                    Topic.ORDER_BIAS,
                    where(place),
                    "A/A: the second leg moves " + metric.title() + " by " + percent(bias)
                            + (share >= BAND[0] && share <= BAND[1]
                                    ? ", within the 15 to 25 % that such benchmarks were published with"
                                    : "")
                            + "; that much of a gain in one order is no effect."));
        });
    }

    private void repetitions() {
        int most = places.stream()
                .flatMap(place -> place.compared().values().stream())
                .mapToInt(List::size)
                .max()
                .orElse(0);
        int least = Criteria.FEWEST_PER_ORDER;
        if (most <= 1) {
            remarks.add(Remark.against(
                    Topic.REPETITIONS,
                    "",
                    "Single runs: no change in it has an interval. At least " + least
                            + " pairs of each order are needed" + spreadOverLevels() + "."));
            return;
        }
        for (Place place : places) {
            place.judged().ifPresent(metric -> across(place, metric, least));
        }
    }

    /** Returns the number of pairs that the scatter of a sweep over its levels needs. */
    private String spreadOverLevels() {
        return sweeps.stream()
                .filter(Sweep::isOfMemory)
                .flatMap(sweep -> sweep.places().getFirst().judged().flatMap(sweep::naive).stream())
                .filter(naive -> naive.sd() > 0)
                .findFirst()
                .map(naive -> {
                    OptionalInt pairs = RequiredPairs.toDetect(naive.sd(), DELTA);
                    return "; with the scatter of its levels (" + Comparison.rounded(100 * naive.sd(), 1)
                            + " %) an effect of 5 % needs "
                            + (pairs.isPresent() ? Math.max(Criteria.FEWEST_PER_ORDER, pairs.getAsInt()) : "more")
                            + " of each order";
                })
                .orElse("");
    }

    private void across(Place place, Metric metric, int least) {
        List<Comparison> pairs = place.comparisons(metric).stream()
                .filter(each -> !each.isControl())
                .toList();
        if (pairs.size() < 2) {
            return;
        }
        String arms = Stream.of(true, false)
                .map(baseline -> {
                    MeanInterval arm = MeanInterval.of(pairs.stream()
                                    .mapToDouble(each -> (baseline ? each.baseline() : each.treatment()).value())
                                    .toArray())
                            .orElseThrow();
                    return (baseline ? "baseline" : "treatment") + " mean " + Comparison.rounded(arm.mean(), 2)
                            + ", standard deviation " + Comparison.rounded(arm.sd(), 2);
                })
                .collect(Collectors.joining("; "));
        String effect = MeanInterval.of(place.logRatios(metric).toArray())
                .map(mean -> " Naive change " + percent(mean.mean()) + " (95 % interval "
                        + percent(mean.interval().low()) + " to "
                        + percent(mean.interval().high()) + ").")
                .orElse("");
        int perOrder = place.pairs(metric).fewest();
        String text = metric.title() + " across " + pairs.size() + " repetitions: " + arms + "." + effect;
        remarks.add(
                perOrder < least
                        ? Remark.against(
                                Topic.REPETITIONS,
                                where(place),
                                text + " " + perOrder + " of each order and of A/A cannot decide; " + least + " can.")
                        : Remark.note(Topic.REPETITIONS, where(place), text));
    }

    private void exposure() {
        boolean told = table.observations().stream()
                .anyMatch(each -> each.metric().equals(Metric.CACHED_SHARE)
                        || each.metric().name().equals("cached_tokens"));
        remarks.add(
                told
                        ? Remark.note(
                                Topic.EXPOSURE,
                                "",
                                "It has the server's count of cached tokens; whether they are those of the prefix only"
                                        + " single requests can tell.")
                        : Remark.against(
                                Topic.EXPOSURE,
                                "",
                                "It has no cached tokens, so nobody knows whether the baseline lost its prefix: a lower"
                                        + " latency is no proof that more was found in the cache."));
    }

    private void spread() {
        Set<Metric> deviations = table.comparisons().stream()
                .map(Comparison::metric)
                .filter(metric -> metric.name().endsWith("_std"))
                .collect(Collectors.toCollection(LinkedHashSet::new));
        for (Metric metric : deviations) {
            List<Comparison> all = table.comparisons(metric);
            remarks.add(
                    Remark.note(Topic.SPREAD, "", SpreadTable.of(metric, all).text()));
        }
    }

    private void demand() {
        List<Place> told =
                places.stream().filter(place -> Demand.of(place).isPresent()).toList();
        if (told.isEmpty()) {
            boolean asked = places.stream()
                    .anyMatch(place -> !place.compared().isEmpty()
                            && place.level(Column.CAPACITY).isPresent()
                            && place.level(Column.CONCURRENCY).isPresent());
            if (asked) {
                remarks.add(Remark.note(
                        Topic.DEMAND,
                        "",
                        "It does not say how many tokens requests share and how many each has of its own, so nobody"
                                + " can tell whether the cache was too small; give them by --shared-tokens and"
                                + " --own-tokens."));
            }
            return;
        }
        // The highest load or the least memory is where the question is asked.
        Place most = told.stream()
                .max(Comparator.comparingDouble(place -> {
                    Demand demand = Demand.of(place).orElseThrow();
                    return demand.pressure().orElse(demand.tokens());
                }))
                .orElseThrow();
        remarks.add(Remark.note(
                Topic.DEMAND, where(most), Demand.of(most).orElseThrow().text()));
    }

    private void sweep(Sweep sweep) {
        Optional<Metric> judged = sweep.places().getFirst().judged();
        if (sweep.isOfMemory() && judged.isPresent()) {
            memory(sweep, judged.get());
        }
        Set<Metric> metrics = metricsOf(sweep.places());
        if (sweep.isOfLoad()) {
            Place.named(metrics, "ttft_p99")
                    .flatMap(sweep::coldStart)
                    .ifPresent(text -> remarks.add(Remark.against(Topic.COLD_START, "", text)));
        }
        metrics.stream()
                .filter(metric -> metric.better() == Metric.Better.HIGHER)
                .flatMap(metric -> sweep.cliff(metric).stream())
                .forEach(text -> remarks.add(Remark.note(Topic.CLIFF, "", text)));
    }

    private void memory(Sweep sweep, Metric metric) {
        String over = "per unit of ln " + sweep.memory();
        sweep.baselineOverMemory(metric).ifPresent(line -> {
            boolean falls = line.slope() < 0 && line.pTwoSided() < SURE;
            String text = "The baseline's " + metric.title() + " changes by " + slope(line) + " " + over + ". ";
            remarks.add(
                    falls
                            ? Remark.note(
                                    Topic.BASELINE_DOSE, "", text + "It gets faster with more memory, as it must.")
                            : Remark.against(
                                    Topic.BASELINE_DOSE,
                                    "",
                                    text
                                            + (line.slope() > 0 && line.pTwoSided() < SURE
                                                    ? "It gets slower with more memory: the wrong sign for eviction."
                                                    : "If eviction cost it anything, it would get faster with more"
                                                            + " memory.")));
        });
        sweep.effectOverMemory(metric).ifPresent(line -> {
            boolean shrinks = line.slope() > 0 && line.pTwoSided() < SURE;
            String text = "The effect changes by " + slope(line) + " " + over + ". ";
            remarks.add(
                    shrinks
                            ? Remark.note(Topic.EFFECT_DOSE, "", text + "It shrinks with more memory, as it must.")
                            : Remark.against(
                                    Topic.EFFECT_DOSE,
                                    "",
                                    text + "What keeping cache saves would shrink with more memory."));
        });
        sweep.objection(metric, DELTA)
                .ifPresent(why -> remarks.add(Remark.against(Topic.EFFECT_DOSE, "", "By pressure, " + why + ".")));
        sweep.naive(metric)
                .ifPresent(naive -> remarks.add(Remark.note(
                        Topic.EFFECT_DOSE,
                        "",
                        "Over all levels, as if each were a repetition, the naive change is " + percent(naive.mean())
                                + " (95 % interval " + percent(naive.interval().low()) + " to "
                                + percent(naive.interval().high()) + ").")));
        sweep.placebo(metric).ifPresent(placebo -> placebo(placebo, metric));
    }

    private void placebo(Sweep.Placebo placebo, Metric metric) {
        String text = "With most memory"
                + (placebo.pressure().isPresent()
                        ? " (pressure " + Comparison.rounded(placebo.pressure().getAsDouble(), 2) + ")"
                        : "")
                + " " + metric.title() + " still changes by " + percent(placebo.logRatio());
        String margins = percent(-DELTA) + " to " + percent(DELTA);
        if (placebo.fails(DELTA)) {
            remarks.add(Remark.against(
                    Topic.PLACEBO,
                    where(placebo.place()),
                    text + ", outside " + margins
                            + ", where nothing should be evicted: whatever changed, it is not what"
                            + " a kept prefix saves."));
        } else if (placebo.holds(DELTA)) {
            remarks.add(Remark.note(
                    Topic.PLACEBO,
                    where(placebo.place()),
                    text + ", and its 90 % interval lies inside " + margins + ", as it must."));
        } else {
            remarks.add(Remark.against(
                    Topic.PLACEBO,
                    where(placebo.place()),
                    text + ", inside " + margins + ", but nothing tells how sure that is; repeat it."));
        }
    }

    private void place(Place place) {
        place.mixed().ifPresent(text -> remarks.add(Remark.against(Topic.MIXED, where(place), text)));
        bias(place);
        tails(place);
        if (place.compared().size() > 1) {
            tradeOff(place);
        }
    }

    private void firstWaves() {
        List<String> waves = places.stream()
                .flatMap(place -> place.firstWave().stream().map(count -> {
                    OptionalDouble underWay = place.level(Column.CONCURRENCY);
                    return where(place) + ": " + Comparison.rounded(count, 1)
                            + (underWay.orElse(0) > 0
                                    ? " (" + Comparison.rounded(count / underWay.getAsDouble(), 2) + " waves)"
                                    : "");
                }))
                .toList();
        if (!waves.isEmpty()) {
            remarks.add(Remark.against(
                    Topic.FIRST_WAVE,
                    "",
                    "So many requests at the baseline's P99 in place of its median make up for all that the mean"
                            + " saves: "
                            + String.join("; ", waves)
                            + ". About one wave of them is what a cold first wave looks like."));
        }
    }

    /** Adds the effect that an order bias named by hand would leave, which is a figure and no correction. */
    private void bias(Place place) {
        Optional<Metric> metric =
                Place.named(place.compared().keySet(), "ttft_mean").or(place::judged);
        for (double millis : saidBias) {
            metric.ifPresent(of -> {
                double baseline = place.baseline(of).orElseThrow();
                double treatment = place.treatment(of).orElseThrow();
                if (baseline > millis && treatment > 0) {
                    remarks.add(Remark.note(
                            Topic.ORDER_BIAS,
                            where(place),
                            "Were " + Comparison.rounded(millis, 0) + " ms of the baseline's " + of.title()
                                    + " its order, " + percent(Math.log(treatment / (baseline - millis)))
                                    + " would be left; only an A/A tells."));
                }
            });
        }
    }

    private void tails(Place place) {
        for (Metric tail : place.plain().keySet()) {
            Optional<Metric> median = tail.name().endsWith("_p99")
                    ? Place.named(place.plain().keySet(), tail.name().replace("_p99", "_p50"))
                    : Optional.empty();
            median.ifPresent(of -> {
                double ratio =
                        place.measured(tail).orElseThrow() / place.measured(of).orElseThrow();
                if (ratio > LONG_TAIL && Double.isFinite(ratio)) {
                    remarks.add(Remark.note(
                            Topic.TAIL,
                            where(place),
                            tail.title() + " is " + Comparison.rounded(ratio, 1) + " times " + of.title() + "."));
                }
            });
        }
    }

    private void tradeOff(Place place) {
        tradeOff(place.compared().values().stream().map(List::getFirst).toList())
                .ifPresent(text -> remarks.add(Remark.note(Topic.TRADE_OFF, where(place), text)));
    }

    /**
     * Returns what became better and what became worse by more than 5 % in the same place; absent where there is only
     * one of both.
     */
    static Optional<String> tradeOff(List<Comparison> changes) {
        List<Comparison> large =
                changes.stream().filter(each -> each.exceeds(DELTA)).toList();
        String better = list(large.stream().filter(Comparison::isBetter).toList());
        String worse = list(large.stream().filter(Comparison::isWorse).toList());
        return better.isEmpty() || worse.isEmpty()
                ? Optional.empty()
                : Optional.of("Better: " + better + ". Worse: " + worse + ".");
    }

    private static String list(List<Comparison> changes) {
        return changes.stream()
                .map(each -> each.metric().title() + " " + each.text())
                .collect(Collectors.joining(", "));
    }

    private static String slope(LinearFit line) {
        return Comparison.rounded(line.slope(), 4) + " (standard error " + Comparison.rounded(line.slopeSe(), 4)
                + ", p " + Comparison.rounded(line.pTwoSided(), 3) + ")";
    }

    /** A log ratio in percent. */
    static String percent(double logRatio) {
        return Percents.plainSigned(Math.expm1(logRatio));
    }

    /** Returns what tells a place from the others of its table. */
    private String where(Place place) {
        return where(place.where());
    }

    private String where(Map<String, String> where) {
        Map<String, String> own = new LinkedHashMap<>();
        where.forEach((name, value) -> {
            boolean varies = places.stream()
                    .anyMatch(other -> !value.equals(other.where().get(name)));
            if (varies && !(name.equals(Column.CAPACITY) && where.containsKey(Column.MEMORY))) {
                own.put(name, value);
            }
        });
        return PublishedTable.text(own);
    }
}
