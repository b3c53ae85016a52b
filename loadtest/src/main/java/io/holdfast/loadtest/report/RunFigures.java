package io.holdfast.loadtest.report;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The figures of a run: its legs and its pairs in the order in which they ran, its probes, and what they found. */
final class RunFigures {
    private final Result result;
    private final RunHeader header;
    private final List<LegRecord> measured;

    RunFigures(Result result) {
        this.result = result;
        this.header = result.header();
        this.measured = result.legs().stream().filter(LegRecord::isMeasured).toList();
    }

    /** Draws each leg and each of its probes. */
    Plot legsInOrder() {
        Statistic number = header.statistic();
        List<Series> series = new ArrayList<>();
        for (Arm arm : Arm.values()) {
            series.add(series(
                    arm,
                    " faint",
                    Shape.SMALL_MARKS,
                    (leg, at) -> leg.probes().stream()
                            .flatMap(probe -> probe.ttftMillis().stream().boxed())
                            .map(millis -> new Point(at, millis, leg.label() + ": a probe, " + millis(millis)))));
            series.add(series(
                    arm,
                    "",
                    Shape.MARKS,
                    (leg, at) -> number.of(leg.requests()).stream()
                            .mapToObj(millis -> new Point(at, millis, leg.label() + ": " + millis(millis)))));
        }
        double most = series.stream()
                .flatMap(each -> each.points().stream())
                .mapToDouble(Point::y)
                .max()
                .orElse(0);
        return new Plot(
                "Legs in the order in which they ran",
                most <= 0
                        ? "No probe of a leg that counts has a time."
                        : "Large marks are " + number.text() + ", small ones single probes. Baseline legs: "
                                + legs(Arm.BASELINE) + "; pinned legs: " + legs(Arm.PINNED)
                                + ". A drift or a slow first leg would show as a slope.",
                legsAxis("; " + (header.measuredLegsOfALife() > 2 ? "four make a block" : "two make a pair")),
                Axis.linear("time to first token, ms", 0, most * 1.05, "%.0f"),
                most <= 0 ? List.of() : series);
    }

    private Axis legsAxis(String more) {
        return Axis.linear("legs in the order in which they ran" + more, 0, measured.size() + 1, "");
    }

    private Series series(Arm arm, String look, Shape shape, BiFunction<LegRecord, Integer, Stream<Point>> points) {
        String name = arm.name().toLowerCase(Locale.ROOT);
        return new Series(
                look.isEmpty() ? name : "",
                name + look,
                shape,
                IntStream.range(0, measured.size())
                        .filter(i -> measured.get(i).arm() == arm)
                        .boxed()
                        .flatMap(i -> points.apply(measured.get(i), i + 1))
                        .toList());
    }

    /** Returns the number of legs and their range, from the lowest to the highest. */
    private String legs(Arm arm) {
        double[] sorted = result.measured(arm).stream()
                .flatMapToDouble(leg -> header.statistic().of(leg.requests()).stream())
                .sorted()
                .toArray();
        return sorted.length == 0
                ? "none"
                : String.format(
                        Locale.ROOT, "%d, %.1f to %.1f ms", sorted.length, sorted[0], sorted[sorted.length - 1]);
    }

    /** Draws the distribution of probes; absent where none has a time. */
    Optional<Plot> distributions() {
        List<Series> series =
                Stream.of(Arm.BASELINE, Arm.PINNED).map(this::distribution).toList();
        double[] all = series.stream()
                .flatMap(each -> each.points().stream())
                .mapToDouble(Point::x)
                .sorted()
                .toArray();
        if (all.length == 0) {
            return Optional.empty();
        }
        return Optional.of(new Plot(
                "Time to first token of all probes",
                summary("Baseline", result.baseline()) + ". " + summary("Pinned", result.pinned())
                        + ". Quantiles of all probes of an arm together; they describe and decide nothing.",
                Axis.logarithmic(
                        "time to first token, ms",
                        Math.max(all[0], 1e-3) * 0.95,
                        all[all.length - 1] * 1.05,
                        all[0] < 10 ? "%.1f" : "%.0f"),
                Axis.linear("probes at most as slow, %", 0, 100, "%.0f"),
                series));
    }

    private Series distribution(Arm arm) {
        double[] sorted = result.measured(arm).stream()
                .flatMap(leg -> leg.probes().stream())
                .flatMapToDouble(probe -> probe.ttftMillis().stream())
                .sorted()
                .toArray();
        String name = arm.name().toLowerCase(Locale.ROOT);
        return new Series(
                name,
                "curve " + name,
                Shape.STAIRCASE,
                IntStream.range(0, sorted.length)
                        .mapToObj(i -> new Point(sorted[i], 100.0 * (i + 1) / sorted.length, ""))
                        .toList());
    }

