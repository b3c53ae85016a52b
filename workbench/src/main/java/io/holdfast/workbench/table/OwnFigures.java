package io.holdfast.workbench.table;

import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.table.Remark.Topic;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.Collectors;

/** Consistency of the figures of one table: sums, shares, units, and impossible values. */
final class OwnFigures {
    /** Parts and their total are printed with so many milliseconds. */
    private static final double EXACT_MILLIS = 0.1;

    private static final double OFTEN = 2;

    /** Above this share of its peak a kernel is bound by memory. */
    private static final double MEMORY_BOUND = 0.5;

    private static final int TOP = 5;

    private static final String[] WALL = {"wall", "wall_time"};

    private final List<Place> places;
    private final List<Remark> remarks = new ArrayList<>();

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
        own.staggered();
        return own.remarks;
    }

    private static boolean isTotal(Place place) {
        return place.where().containsValue("total") || place.where().containsValue("Total");
    }

    /** A row that is called total is the sum of the others. */
    private void total() {
        for (Place total : places.stream().filter(OwnFigures::isTotal).toList()) {
            total.plain().keySet().stream()
                    .filter(metric -> metric.better() == Metric.Better.LOWER)
                    .forEach(metric -> {
                        double sum = places.stream()
                                .filter(place -> !isTotal(place))
                                .flatMapToDouble(place -> place.measured(metric).stream())
                                .sum();
                        double told = total.measured(metric).orElseThrow();
                        if (Math.abs(sum - told) > EXACT_MILLIS) {
                            remarks.add(Remark.against(
                                    Topic.ARITHMETIC,
                                    "",
                                    "The parts add up to " + Comparison.rounded(sum, 1) + " ms, and the total is "
                                            + Comparison.rounded(told, 1) + "."));
                        }
                    });
        }
    }

    private void shares() {
        Map<String, Double> shares = new HashMap<>();
        for (Place place : places) {
            Place.named(place.plain().keySet(), "share")
                    .ifPresent(metric -> shares.put(
                            place.where().getOrDefault("variant", PublishedTable.text(place.where())),
                            place.measured(metric).orElseThrow()));
        }
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
        String text = "Top " + Math.min(TOP, shares.size()) + ": " + top + "; all shares add up to " + percent(sum);
        remarks.add(
                sum > 1.005
                        ? Remark.against(Topic.ARITHMETIC, "", text + ", more than there is.")
                        : Remark.note(Topic.ARITHMETIC, "", text + "."));
    }

    private static String percent(double share) {
        return Comparison.rounded(100 * share, 0) + " %";
    }

    /** Judges by the one rule on it, and never by eye. */
    static String memoryBound(OptionalDouble share) {
        if (share.isEmpty()) {
            return "memory: not measured.";
        }
        return "memory at " + percent(share.getAsDouble()) + " of its peak, "
                + (share.getAsDouble() > MEMORY_BOUND
                        ? "above 50 %: memory-bound."
                        : "not above 50 %: not memory-bound.");
    }

    private void memoryBound() {
        boolean told = places.stream().anyMatch(place -> hbm(place).isPresent());
        if (told) {
            places.forEach(place -> remarks.add(Remark.note(Topic.HARDWARE, where(place), memoryBound(hbm(place)))));
        }
    }

    private static OptionalDouble hbm(Place place) {
        return Place.named(place.plain().keySet(), "hbm").map(place::measured).orElse(OptionalDouble.empty());
    }

    private static String where(Place place) {
        return PublishedTable.text(place.where()).replaceFirst("^(model|variant) ", "");
    }

    /** Compares the first with the second column of shares. */
    private void points() {
        List<Place> columns = places.stream()
                .filter(place -> place.plain().keySet().stream().anyMatch(metric -> metric.unit() == Metric.Unit.SHARE))
                .toList();
        boolean byMetric = columns.size() > 1
                && columns.stream().allMatch(place -> place.where().keySet().equals(Set.of(Column.MODEL)));
        if (!byMetric) {
            return;
        }
        Place first = columns.get(0);
        Place second = columns.get(1);
        String points = first.plain().keySet().stream()
                .filter(metric ->
                        metric.unit() == Metric.Unit.SHARE && second.plain().containsKey(metric))
                .map(metric -> {
                    BigDecimal by = Comparison.rounded(
                            100
                                    * (second.measured(metric).orElseThrow()
                                            - first.measured(metric).orElseThrow()),
                            0);
                    return metric.title().toUpperCase(Locale.ROOT) + " " + (by.signum() > 0 ? "+" : "") + by
                            + " points";
                })
                .collect(Collectors.joining(", "));
        remarks.add(Remark.note(Topic.HARDWARE, where(first) + " to " + where(second), points + "."));
    }

    /** Returns the time that so many bytes take at that rate, in milliseconds. */
    static double transferMillis(double bytes, double bytesPerSecond) {
        return 1e3 * bytes / bytesPerSecond;
    }

    private void transfers() {
        for (Place place : places) {
            OptionalDouble bytes = bytes(place, "size");
            OptionalDouble rate = bytes(place, "bandwidth");
            Optional<Metric> time = place.plain().keySet().stream()
                    .filter(metric -> metric.unit() == Metric.Unit.MILLIS)
                    .findFirst();
            if (bytes.orElse(0) > 0 && rate.orElse(0) > 0 && time.isPresent()) {
                double should = transferMillis(bytes.getAsDouble(), rate.getAsDouble());
                double told = place.measured(time.get()).orElseThrow();
                if (told > OFTEN * should || told < should / OFTEN) {
                    remarks.add(Remark.against(
                            Topic.ARITHMETIC,
                            where(place),
                            String.format(
                                    Locale.ROOT,
                                    "%.0f bytes at %.0f bytes a second are %.2g ms, and %s ms is printed, %.0f times"
                                            + " as much.",
                                    bytes.getAsDouble(),
                                    rate.getAsDouble(),
                                    should,
                                    BigDecimal.valueOf(told)
                                            .stripTrailingZeros()
                                            .toPlainString(),
                                    told / should)));
                }
            }
        }
    }

    /** Returns bytes by SI units, as links are rated; KiB and its like are binary. */
    private static OptionalDouble bytes(Place place, String metric) {
        return Place.named(place.plain().keySet(), metric)
                .flatMap(
                        of -> place.plain().getOrDefault(of, List.of()).stream().findFirst())
                .map(each -> {
                    double factor = switch (each.unit().toLowerCase(Locale.ROOT)) {
                        case "b" -> 1;
                        case "kb" -> 1e3;
                        case "mb" -> 1e6;
                        case "gb", "gb/s" -> 1e9;
                        case "tb/s" -> 1e12;
                        case "kib" -> 1 << 10;
                        case "mib" -> 1 << 20;
                        case "gib" -> 1 << 30;
                        default -> Double.NaN;
                    };
                    return OptionalDouble.of(factor * each.figure().number().doubleValue());
                })
                .filter(value -> Double.isFinite(value.getAsDouble()))
                .orElse(OptionalDouble.empty());
    }

    /** Two users together get fewer tokens than one alone: something waits. */
    private void fewerWithMore() {
        List<Place> alone = places.stream()
                .filter(place -> place.level(Column.CONCURRENCY).orElse(0) == 1)
                .toList();
        for (Place one : alone) {
            Map<String, String> same = new HashMap<>(one.where());
            same.remove(Column.CONCURRENCY);
            for (Place more : places) {
                Map<String, String> other = new HashMap<>(more.where());
                other.remove(Column.CONCURRENCY);
                if (other.equals(same) && more.level(Column.CONCURRENCY).orElse(0) > 1) {
                    one.plain().keySet().stream()
                            .filter(metric -> metric.unit() == Metric.Unit.TOKENS_PER_SECOND
                                    && more.plain().containsKey(metric))
                            .filter(metric -> more.measured(metric).orElseThrow()
                                    < one.measured(metric).orElseThrow())
                            .forEach(metric -> remarks.add(Remark.against(
                                    Topic.PLAUSIBILITY,
                                    PublishedTable.text(more.where()),
                                    metric.title() + " is "
                                            + Comparison.rounded(
                                                    more.measured(metric).orElseThrow(), 1)
                                            + ", less than the "
                                            + Comparison.rounded(
                                                    one.measured(metric).orElseThrow(), 1)
                                            + " of one user alone.")));
                }
            }
        }
    }

    /**
     * When the second of two users has the first token, from when the first one asked.
     *
     * @param firstTtft of the first user, from that one's request
     * @param secondTtft of the second user, from that one's request
     * @param wall from the first request to the end of both answers
     */
    record Staggered(double firstTtft, double secondTtft, double wall) {
        /** The second asks when the first has its whole answer; both take equally long to decode. */
        double oneAfterTheOther() {
            double decode = (wall - firstTtft - secondTtft) / 2;
            return firstTtft + decode + secondTtft;
        }

        /** Returns the time if the first user's decoding is left out. */
        double withoutDecoding() {
            return firstTtft + secondTtft;
        }

        /** The second asks so many milliseconds after the first. */
        double after(double delay) {
            return delay + secondTtft;
        }

        /** Tokens of both in a second. */
        double throughput(double tokens) {
            return 1e3 * tokens / wall;
        }
    }

    static Optional<Staggered> staggered(Place place) {
        OptionalDouble first = named(place, "user_a_ttft");
        OptionalDouble second = named(place, "user_b_ttft", "user_b_ttft_from_own_request");
        OptionalDouble wall = named(place, WALL);
        return first.isPresent() && second.isPresent() && wall.isPresent()
                ? Optional.of(new Staggered(first.getAsDouble(), second.getAsDouble(), wall.getAsDouble()))
                : Optional.empty();
    }

    /** The first of these metrics that there is. */
    private static OptionalDouble named(Place place, String... metrics) {
        return Arrays.stream(metrics)
                .flatMap(metric -> Place.named(place.plain().keySet(), metric).stream())
                .findFirst()
                .map(place::measured)
                .orElse(OptionalDouble.empty());
    }

    private void staggered() {
        for (Place place : places) {
            boolean sequential = place.where().values().stream().anyMatch("sequential"::equalsIgnoreCase);
            staggered(place)
                    .filter(any -> sequential)
                    .ifPresent(of -> remarks.add(Remark.note(
                            Topic.PLAUSIBILITY,
                            where(place),
                            "From the first request the second user waits "
                                    + Comparison.rounded(of.oneAfterTheOther() / 1e3, 2)
                                    + " s with the first user's decoding; both TTFTs alone make "
                                    + Comparison.rounded(of.withoutDecoding() / 1e3, 2)
                                    + " s. Sums of averages are no time stamps.")));
            OptionalDouble tokens = place.level(Column.OUTPUT_TOKENS);
            Optional<Metric> told = Place.named(place.plain().keySet(), "system_tps");
            if (tokens.isPresent() && told.isPresent() && named(place, WALL).orElse(0) > 0) {
                double right = 1e3 * tokens.getAsDouble() / named(place, WALL).getAsDouble();
                if (Math.abs(right / place.measured(told.get()).orElseThrow() - 1) > 0.03) {
                    remarks.add(Remark.against(
                            Topic.CONSISTENCY,
                            where(place),
                            place.where().get(Column.OUTPUT_TOKENS) + " tokens in that wall time are "
                                    + Comparison.rounded(right, 1) + " tok/s."));
                }
            }
        }
    }
}
