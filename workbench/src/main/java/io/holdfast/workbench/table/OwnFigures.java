package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.table.Remark.Topic;
import java.math.BigDecimal;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Consistency of the figures of one table: sums, shares, units, and impossible values. */
final class OwnFigures {
    /** Parts and their total are printed with so many milliseconds. */
    private static final double EXACT_MILLIS = 0.1;

    /** Two figures of one load may differ by this much. */
    private static final double CONSISTENT = 0.03;

    private static final double OFTEN = 2;

    /** Above this share of its peak a kernel is bound by memory. */
    private static final double MEMORY_BOUND = 0.5;

    private static final int TOP = 5;

    /** Bytes by SI units, as links are rated; KiB and its like are binary. */
    private static final Map<String, Double> BYTES = Map.of(
            "b", 1.0, "kb", 1e3, "mb", 1e6, "gb", 1e9, "gb/s", 1e9, "tb/s", 1e12, "kib", 0x1p10, "mib", 0x1p20, "gib",
            0x1p30);

    private final List<Place> places;
    private final Remarks remarks = new Remarks();

    private OwnFigures(PublishedTable table) {
        this.places = Place.of(table);
    }

    static List<Remark> remarks(PublishedTable table) {
        OwnFigures own = new OwnFigures(table);
        own.total();
        own.shares();
        own.memoryBound();
        own.points();
        own.transfers();
        own.fewerWithMore();
        own.places.forEach(own::staggered);
        return own.remarks.all();
    }

    private static boolean isTotal(Place place) {
        return place.where().values().stream().anyMatch("total"::equalsIgnoreCase);
    }

    /** Checks that a row that is called total is the sum of the others. */
    private void total() {
        places.stream()
                .filter(OwnFigures::isTotal)
                .forEach(total -> total.plainMetrics().stream()
                        .filter(metric -> metric.better() == Metric.Better.LOWER)
                        .map(Metric::name)
                        .forEach(metric -> {
                            double sum = places.stream()
                                    .filter(place -> !isTotal(place))
                                    .mapToDouble(place -> place.measured(metric))
                                    .filter(Double::isFinite)
                                    .sum();
                            if (Math.abs(sum - total.measured(metric)) > EXACT_MILLIS) {
                                remarks.against(
                                        Topic.ARITHMETIC,
                                        "",
                                        "The parts add up to " + Figure.rounded(sum, 1) + " ms, and the total is "
                                                + Figure.rounded(total.measured(metric), 1) + ".");
                            }
                        }));
    }

    private void shares() {
        Map<String, Double> shares = new HashMap<>();
        places.stream()
                .filter(place -> place.measured("share") >= 0)
                .forEach(place -> shares.put(
                        place.where().getOrDefault(Column.VARIANT, Place.text(place.where())),
                        place.measured("share")));
        if (shares.size() < 2) {
            return;
        }
        double sum = shares.values().stream().mapToDouble(Double::doubleValue).sum();
        String top = shares.entrySet().stream()
                .sorted(Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(Map.Entry.comparingByKey()))
                .limit(TOP)
                .map(each -> each.getKey() + " " + percent(each.getValue()))
                .collect(Collectors.joining(", "));
        boolean more = sum > 1.005;
        remarks.say(
                more,
                Topic.ARITHMETIC,
                "",
                "Top " + Math.min(TOP, shares.size()) + ": " + top + "; all shares add up to " + percent(sum)
                        + (more ? ", more than there is." : "."));
    }

    private static String percent(double share) {
        return Figure.rounded(100 * share, 0) + " %";
    }

    /** Judges by the one rule on it, and never by eye. */
    static String memoryBound(double share) {
        return Double.isNaN(share)
                ? "memory: not measured."
                : "memory at " + percent(share) + " of its peak, "
                        + (share > MEMORY_BOUND ? "above 50 %: memory-bound." : "not above 50 %: not memory-bound.");
    }

    private void memoryBound() {
        if (places.stream().anyMatch(place -> place.measured("hbm") >= 0)) {
            places.forEach(place -> remarks.note(Topic.HARDWARE, where(place), memoryBound(place.measured("hbm"))));
        }
    }

    private static String where(Place place) {
        return Place.text(place.where()).replaceFirst("^(model|variant) ", "");
    }

    /** Compares the first with the second column of shares. */
    private void points() {
        List<Place> columns = places.stream()
                .filter(place -> place.plainMetrics().stream().anyMatch(metric -> metric.unit() == Metric.Unit.SHARE))
                .toList();
        if (columns.size() < 2
                || !columns.stream().allMatch(place -> place.where().keySet().equals(Set.of(Column.MODEL)))) {
            return;
        }
        Place first = columns.get(0);
        Place second = columns.get(1);
        String points = first.plainMetrics().stream()
                .filter(metric -> metric.unit() == Metric.Unit.SHARE
                        && second.plainMetrics().contains(metric))
                .map(metric -> {
                    BigDecimal by =
                            Figure.rounded(100 * (second.measured(metric.name()) - first.measured(metric.name())), 0);
                    return metric.title().toUpperCase(Locale.ROOT) + (by.signum() > 0 ? " +" : " ") + by + " points";
                })
                .collect(Collectors.joining(", "));
        remarks.note(Topic.HARDWARE, where(first) + " to " + where(second), points + ".");
    }

    /** Returns the time that so many bytes take at that rate, in milliseconds. */
    static double transferMillis(double bytes, double bytesPerSecond) {
        return 1e3 * bytes / bytesPerSecond;
    }

