package io.holdfast.workbench.table;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import io.holdfast.workbench.compare.Change;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.compare.Scaling;
import io.holdfast.workbench.table.Remark.Topic;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Variants of one server side by side: what more devices give, and which of two is ahead. */
final class Variants {
    private Variants() {}

    static List<Remark> remarks(PublishedTable table) {
        Remarks remarks = new Remarks();
        devices(table).forEach(each -> remarks.say(each.isToBeAvoided(), Topic.SCALING, each.name(), each.text()));
        List<Ahead> pairs = pairs(table);
        pairs.forEach(each -> remarks.note(Topic.SCALING, Place.text(each.where()), each.text()));
        if (pairs.size() > 1 && pairs.stream().map(Ahead::better).distinct().count() == 1) {
            List<Double> leads = pairs.stream().map(Ahead::lead).sorted().toList();
            remarks.note(
                    Topic.SCALING,
                    "",
                    pairs.getFirst().better() + " is ahead in all " + pairs.size() + ", by "
                            + Percents.range(leads.getFirst(), leads.getLast())
                            + trend(pairs) + ".");
        }
        return remarks.all();
    }

    /**
     * Results of a variant with so many devices.
     *
     * @param speedUps how many times better than the reference it is, by metric
     * @param efficiency of its throughput, as a share of what as many single devices would give; NaN without one
     */
    record Devices(String name, String speedUps, double efficiency) {
        boolean isToBeAvoided() {
            return efficiency < Scaling.AVOID_BELOW;
        }

        String text() {
            return speedUps + (efficiency >= 0 ? "; efficiency " + Percents.plain(efficiency) : "")
                    + (isToBeAvoided() ? ": AVOID, below " + Scaling.LIMIT : "") + ".";
        }
    }

    /** Draws throughput over devices; nothing where there are no two points. */
    static Optional<Plot> plot(PublishedTable table) {
        List<Point> points = withDevices(table).stream()
                .map(place -> new Point(
                        place.level(Column.TP),
                        place.measured(Metric.OUTPUT_THROUGHPUT.name()),
                        place.where().getOrDefault(Column.VARIANT, "")))
                .toList();
        return points.isEmpty()
                ? Optional.empty()
                : Optional.of(Scaling.plot(
                        "TP", "output throughput (tok/s)", List.of(new Series("", "", Shape.MARKS, points))));
    }

    /** Returns the places that tell their devices and their throughput; none where there is only one. */
    private static List<Place> withDevices(PublishedTable table) {
        List<Place> places = Place.of(table).stream()
                .filter(place ->
                        place.level(Column.TP) > 0 && place.plainMetrics().contains(Metric.OUTPUT_THROUGHPUT))
                .toList();
        return places.size() < 2 ? List.of() : places;
    }

    /** Returns each row against the one with fewest devices, of which there is one alone. */
    static List<Devices> devices(PublishedTable table) {
        List<Place> places = withDevices(table);
        double least = places.stream()
                .mapToDouble(place -> place.level(Column.TP))
                .min()
                .orElse(Double.NaN);
        List<Place> fewest =
                places.stream().filter(place -> place.level(Column.TP) == least).toList();
        if (fewest.size() > 1) {
            throw new LoadTestException("The table '" + table.name() + "' has " + fewest.size()
                    + " rows with the fewest devices, so no row is the reference; leave one of them.");
        }
        return places.stream()
                .filter(place -> !fewest.contains(place))
                .map(place -> devices(fewest.getFirst(), place))
                .toList();
    }

    private static Devices devices(Place reference, Place place) {
        String variant = place.where().getOrDefault(Column.VARIANT, "");
        return new Devices(
                "TP " + place.where().get(Column.TP) + (variant.isEmpty() ? "" : ", " + variant),
                place.plainMetrics().stream()
                        .filter(metric -> speedUp(reference, place, metric) > 0)
                        .map(metric ->
                                metric.title() + " " + Figure.rounded(speedUp(reference, place, metric), 2) + "x")
                        .collect(Collectors.joining(", ")),
                speedUp(reference, place, Metric.OUTPUT_THROUGHPUT)
                        * reference.level(Column.TP)
                        / place.level(Column.TP));
    }

    /** Returns how many times as good one is as the reference; NaN where that cannot be told. */
    private static double speedUp(Place reference, Place place, Metric metric) {
        double of = reference.measured(metric.name());
        double is = place.measured(metric.name());
        if (!(of > 0 && is > 0) || metric.better() == Metric.Better.NEITHER) {
            return Double.NaN;
        }
        return metric.better() == Metric.Better.LOWER ? of / is : is / of;
    }

    /**
     * Two variants at one place.
     *
     * @param change from the first to the second
     */
    record Ahead(Map<String, String> where, String first, String second, Change change) {
        String better() {
            boolean falls = change.logRatio().orElse(0) < 0;
            return falls == (change.metric().better() == Metric.Better.LOWER) ? second : first;
        }

        /** Returns how much more the worse one takes, or the better one achieves, as a share. */
        double lead() {
            return Math.max(change.from(), change.to()) / Math.min(change.from(), change.to()) - 1;
        }

        boolean hasWinner() {
            return change.interval().filter(of -> of.excludesZero()).isPresent();
        }

        String text() {
            String title = change.metric().title();
            if (lead() == 0) {
                return title + ": no winner, both are equal.";
            }
            return title + ": " + better() + " " + Percents.whole(lead())
                    + (hasWinner()
                            ? ", the winner: its 95 % interval excludes 0."
                            : (change.isWithoutInterval()
                                            ? " in " + (change.before().size() == 1 ? "single" : "too few") + " runs"
                                            : " within the noise")
                                    + ", so there is no winner.");
        }
    }

    /** Returns rows that are alike in all but which of two variants they have, by metric. */
    static List<Ahead> pairs(PublishedTable table) {
        Map<Map<String, String>, List<Place>> groups = new LinkedHashMap<>();
        for (Place place : Place.of(table)) {
            Map<String, String> where = new HashMap<>(place.where());
            if (where.remove(Column.VARIANT) != null && !where.containsKey(Column.TP)) {
                groups.computeIfAbsent(where, any -> new ArrayList<>()).add(place);
            }
        }
        List<Ahead> all = new ArrayList<>();
        groups.forEach((where, places) -> {
            Place first = places.getFirst();
            Place second = places.getLast();
            first.plainMetrics().stream()
                    .filter(metric -> places.size() == 2 && metric.better() != Metric.Better.NEITHER)
                    .map(metric -> Change.of(metric, first.values(metric), second.values(metric)))
                    .filter(change -> change.logRatio().isPresent())
                    .forEach(change -> all.add(new Ahead(
                            where,
                            first.where().getOrDefault(Column.VARIANT, ""),
                            second.where().getOrDefault(Column.VARIANT, ""),
                            change)));
        });
        return all;
    }

    /** Returns whether the lead of one grows or shrinks from the smallest to the largest batch. */
    private static String trend(List<Ahead> pairs) {
        TreeMap<Double, Double> leads = new TreeMap<>(pairs.stream()
                .filter(each -> Figure.value(each.where().get(Column.BATCH)) > 0)
                .collect(Collectors.groupingBy(
                        each -> Figure.value(each.where().get(Column.BATCH)),
                        Collectors.averagingDouble(each -> Math.log1p(each.lead())))));
        if (leads.size() < 2
                || leads.firstEntry().getValue().equals(leads.lastEntry().getValue())) {
            return "";
        }
        return leads.firstEntry().getValue() > leads.lastEntry().getValue()
                ? ", and less with larger batches"
                : ", and more with larger batches";
    }
}
