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
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.Remark.Topic;
import io.holdfast.workbench.table.Review.Judged;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Review of one table of two arms: what it can and cannot show. */
final class TableReview {
    static final double DELTA = Criteria.standard().delta();

    /** A change of a line this sure counts as one. */
    private static final double SURE = 0.05;

    /** Ratio from which a tail is so long that the median says nothing about it. */
    static final double LONG_TAIL = 5;

    private static final List<String> RANKS = List.of("slowest", "second slowest", "third slowest");

    /** The band in which order biases of this kind were published. */
    private static final double[] BAND = {0.15, 0.25};

    private final PublishedTable table;
    private final List<Double> saidBias;
    private final List<Place> places;
    private final List<Sweep> sweeps;
    private final Remarks remarks = new Remarks();

    TableReview(PublishedTable table, List<Double> saidBias) {
        this.table = table;
        this.saidBias = saidBias;
        this.places = Place.of(table);
        this.sweeps = Sweep.of(table);
    }

    List<Remark> remarks() {
        remarks.add(arithmetic(table.comparisons()));
        if (!table.comparisons().isEmpty()) {
            order();
            repetitions();
            exposure();
            deviations(table)
                    .forEach(metric -> remarks.note(
                            Topic.SPREAD,
                            "",
                            SpreadTable.of(metric, table.comparisons(metric)).text()));
        }
        demand();
        sweeps.forEach(this::sweep);
        places.forEach(this::place);
        firstWaves();
        remarks.add(fewRequests(places.stream().map(Place::where).toList(), Place.metrics(places)));
        table.notes().forEach(note -> remarks.note(Topic.READING, "", note));
        return remarks.all();
    }

    /** Returns the metrics of standard deviations that a table compares. */
    static List<Metric> deviations(PublishedTable table) {
        return table.comparisons().stream()
                .map(Comparison::metric)
                .filter(metric -> metric.name().endsWith("_std"))
                .distinct()
                .toList();
    }

    /** Reports how few requests decide on a P99, where the places give their number. */
    static List<Remark> fewRequests(Collection<Map<String, String>> places, Set<Metric> metrics) {
        Map<Integer, String> ranks = new TreeMap<>();
        if (metrics.stream().anyMatch(metric -> metric.name().endsWith("_p99"))) {
            places.stream()
                    .mapToInt(where -> (int) Figure.value(where.get(Column.REQUESTS)))
                    .filter(requests -> requests > 0)
                    .forEach(requests -> {
                        int slowest = requests - (int) Math.ceil(0.99 * requests) + 1;
                        if (slowest <= RANKS.size()) {
                            ranks.put(requests, RANKS.get(slowest - 1));
                        }
                    });
        }
        String told = ranks.entrySet().stream()
                .map(each -> "a P99 of " + each.getKey() + " requests is its " + each.getValue())
                .collect(Collectors.joining(", "))
                .replaceFirst("^a", "A");
        return told.isEmpty()
                ? List.of()
                : List.of(new Remark(Topic.TAIL, "", told + ": one slow request more or less moves it.", false));
    }

    /** Returns the verdict on each place that compares two arms. */
    List<Judged> verdicts() {
        boolean placeboFails = sweeps.stream()
                .anyMatch(sweep -> sweep.judged()
                        .flatMap(sweep::placebo)
                        .filter(placebo -> placebo.fails(DELTA))
                        .isPresent());
        return places.stream()
                .flatMap(place -> place.judged().map(metric -> judged(place, metric, placeboFails)).stream())
                .toList();
    }

    private Judged judged(Place place, Metric metric, boolean placeboFails) {
        Experiment experiment = Experiment.of(place.pairs(metric), CacheProof.unknown());
        List<String> signs = new ArrayList<>();
        if (placeboFails) {
            signs.add("as large with memory to spare");
        }
        if (place.logRatio("ttft_p50") > -DELTA) {
            signs.add("the median did not fall by 5 %");
        }
        if (place.firstWave() > 0) {
            signs.add(Figure.rounded(place.firstWave(), 1) + " slow requests would do it");
        }
        return new Judged(
                where(place),
                metric.title(),
                place.comparisons(metric.name()).getFirst().percent(),
                Judge.judge(
                        place.mixed().isEmpty() ? experiment : experiment.withFlags(Set.of(Flag.MIXED)),
                        Criteria.standard()),
                List.copyOf(signs));
    }