    private void transfers() {
        for (Place place : places) {
            double bytes = bytes(place, "size");
            double rate = bytes(place, "bandwidth");
            double should = transferMillis(bytes, rate);
            double told = place.plainMetrics().stream()
                    .filter(metric -> metric.unit() == Metric.Unit.MILLIS)
                    .findFirst()
                    .map(metric -> place.measured(metric.name()))
                    .orElse(Double.NaN);
            if (bytes > 0 && rate > 0 && (told > OFTEN * should || told < should / OFTEN)) {
                remarks.against(
                        Topic.ARITHMETIC,
                        where(place),
                        String.format(
                                Locale.ROOT,
                                "%.0f bytes at %.0f bytes a second are %.2g ms, and %s ms is printed, %.0f times as"
                                        + " much.",
                                bytes,
                                rate,
                                should,
                                BigDecimal.valueOf(told).stripTrailingZeros().toPlainString(),
                                told / should));
            }
        }
    }

    private static double bytes(Place place, String metric) {
        return place.plain(metric)
                .map(each -> each.figure().number().doubleValue()
                        * BYTES.getOrDefault(each.unit().toLowerCase(Locale.ROOT), Double.NaN))
                .orElse(Double.NaN);
    }

    /** Reports users who together get fewer tokens than one alone: something waits. */
    private void fewerWithMore() {
        for (Place one : places) {
            for (Place more : places) {
                if (one.level(Column.CONCURRENCY) == 1
                        && more.level(Column.CONCURRENCY) > 1
                        && withoutUsers(one).equals(withoutUsers(more))) {
                    one.plainMetrics().stream()
                            .filter(metric -> metric.unit() == Metric.Unit.TOKENS_PER_SECOND
                                    && more.measured(metric.name()) < one.measured(metric.name()))
                            .forEach(metric -> remarks.against(
                                    Topic.PLAUSIBILITY,
                                    Place.text(more.where()),
                                    metric.title() + " is " + Figure.rounded(more.measured(metric.name()), 1)
                                            + ", less than the " + Figure.rounded(one.measured(metric.name()), 1)
                                            + " of one user alone."));
                }
            }
        }
    }

    private static Map<String, String> withoutUsers(Place place) {
        Map<String, String> where = new LinkedHashMap<>(place.where());
        where.remove(Column.CONCURRENCY);
        return where;
    }

    /**
     * Waits of the second of two users, from when the first one asked; NaN where the table does not tell.
     *
     * @param firstTtft of the first user, from that one's request
     * @param secondTtft of the second user, from that one's request
     * @param wall from the first request to the end of both answers
     */
    record Staggered(double firstTtft, double secondTtft, double wall) {
        static Staggered of(Place place) {
            return new Staggered(
                    place.measured("user_a_ttft"),
                    first(place, "user_b_ttft", "user_b_ttft_from_own_request"),
                    first(place, "wall", "wall_time"));
        }

        private static double first(Place place, String metric, String other) {
            double told = place.measured(metric);
            return Double.isNaN(told) ? place.measured(other) : told;
        }

        /** Returns the wait if the second asks once the first has its whole answer; both decode equally long. */
        double oneAfterTheOther() {
            double decode = (wall - firstTtft - secondTtft) / 2;
            return firstTtft + decode + secondTtft;
        }

        /** Returns the wait if the first user's decoding is left out. */
        double withoutDecoding() {
            return firstTtft + secondTtft;
        }

        /** Returns the wait if the second asks so many milliseconds after the first. */
        double after(double delay) {
            return delay + secondTtft;
        }

        /** Returns the tokens of both in a second. */
        double throughput(double tokens) {
            return 1e3 * tokens / wall;
        }
    }

    private void staggered(Place place) {
        Staggered users = Staggered.of(place);
        if (users.oneAfterTheOther() > 0 && place.where().values().stream().anyMatch("sequential"::equalsIgnoreCase)) {
            remarks.note(
                    Topic.PLAUSIBILITY,
                    where(place),
                    "From the first request the second user waits "
                            + Figure.rounded(users.oneAfterTheOther() / 1e3, 2)
                            + " s with the first user's decoding; both TTFTs alone make "
                            + Figure.rounded(users.withoutDecoding() / 1e3, 2)
                            + " s. Sums of averages are no time stamps.");
        }
        double right = users.throughput(place.level(Column.OUTPUT_TOKENS));
        if (users.wall() > 0 && Math.abs(right / place.measured("system_tps") - 1) > CONSISTENT) {
            remarks.against(
                    Topic.CONSISTENCY,
                    where(place),
                    place.where().get(Column.OUTPUT_TOKENS) + " tokens in that wall time are "
                            + Figure.rounded(right, 1) + " tok/s.");
        }
        inconsistent(place)
                .ifPresent(
                        text -> remarks.against(Topic.CONSISTENCY, place.where().getOrDefault(Column.MODEL, ""), text));
    }

    /**
     * Reports a throughput that is not that of the median latency, where one request ran after the other: mean and
     * median disagree then.
     */
    static Optional<String> inconsistent(Place place) {
        Optional<Observation> median = place.plain("e2e_p50");
        Optional<Observation> throughput = place.plain(Metric.OUTPUT_THROUGHPUT.name());
        if (median.isEmpty() || throughput.isEmpty() || place.level(Column.CONCURRENCY) != 1) {
            return Optional.empty();
        }
        double implied = place.level(Column.OUTPUT_TOKENS) / (median.get().value() / 1e3);
        double off = throughput.get().value() / implied - 1;
        return !(Math.abs(off) > CONSISTENT) || !Double.isFinite(off)
                ? Optional.empty()
                : Optional.of("Output throughput is "
                        + throughput.get().figure().text() + " tok/s, and "
                        + place.where().get(Column.OUTPUT_TOKENS) + " tokens in the median latency of "
                        + median.get().figure().text() + " " + median.get().unit() + " are "
                        + Figure.rounded(implied, 1) + " (" + Percents.plainSigned(off)
                        + "): some requests were far from the median.");
    }
}
