package io.holdfast.loadtest.report;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.QuantileRange;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/** The figures of a run, each with its numbers in words below it: who cannot see one misses nothing. */
final class RunFigures {
    private final Html page;
    private final Result result;
    private final RunHeader header;
    private final List<LegRecord> measured;

    RunFigures(Html page, Result result) {
        this.page = page;
        this.result = result;
        this.header = result.header();
        this.measured = result.legs().stream().filter(LegRecord::isMeasured).toList();
    }

    void legend() {
        page.line("<p class=\"legend\"><span class=\"key baseline\">baseline</span>"
                + "<span class=\"key pinned\">pinned</span></p>");
    }

    /** Every leg and every pair, in the order in which they ran. */
    void legsAndPairs() {
        page.line("<div class=\"figures\">");
        inTimeOrder();
        pairRatios();
        page.line("</div>");
    }

    void distributionsAndShares() {
        page.line("<div class=\"figures\">");
        distributions();
        foundShares();
        page.line("</div>");
    }

    private void inTimeOrder() {
        Statistic number = header.statistic();
        double most = measured.stream()
                .flatMap(leg -> Stream.concat(
                        leg.probes().stream()
                                .flatMap(probe -> probe.ttftMillis().stream().boxed()),
                        number.of(leg.requests()).stream().boxed()))
                .mapToDouble(Double::doubleValue)
                .max()
                .orElse(0);
        String title = "Legs in the order in which they ran";
        if (most <= 0) {
            page.figure(title, "No probe of a leg that counts has a time.", Optional.empty());
            return;
        }
        Svg svg = Svg.linear(
                        "Time to first token of each leg in the order in which they ran",
                        0,
                        measured.size() + 1,
                        0,
                        most * 1.05)
                .yAxis("time to first token, ms", "%.0f")
                .xTitle("legs in the order in which they ran; "
                        + (header.measuredLegsOfALife() > 2 ? "four make a block" : "two make a pair"));
        for (int i = 0; i < measured.size(); i++) {
            LegRecord leg = measured.get(i);
            String style = style(leg);
            int at = i + 1;
            leg.probes()
                    .forEach(probe -> probe.ttftMillis()
                            .ifPresent(millis -> svg.mark(
                                    style + " faint", at, millis, 2, leg.label() + ": a probe, " + millis(millis))));
            number.of(leg.requests())
                    .ifPresent(millis -> svg.mark(style, at, millis, 4.5, leg.label() + ": " + millis(millis)));
        }
        page.figure(
                title,
                "Large marks are " + number.text() + ", small ones single probes. Baseline legs: " + legs(Arm.BASELINE)
                        + "; pinned legs: " + legs(Arm.PINNED) + ". A drift or a slow first leg would show as a slope.",
                Optional.of(svg.end()));
    }

    /** Returns the number of legs and their range, from the lowest to the highest. */
    private String legs(Arm arm) {
        double[] sorted = measured.stream()
                .filter(leg -> leg.arm() == arm)
                .flatMapToDouble(leg -> header.statistic().of(leg.requests()).stream())
                .sorted()
                .toArray();
        return sorted.length == 0
                ? "none"
                : String.format(
                        Locale.ROOT, "%d, %.1f to %.1f ms", sorted.length, sorted[0], sorted[sorted.length - 1]);
    }

    private void distributions() {
        double[] baseline = ttfts(Arm.BASELINE);
        double[] pinned = ttfts(Arm.PINNED);
        if (baseline.length == 0 && pinned.length == 0) {
            return;
        }
        double[] all = Stream.of(baseline, pinned)
                .flatMapToDouble(Arrays::stream)
                .sorted()
                .toArray();
        double least = Math.max(all[0], 1e-3) * 0.95;
        Svg svg = Svg.logarithmic(
                        "Distribution of times to first token by arm", least, all[all.length - 1] * 1.05, 0, 100)
                .yAxis("probes at most as slow, %", "%.0f")
                .xAxis("time to first token, ms", all[0] < 10 ? "%.1f" : "%.0f");
        if (baseline.length > 0) {
            svg.staircase("curve baseline", baseline);
        }
        if (pinned.length > 0) {
            svg.staircase("curve pinned", pinned);
        }
        page.figure(
                "Time to first token of all probes",
                summary("Baseline", result.baseline()) + ". " + summary("Pinned", result.pinned())
                        + ". Quantiles of all probes of an arm together; they describe and decide nothing.",
                Optional.of(svg.end()));
    }

