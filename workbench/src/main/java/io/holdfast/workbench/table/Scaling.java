package io.holdfast.workbench.table;

import io.holdfast.evidence.MeanInterval;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Remark.Topic;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** Variants of one server side by side: what more devices give, and which of two is ahead. */
final class Scaling {
    /** Below this each device does less than half of its work. */
    private static final BigDecimal LEAST_EFFICIENCY = BigDecimal.valueOf(50);

    private static final String VARIANT = "variant";

    private Scaling() {}

    static List<Remark> remarks(PublishedTable table) {
        List<Remark> remarks = new ArrayList<>(devices(table));
        remarks.addAll(ahead(table));
        return remarks;
    }

    /**
     * Results of a variant with so many devices.
     *
     * @param speedUps by metric, how many times better than the reference
     * @param efficiency of its throughput, in percent of what as many single devices would give
     */
    record Devices(String name, Map<Metric, BigDecimal> speedUps, Optional<BigDecimal> efficiency) {
        boolean isToBeAvoided() {
            return efficiency.map(each -> each.compareTo(LEAST_EFFICIENCY) < 0).orElse(false);
        }

        String text() {
            String times = speedUps.entrySet().stream()
                    .map(each -> each.getKey().title() + " " + each.getValue() + "x")
                    .collect(Collectors.joining(", "));
            return times
                    + efficiency.map(each -> "; efficiency " + each + " %").orElse("")
                    + (isToBeAvoided() ? ": AVOID, below 50 %" : "") + ".";
        }
    }

    /** Each row against the one with fewest devices, of which there is one alone. */
    static List<Devices> of(List<Place> places, String table) {
        List<Place> fewest = places.stream()
                .filter(place -> tp(place)
                        == places.stream().mapToDouble(Scaling::tp).min().orElseThrow())
                .toList();
        if (fewest.size() != 1) {
            throw new LoadTestException("The table '" + table + "' has " + fewest.size()
                    + " rows with the fewest devices, so no row is the reference; leave one of them.");
        }
        Place reference = fewest.getFirst();
        List<Devices> all = new ArrayList<>();
        for (Place place : places) {
            if (!place.equals(reference)) {
                Map<Metric, BigDecimal> speedUps = new LinkedHashMap<>();
                for (Metric metric : place.plain().keySet()) {
                    OptionalDouble of = reference.measured(metric);
                    OptionalDouble is = place.measured(metric);
                    if (of.orElse(0) > 0 && is.orElse(0) > 0 && metric.better() != Metric.Better.NEITHER) {
                        speedUps.put(metric, speedUp(metric, of.getAsDouble(), is.getAsDouble()));
                    }
                }
                Optional<BigDecimal> efficiency =
                        reference.measured(Metric.OUTPUT_THROUGHPUT).orElse(0) > 0
                                        && place.measured(Metric.OUTPUT_THROUGHPUT)
                                                .isPresent()
                                ? Optional.of(efficiency(reference, place))
                                : Optional.empty();
                all.add(new Devices(name(place), speedUps, efficiency));
            }
        }
        return all;
    }

    private static BigDecimal speedUp(Metric metric, double of, double is) {
        double times = metric.better() == Metric.Better.LOWER ? of / is : is / of;
        return Comparison.rounded(times, 2);
    }

    private static BigDecimal efficiency(Place reference, Place place) {
        double gain = place.measured(Metric.OUTPUT_THROUGHPUT).orElseThrow()
                / reference.measured(Metric.OUTPUT_THROUGHPUT).orElseThrow();
        return Comparison.rounded(100 * gain * tp(reference) / tp(place), 1);
    }

    private static double tp(Place place) {
        return place.level(Column.TP).orElseThrow();
    }

    private static String name(Place place) {
        return "TP " + place.where().get(Column.TP)
                + Optional.ofNullable(place.where().get(VARIANT))
                        .map(name -> ", " + name)
                        .orElse("");
    }

    private static List<Place> withDevices(PublishedTable table) {
        return Place.of(table).stream()
                .filter(place ->
                        place.level(Column.TP).isPresent() && place.plain().containsKey(Metric.OUTPUT_THROUGHPUT))
                .toList();
    }

    /** Throughput over devices; nothing where there are no two points. */
    static List<String> plot(PublishedTable table) {
        List<Place> places = withDevices(table);
        return places.size() < 2
                ? List.of()
                : new TextPlot(
                                "TP",
                                "output throughput (tok/s)",
                                places.stream()
                                        .map(place -> new TextPlot.Point(
                                                tp(place),
                                                place.measured(Metric.OUTPUT_THROUGHPUT)
                                                        .orElseThrow(),
                                                place.where().getOrDefault(VARIANT, "")))
                                        .toList())
                        .lines();
    }

    private static List<Remark> devices(PublishedTable table) {
        List<Place> places = withDevices(table);
        return places.size() < 2
                ? List.of()
                : of(places, table.name()).stream()
                        .map(each -> new Remark(Topic.SCALING, each.name(), each.text(), each.isToBeAvoided()))
                        .toList();
    }