    /** Checks printed changes against the numbers; says nothing where none is printed. */
    static List<Remark> arithmetic(List<Comparison> comparisons) {
        long stated =
                comparisons.stream().filter(each -> each.stated().isPresent()).count();
        String wrong = comparisons.stream()
                .flatMap(each -> each.wrongStatement().stream()
                        .map(sentence ->
                                Place.text(each.where()) + ", " + each.metric().title() + ": " + sentence))
                .collect(Collectors.joining("; "));
        long odd = comparisons.stream()
                .filter(each -> each.wrongStatement().isPresent())
                .count();
        if (stated == 0) {
            return List.of();
        }
        String text = odd == 0
                ? "All " + stated + " printed changes are what the numbers give."
                : odd + " of " + stated + " printed changes are not what the numbers give, rounded half up: " + wrong
                        + ".";
        return List.of(new Remark(Topic.ARITHMETIC, "", text, odd > 0));
    }

    private void order() {
        Set<PairOrder> orders = table.comparisons().stream()
                .flatMap(each -> each.order().stream())
                .collect(Collectors.toSet());
        if (orders.isEmpty()) {
            remarks.against(
                    Topic.ORDER,
                    "",
                    "It does not say which arm ran first. If it was always the same one, the change holds what being"
                            + " second gives as well, and nothing in the table tells them apart.");
        } else if (!orders.containsAll(Set.of(PairOrder.BP, PairOrder.PB))) {
            remarks.against(
                    Topic.ORDER,
                    "",
                    "The arms ran in one order only (" + (orders.contains(PairOrder.BP) ? "baseline" : "treatment")
                            + " first), so the change holds what being second gives as well.");
        } else {
            remarks.note(Topic.ORDER, "", "Both orders are there.");
        }
        if (!orders.contains(PairOrder.AA)) {
            remarks.against(
                    Topic.ORDER, "", "There is no A/A: nothing shows what the second leg gains when nothing changes.");
        }
        for (Place place : places) {
            place.judged()
                    .ifPresent(metric -> Estimate.of(place.pairs(metric))
                            .orderBias()
                            .ifPresent(bias -> {
                                double share = Math.abs(Math.expm1(bias));
                                remarks.note(
                                        Topic.ORDER_BIAS,
                                        where(place),
                                        "A/A: the second leg moves " + metric.title() + " by " + percent(bias)
                                                + (share >= BAND[0] && share <= BAND[1]
                                                        ? ", within the 15 to 25 % that such benchmarks were published"
                                                                + " with"
                                                        : "")
                                                + "; that much of a gain in one order is no effect.");
                            }));
        }
    }

    private void repetitions() {
        boolean single = places.stream()
                .allMatch(place ->
                        place.compared().size() == place.comparedMetrics().size());
        if (single) {
            remarks.against(
                    Topic.REPETITIONS,
                    "",
                    "Single runs: no change in it has an interval. At least " + Criteria.FEWEST_PER_ORDER
                            + " pairs of each order are needed" + pairsByScatter() + ".");
        } else {
            places.forEach(place -> place.judged().ifPresent(metric -> across(place, metric)));
        }
    }

    /** Returns the number of pairs that the scatter of a sweep over its levels needs. */
    private String pairsByScatter() {
        return sweeps.stream()
                .flatMap(sweep -> sweep.scatter().stream())
                .findFirst()
                .map(naive -> {
                    OptionalInt pairs = RequiredPairs.toDetect(naive.sd(), DELTA);
                    return "; with the scatter of its levels (" + Figure.rounded(100 * naive.sd(), 1)
                            + " %) an effect of 5 % needs "
                            + (pairs.isPresent() ? Math.max(Criteria.FEWEST_PER_ORDER, pairs.getAsInt()) : "more")
                            + " of each order";
                })
                .orElse("");
    }

    private void across(Place place, Metric metric) {
        List<Comparison> pairs = place.comparisons(metric.name()).stream()
                .filter(each -> !each.isControl())
                .toList();
        if (pairs.size() < 2) {
            return;
        }
        int perOrder = place.pairs(metric).fewest();
        boolean few = perOrder < Criteria.FEWEST_PER_ORDER;
        remarks.say(
                few,
                Topic.REPETITIONS,
                where(place),
                metric.title() + " across " + pairs.size() + " repetitions: "
                        + arm("baseline", pairs, Comparison::baseline) + "; "
                        + arm("treatment", pairs, Comparison::treatment) + "."
                        + MeanInterval.of(place.logRatios(metric.name()))
                                .map(mean -> " Naive change " + percent(mean) + ".")
                                .orElse("")
                        + (few
                                ? " " + perOrder + " of each order and of A/A cannot decide; "
                                        + Criteria.FEWEST_PER_ORDER + " can."
                                : ""));
    }

    private static String arm(String name, List<Comparison> pairs, Function<Comparison, Observation> side) {
        MeanInterval arm = MeanInterval.of(
                        pairs.stream().map(side).mapToDouble(Observation::value).toArray())
                .orElseThrow();
        return name + " mean " + Figure.rounded(arm.mean(), 2) + ", standard deviation " + Figure.rounded(arm.sd(), 2);
    }

