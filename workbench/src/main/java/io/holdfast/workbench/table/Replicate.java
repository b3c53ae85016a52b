package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Figures;
import io.holdfast.workbench.compare.Percents;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** One configuration that several tables have, which is a repetition with a server start between them. */
record Replicate(Map<String, String> where, List<Place> places) {
    static List<Replicate> in(List<PublishedTable> tables) {
        return tables.stream()
                .flatMap(table -> Place.of(table).stream())
                .collect(Collectors.groupingBy(Replicate::canonical))
                .entrySet()
                .stream()
                .filter(same -> same.getValue().size() > 1)
                .map(same -> new Replicate(same.getKey(), same.getValue()))
                .toList();
    }

    /** Returns where a place is, with 0.20 and 0.2 as the same. */
    private static Map<String, String> canonical(Place place) {
        return place.where().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey,
                        each -> Figure.of(each.getValue())
                                .map(figure ->
                                        figure.number().stripTrailingZeros().toPlainString() + " " + figure.unit())
                                .orElse(each.getValue())
                                .strip()));
    }

    String text() {
        return "The same configuration in " + places.size() + " tables"
                + places.getFirst().comparedMetrics().stream().map(this::text).collect(Collectors.joining())
                + ".";
    }

    private String text(Metric metric) {
        List<Place> with = places.stream()
                .filter(place -> !place.comparisons(metric.name()).isEmpty())
                .toList();
        return with.size() < 2
                ? ""
                : "; " + metric.title() + " "
                        + with.stream()
                                .map(place -> place.comparisons(metric.name())
                                        .getFirst()
                                        .text())
                                .collect(Collectors.joining(", "))
                        + ", so between server starts the baseline differs by "
                        + apart(with, place -> place.baseline(metric.name())) + " and the other arm by "
                        + apart(with, place -> place.treatment(metric.name()));
    }

    private static String apart(List<Place> places, ToDoubleFunction<Place> value) {
        return Percents.plain(Figures.apart(places.stream().mapToDouble(value).toArray()));
    }
}