    /**
     * Two variants at one place.
     *
     * @param ratio of the second to the first, where they were repeated
     */
    record Ahead(
            Map<String, String> where,
            Metric metric,
            String first,
            String second,
            double change,
            Optional<MeanInterval> ratio) {
        String better() {
            return (change < 0) == (metric.better() == Metric.Better.LOWER) ? second : first;
        }

        /** Returns how much more the worse one takes, or the better one achieves, in whole percent. */
        BigDecimal gain() {
            return BigDecimal.valueOf(100 * Math.expm1(Math.abs(change))).setScale(0, RoundingMode.HALF_UP);
        }

        boolean hasWinner() {
            return ratio.map(of -> of.interval().excludesZero()).orElse(false);
        }

        String text() {
            if (change == 0) {
                return metric.title() + ": no winner, both are equal.";
            }
            String lead = metric.title() + ": " + better() + " +" + gain() + " %";
            return hasWinner()
                    ? lead + ", the winner: its 95 % interval excludes 0."
                    : lead + (ratio.isEmpty() ? " in single runs" : " within the noise") + ", so there is no winner.";
        }
    }

    /** Rows that are alike in all but which of two variants they have. */
    static List<Ahead> pairs(PublishedTable table) {
        Map<Map<String, String>, List<Place>> groups = new LinkedHashMap<>();
        for (Place place : Place.of(table)) {
            if (place.where().containsKey(VARIANT) && place.level(Column.TP).isEmpty()) {
                Map<String, String> where = new HashMap<>(place.where());
                where.remove(VARIANT);
                groups.computeIfAbsent(where, any -> new ArrayList<>()).add(place);
            }
        }
        List<Ahead> all = new ArrayList<>();
        groups.forEach((where, places) -> {
            if (places.size() == 2) {
                Place first = places.getFirst();
                Place second = places.getLast();
                for (Metric metric : first.plain().keySet()) {
                    double of = first.measured(metric).orElse(0);
                    double is = second.measured(metric).orElse(0);
                    if (metric.better() != Metric.Better.NEITHER && of > 0 && is > 0) {
                        all.add(new Ahead(
                                where,
                                metric,
                                first.where().getOrDefault(VARIANT, ""),
                                second.where().getOrDefault(VARIANT, ""),
                                Math.log(is / of),
                                ratio(first, second, metric)));
                    }
                }
            }
        });
        return all;
    }

    /** Compares repetitions with the same number. */
    private static Optional<MeanInterval> ratio(Place first, Place second, Metric metric) {
        List<Observation> others = second.plain().getOrDefault(metric, List.of());
        return MeanInterval.of(first.plain().getOrDefault(metric, List.of()).stream()
                .flatMapToDouble(one -> others.stream()
                        .filter(other -> one.repetition().isPresent()
                                && other.repetition().equals(one.repetition()))
                        .filter(other -> one.value() > 0 && other.value() > 0)
                        .mapToDouble(other -> Math.log(other.value() / one.value())))
                .toArray());
    }

    private static List<Remark> ahead(PublishedTable table) {
        List<Ahead> pairs = pairs(table);
        List<Remark> remarks = new ArrayList<>();
        pairs.forEach(each -> remarks.add(Remark.note(Topic.SCALING, PublishedTable.text(each.where()), each.text())));
        boolean oneLeads =
                pairs.size() > 1 && pairs.stream().map(Ahead::better).distinct().count() == 1;
        if (oneLeads) {
            List<BigDecimal> gains = pairs.stream().map(Ahead::gain).sorted().toList();
            remarks.add(Remark.note(
                    Topic.SCALING,
                    "",
                    String.format(
                            Locale.ROOT,
                            "%s is ahead in all %d, by %s to %s %%%s.",
                            pairs.getFirst().better(),
                            pairs.size(),
                            gains.getFirst(),
                            gains.getLast(),
                            trend(pairs))));
        }
        return remarks;
    }

    /** Returns whether the lead of one grows or shrinks from the smallest to the largest batch. */
    static String trend(List<Ahead> pairs) {
        List<Ahead> sorted = pairs.stream()
                .filter(each -> batch(each).isPresent())
                .sorted(java.util.Comparator.comparingDouble(each -> batch(each).orElseThrow()))
                .toList();
        if (sorted.size() < 2 || batch(sorted.getFirst()).equals(batch(sorted.getLast()))) {
            return "";
        }
        double first = mean(sorted, batch(sorted.getFirst()));
        double last = mean(sorted, batch(sorted.getLast()));
        return first == last ? "" : first > last ? ", and less with larger batches" : ", and more with larger batches";
    }

    private static double mean(List<Ahead> pairs, OptionalDouble batch) {
        return pairs.stream()
                .filter(each -> batch(each).equals(batch))
                .mapToDouble(each -> Math.abs(each.change()))
                .average()
                .orElseThrow();
    }

    private static OptionalDouble batch(Ahead pair) {
        return Optional.ofNullable(pair.where().get(Column.BATCH)).flatMap(Figure::of).stream()
                .mapToDouble(figure -> figure.number().doubleValue())
                .findFirst();
    }
}