    private void exposure() {
        boolean told = table.observations().stream()
                .anyMatch(each -> each.metric().equals(Metric.CACHED_SHARE)
                        || each.metric().name().equals("cached_tokens"));
        remarks.say(
                !told,
                Topic.EXPOSURE,
                "",
                told
                        ? "It has the server's count of cached tokens; whether they are those of the prefix only single"
                                + " requests can tell."
                        : "It has no cached tokens, so nobody knows whether the baseline lost its prefix: a lower"
                                + " latency is no proof that more was found in the cache.");
    }

    private void demand() {
        // The highest load or the least memory is where the question is asked.
        Optional<Place> most = places.stream()
                .filter(place -> Demand.of(place).isPresent())
                .max(Comparator.comparingDouble(place -> {
                    Demand demand = Demand.of(place).orElseThrow();
                    return Double.isNaN(demand.pressure()) ? demand.tokens() : demand.pressure();
                }));
        most.ifPresent(place -> remarks.note(
                Topic.DEMAND, where(place), Demand.of(place).orElseThrow().text()));
        boolean asked = places.stream()
                .anyMatch(place -> !place.compared().isEmpty()
                        && place.level(Column.CAPACITY) * place.level(Column.CONCURRENCY) > 0);
        if (most.isEmpty() && asked) {
            remarks.note(
                    Topic.DEMAND,
                    "",
                    "It does not say how many tokens requests share and how many each has of its own, so nobody can"
                            + " tell whether the cache was too small; give them by --shared-tokens and --own-tokens.");
        }
    }

    private void sweep(Sweep sweep) {
        sweep.judged().filter(any -> sweep.isOfMemory()).ifPresent(metric -> memory(sweep, metric));
        Set<Metric> metrics = Place.metrics(sweep.places());
        metrics.stream()
                .filter(metric -> sweep.isOfLoad() && metric.name().equals("ttft_p99"))
                .flatMap(metric -> sweep.coldStart(metric).stream())
                .forEach(text -> remarks.against(Topic.COLD_START, "", text));
        metrics.stream()
                .filter(metric -> metric.better() == Metric.Better.HIGHER)
                .forEach(metric -> sweep.cliff(metric)
                        .ifPresent(cliff -> remarks.note(
                                Topic.CLIFF,
                                metric.title(),
                                cliff.text(metric.unit().text()))));
    }

    private void memory(Sweep sweep, Metric metric) {
        String over = " per unit of ln " + sweep.memory() + ". ";
        sweep.baselineOverMemory(metric).ifPresent(line -> {
            boolean sure = line.pTwoSided() < SURE;
            remarks.say(
                    !(sure && line.slope() < 0),
                    Topic.BASELINE_DOSE,
                    "",
                    "The baseline's " + metric.title() + " changes by " + slope(line) + over
                            + (sure && line.slope() < 0
                                    ? "It gets faster with more memory, as it must."
                                    : sure && line.slope() > 0
                                            ? "It gets slower with more memory: the wrong sign for eviction."
                                            : "If eviction cost it anything, it would get faster with more memory."));
        });
        sweep.effectOverMemory(metric).ifPresent(line -> {
            boolean shrinks = line.slope() > 0 && line.pTwoSided() < SURE;
            remarks.say(
                    !shrinks,
                    Topic.EFFECT_DOSE,
                    "",
                    "The effect changes by " + slope(line) + over
                            + (shrinks
                                    ? "It shrinks with more memory, as it must."
                                    : "What keeping cache saves would shrink with more memory."));
        });
        sweep.objection(metric, DELTA)
                .ifPresent(why -> remarks.against(Topic.EFFECT_DOSE, "", "By pressure, " + why + "."));
        sweep.naive(metric)
                .ifPresent(naive -> remarks.note(
                        Topic.EFFECT_DOSE,
                        "",
                        "Over all levels, as if each were a repetition, the naive change is " + percent(naive) + "."));
        sweep.placebo(metric).ifPresent(placebo -> placebo(placebo, metric));
    }

    private void placebo(Sweep.Placebo placebo, Metric metric) {
        String margins = percent(-DELTA) + " to " + percent(DELTA);
        boolean holds = !placebo.fails(DELTA) && placebo.holds(DELTA);
        remarks.say(
                !holds,
                Topic.PLACEBO,
                where(placebo.place()),
                "With most memory"
                        + (placebo.pressure() >= 0 ? " (pressure " + Figure.rounded(placebo.pressure(), 2) + ")" : "")
                        + " " + metric.title() + " still changes by " + percent(placebo.logRatio())
                        + (placebo.fails(DELTA)
                                ? ", outside " + margins + ", where nothing should be evicted: whatever changed, it is"
                                        + " not what a kept prefix saves."
                                : holds
                                        ? ", and its 90 % interval lies inside " + margins + ", as it must."
                                        : ", inside " + margins + ", but nothing tells how sure that is; repeat it."));
    }