    private static String summary(String name, ArmSummary arm) {
        return name + " (" + arm.probes() + " probes in " + arm.legs() + " legs): "
                + (arm.quantiles().isEmpty()
                        ? "unknown"
                        : arm.quantiles().stream().map(RunFigures::quantile).collect(Collectors.joining(", ")));
    }

    private static String quantile(QuantileRange range) {
        return String.format(Locale.ROOT, "p%.0f %.1f ms", 100 * range.quantile(), range.value());
    }

    private void foundShares() {
        int prefix = header.workload().prefixTokens();
        Svg svg = Svg.linear(
                        "Share of the prefix that each leg's probes found in the cache", 0, measured.size() + 1, 0, 105)
                .yAxis("found in the cache, %", "%.0f")
                .xTitle("legs in the order in which they ran");
        boolean any = false;
        for (int i = 0; i < measured.size(); i++) {
            LegRecord leg = measured.get(i);
            OptionalDouble share = Analysis.hitShare(leg, prefix);
            if (share.isPresent()) {
                any = true;
                svg.mark(
                        style(leg),
                        i + 1,
                        100 * share.getAsDouble(),
                        4.5,
                        String.format(Locale.ROOT, "%s: %.0f %%", leg.label(), 100 * share.getAsDouble()));
            }
        }
        CacheProof proof = result.cacheProof();
        page.figure(
                "Exposure: what the server says it found",
                "The baseline " + lost(proof.exposed())
                        + proof.exposure().map(RunFigures::shares).orElse("")
                        + ". Pinned legs " + kept(proof.kept())
                        + proof.mechanism().map(RunFigures::shares).orElse("") + ".",
                any ? Optional.of(svg.end()) : Optional.empty());
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

    private void pairRatios() {
        List<PairOrder> orders = header.plan().design().round();
        boolean blocks = header.plan().design() == Design.BLOCKS;
        double end = orders.size() + 0.6;
        double[] all = orders.stream().flatMapToDouble(this::percents).toArray();
        if (all.length == 0) {
            return;
        }
        double least = Math.min(-1, Arrays.stream(all).min().orElseThrow());
        double most = Math.max(1, Arrays.stream(all).max().orElseThrow());
        double room = 0.06 * (most - least);
        String what = blocks ? "pinned legs against baseline legs" : "second leg against first";
        Svg svg = Svg.linear("Every life: " + what, 0.4, end, least - room, most + room)
                .yAxis(what + ", %", "%+.0f")
                .xTitle("lives, by the order of their legs")
                .line("zero", 0.4, 0, end, 0);
        int column = 1;
        for (PairOrder order : orders) {
            svg.xLabel(column, name(order));
            double[] values = percents(order).toArray();
            for (int i = 0; i < values.length; i++) {
                double x = column + (values.length == 1 ? 0 : 0.5 * i / (values.length - 1) - 0.25);
                svg.mark(
                        order == PairOrder.AA ? "baseline" : "pinned",
                        x,
                        values[i],
                        4,
                        PlainVerdict.percent(values[i]));
            }
            column++;
        }
        page.figure(
                "Every pair",
                orders.stream().map(order -> name(order) + ": " + pairs(order)).collect(Collectors.joining("; "))
                        + (blocks
                                ? ". Holding shows where both kinds of blocks lie to the same side of zero."
                                : orders.contains(PairOrder.AA)
                                        ? ". A/A pairs scatter around the order bias. Holding shows where the two"
                                                + " orders fall to opposite sides of them."
                                        : ". Holding shows where the two orders fall to opposite sides of zero."),
                Optional.of(svg.end()));
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
                        + PlainVerdict.percent(sorted[0])
                        + (sorted.length == 1 ? "" : " to " + PlainVerdict.percent(sorted[sorted.length - 1]));
    }

    private DoubleStream percents(PairOrder order) {
        return Arrays.stream(result.estimate().data().of(order)).map(log -> 100 * Math.expm1(log));
    }

    private double[] ttfts(Arm arm) {
        return measured.stream()
                .filter(leg -> leg.arm() == arm)
                .flatMap(leg -> leg.probes().stream())
                .flatMapToDouble(probe -> probe.ttftMillis().stream())
                .sorted()
                .toArray();
    }

    private static String style(LegRecord leg) {
        return leg.arm() == Arm.PINNED ? "pinned" : "baseline";
    }

    private static String millis(double millis) {
        return String.format(Locale.ROOT, "%.1f ms", millis);
    }
}