    private static String summary(String name, ArmSummary arm) {
        return name + " (" + arm.probes() + " probes in " + arm.legs() + " legs): "
                + (arm.quantiles().isEmpty()
                        ? "unknown"
                        : arm.quantiles().stream()
                                .map(range -> String.format(
                                        Locale.ROOT, "p%.0f %.1f ms", 100 * range.quantile(), range.value()))
                                .collect(Collectors.joining(", ")));
    }

    /** Draws the share of the prefix that the probes of each leg found in the cache. */
    Plot foundShares() {
        int prefix = header.workload().prefixTokens();
        List<Series> series = Stream.of(Arm.BASELINE, Arm.PINNED)
                .map(arm -> series(
                        arm,
                        "",
                        Shape.MARKS,
                        (leg, at) -> Analysis.hitShare(leg, prefix).stream()
                                .mapToObj(
                                        share -> new Point(at, 100 * share, leg.label() + ": " + Shown.share(share)))))
                .toList();
        CacheProof proof = result.cacheProof();
        return new Plot(
                "Exposure: what the server says it found",
                "The baseline " + lost(proof.exposed())
                        + proof.exposure().map(RunFigures::shares).orElse("")
                        + ". Pinned legs " + kept(proof.kept())
                        + proof.mechanism().map(RunFigures::shares).orElse("") + ".",
                legsAxis(""),
                Axis.linear("found in the cache, %", 0, 105, "%.0f"),
                series);
    }

    private static String lost(CacheProof.Answer answer) {
        return switch (answer) {
            case YES -> "lost its prefix";
            case NO -> "was not shown to lose its prefix";
            case UNKNOWN -> "may or may not have lost its prefix: the server did not say";
        };
    }

    private static String kept(CacheProof.Answer answer) {
        return switch (answer) {
            case YES -> "kept more of it";
            case NO -> "were not shown to keep more of it";
            case UNKNOWN -> "may or may not have kept more of it: the server did not say";
        };
    }

    private static String shares(Interval share) {
        return String.format(
                Locale.ROOT, " (95 %% interval of the share: %.0f to %.0f %%)", 100 * share.low(), 100 * share.high());
    }

    /** Draws the second leg of each pair against its first, by their order; absent where no pair is whole. */
    Optional<Plot> pairs() {
        List<PairOrder> orders = header.plan().design().round();
        double[] all = orders.stream().flatMapToDouble(this::percents).toArray();
        if (all.length == 0) {
            return Optional.empty();
        }
        boolean blocks = header.plan().design() == Design.BLOCKS;
        double least = Math.min(-1, Arrays.stream(all).min().orElseThrow());
        double most = Math.max(1, Arrays.stream(all).max().orElseThrow());
        double room = 0.06 * (most - least);
        Map<Double, String> labels = new TreeMap<>();
        List<Series> series = new ArrayList<>();
        for (PairOrder order : orders) {
            int column = labels.size() + 1;
            labels.put((double) column, name(order));
            double[] values = percents(order).toArray();
            series.add(new Series(
                    "",
                    order == PairOrder.AA ? "baseline" : "pinned",
                    Shape.MARKS,
                    IntStream.range(0, values.length)
                            .mapToObj(i -> new Point(
                                    column + (values.length == 1 ? 0 : 0.5 * i / (values.length - 1) - 0.25),
                                    values[i],
                                    Shown.percent(values[i])))
                            .toList()));
        }
        return Optional.of(new Plot(
                "Every pair",
                orders.stream().map(order -> name(order) + ": " + pairs(order)).collect(Collectors.joining("; "))
                        + (blocks
                                ? ". Holding shows where both kinds of blocks lie to the same side of zero."
                                : orders.contains(PairOrder.AA)
                                        ? ". A/A pairs scatter around the order bias. Holding shows where the two"
                                                + " orders fall to opposite sides of them."
                                        : ". Holding shows where the two orders fall to opposite sides of zero."),
                new Axis("lives, by the order of their legs", 0.4, orders.size() + 0.6, false, "", labels),
                Axis.linear(
                        (blocks ? "pinned legs against baseline legs" : "second leg against first") + ", %",
                        least - room,
                        most + room,
                        "%+.0f"),
                series));
    }

    private static String name(PairOrder order) {
        return switch (order) {
            case AA -> "A/A";
            case BP -> "baseline, pinned";
            case PB -> "pinned, baseline";
            case BPPB -> "baseline, pinned, pinned, baseline";
            case PBBP -> "pinned, baseline, baseline, pinned";
        };
    }

    private String pairs(PairOrder order) {
        double[] sorted = percents(order).sorted().toArray();
        return sorted.length == 0
                ? "none"
                : sorted.length
                        + ", "
                        + Shown.percent(sorted[0])
                        + (sorted.length == 1 ? "" : " to " + Shown.percent(sorted[sorted.length - 1]));
    }

    private DoubleStream percents(PairOrder order) {
        return Arrays.stream(result.estimate().data().of(order)).map(Shown::growth);
    }

    private static String millis(double millis) {
        return String.format(Locale.ROOT, "%.1f ms", millis);
    }
}
