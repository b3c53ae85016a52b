package io.holdfast.loadtest.report;

import io.holdfast.evidence.Interval;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Changes with their intervals on one axis, a row each with its numbers beside it; the axis is as wide as its window
 * allows.
 */
final class IntervalRows {
    private static final double MOST_SHOWN = 400;
    private static final double ROOM = 0.06;

    private final double delta;
    private final double least;
    private final double most;
    private final List<Row> rows;

    /**
     * A change.
     *
     * @param word in place of the change where that would be taken for a small gain; the change then stands beside it
     * @param log absent where it is unknown
     * @param main whether it is the one to look at
     */
    record Row(
            String name,
            String what,
            Optional<String> word,
            OptionalDouble log,
            Optional<Interval> ci95,
            boolean main) {}

    /** @param delta the log ratio from which a change matters */
    IntervalRows(List<Row> rows, double delta) {
        this.rows = List.copyOf(rows);
        this.delta = delta;
        double[] ends = Stream.concat(
                        Stream.of(-delta, delta, 0.0),
                        rows.stream()
                                .flatMap(row -> Stream.concat(
                                        row.log().stream().boxed(),
                                        row.ci95().stream().flatMap(ci -> Stream.of(ci.low(), ci.high())))))
                .mapToDouble(log -> Math.min(MOST_SHOWN, percent(log)))
                .sorted()
                .toArray();
        double room = (ends[ends.length - 1] - ends[0]) * ROOM;
        this.least = ends[0] - room;
        this.most = ends[ends.length - 1] + room;
    }

    void on(Html page) {
        page.line("<div class=\"forest\">");
        rows.forEach(row -> row(page, row));
        page.line("<div class=\"row scale\" aria-hidden=\"true\"><div></div><div class=\"track\">"
                + Svg.ticks(least, most).stream().map(this::label).collect(Collectors.joining())
                + "</div><div></div></div></div>");
    }

    private void row(Html page, Row row) {
        page.line("<div class=\"row" + (row.main() ? " main" : "") + "\"><div class=\"name\"><b>"
                + Html.escaped(row.name()) + "</b><span>" + Html.prose(row.what()) + "</span></div>");
        page.line("<div class=\"track\" aria-hidden=\"true\">" + span("band", -delta, delta) + at("zero", 0)
                + row.ci95().map(ci -> span("ci", ci.low(), ci.high())).orElse("")
                + (row.log().isPresent() ? at("dot", row.log().getAsDouble()) : "") + "</div>");
        String change = row.log().isPresent() ? PlainVerdict.change(row.log().getAsDouble()) : "unknown";
        String interval = row.ci95().map(PlainVerdict::interval).orElse("no interval");
        page.line("<div class=\"value\"><b>" + Html.prose(row.word().orElse(change)) + "</b><span>"
                + Html.prose(row.word().isPresent() ? change + ", " + interval : interval) + "</span></div></div>");
    }

    private static double percent(double log) {
        return 100 * Math.expm1(log);
    }

    private double place(double percent) {
        return 100 * (Math.clamp(percent, least, most) - least) / (most - least);
    }

    private String span(String style, double low, double high) {
        double from = place(percent(low));
        return String.format(
                Locale.ROOT,
                "<i class=\"%s\" style=\"left:%.2f%%;width:%.2f%%\"></i>",
                style,
                from,
                place(percent(high)) - from);
    }

    private String at(String style, double log) {
        return String.format(Locale.ROOT, "<i class=\"%s\" style=\"left:%.2f%%\"></i>", style, place(percent(log)));
    }

    private String label(double tick) {
        return String.format(
                Locale.ROOT,
                "<i class=\"label\" style=\"left:%.2f%%\">%s</i>",
                place(tick),
                Svg.number("%+.0f %%", tick));
    }
}