    private void place(Place place) {
        place.mixed().ifPresent(text -> remarks.against(Topic.MIXED, where(place), text));
        bias(place);
        tails(place, "").forEach(text -> remarks.note(Topic.TAIL, where(place), text));
        tradeOff(place.firstOfEach()).ifPresent(text -> remarks.note(Topic.TRADE_OFF, where(place), text));
    }

    private void firstWaves() {
        String waves = places.stream()
                .filter(place -> place.firstWave() > 0)
                .map(place -> where(place) + ": " + Figure.rounded(place.firstWave(), 1)
                        + (place.level(Column.CONCURRENCY) > 0
                                ? " ("
                                        + Figure.rounded(place.firstWave() / place.level(Column.CONCURRENCY), 2)
                                        + " waves)"
                                : ""))
                .collect(Collectors.joining("; "));
        if (!waves.isEmpty()) {
            remarks.against(
                    Topic.FIRST_WAVE,
                    "",
                    "So many requests at the baseline's P99 in place of its median make up for all that the mean"
                            + " saves: " + waves + ". About one wave of them is what a cold first wave looks like.");
        }
    }

    /** Adds the effect that an order bias named by hand would leave, which is a figure and no correction. */
    private void bias(Place place) {
        Optional<Metric> metric = place.comparedMetrics().stream()
                .filter(each -> each.name().equals("ttft_mean"))
                .findFirst()
                .or(place::judged);
        for (double millis : saidBias) {
            metric.ifPresent(of -> {
                double left = place.treatment(of.name()) / (place.baseline(of.name()) - millis);
                if (left > 0 && Double.isFinite(left)) {
                    remarks.note(
                            Topic.ORDER_BIAS,
                            where(place),
                            "Were " + Figure.rounded(millis, 0) + " ms of the baseline's " + of.title()
                                    + " its order, " + percent(Math.log(left))
                                    + " would be left; only an A/A tells.");
                }
            });
        }
    }

    /**
     * Reports tails that are far from their medians, of numbers that belong to no arm.
     *
     * @param only the quantity that is meant; empty for all
     */
    static List<String> tails(Place place, String only) {
        List<String> said = new ArrayList<>();
        for (Metric tail : place.plainMetrics()) {
            for (Metric median : place.plainMetrics()) {
                double ratio = place.measured(tail.name()) / place.measured(median.name());
                if (tail.name().endsWith("_p99")
                        && tail.name().startsWith(only)
                        && median.name().equals(tail.name().replace("_p99", "_p50"))
                        && ratio > LONG_TAIL
                        && Double.isFinite(ratio)) {
                    said.add(tail.title() + " is " + Figure.rounded(ratio, 1) + " times " + median.title() + ".");
                }
            }
        }
        return said;
    }

    /**
     * Returns what became better and what became worse by more than 5 % in the same place; absent where there is only
     * one of both.
     */
    static Optional<String> tradeOff(List<Comparison> changes) {
        String better = large(changes, 1);
        String worse = large(changes, -1);
        return better.isEmpty() || worse.isEmpty()
                ? Optional.empty()
                : Optional.of("Better: " + better + ". Worse: " + worse + ".");
    }

    private static String large(List<Comparison> changes, int direction) {
        return changes.stream()
                .filter(each -> each.size() >= DELTA && each.direction() == direction)
                .map(Comparison::titled)
                .collect(Collectors.joining(", "));
    }

    private static String slope(LinearFit line) {
        return Figure.rounded(line.slope(), 4) + " (standard error " + Figure.rounded(line.slopeSe(), 4) + ", p "
                + Figure.rounded(line.pTwoSided(), 3) + ")";
    }

    /** Returns a log ratio in percent. */
    static String percent(double logRatio) {
        return Percents.plainSigned(Math.expm1(logRatio));
    }

    /** Returns a mean of log ratios in percent, with its interval. */
    static String percent(MeanInterval mean) {
        return percent(mean.mean()) + " (95 % interval "
                + percent(mean.interval().low()) + " to "
                + percent(mean.interval().high()) + ")";
    }

    /** Returns what tells a place from the others of its table. */
    private String where(Place place) {
        Map<String, String> own = new LinkedHashMap<>(place.where());
        own.entrySet()
                .removeIf(each -> places.stream()
                        .allMatch(other -> each.getValue().equals(other.where().get(each.getKey()))));
        if (place.where().containsKey(Column.MEMORY)) {
            own.remove(Column.CAPACITY);
        }
        return Place.text(own);
    }
}
