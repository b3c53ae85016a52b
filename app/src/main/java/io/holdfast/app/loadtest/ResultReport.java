package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.analysis.OwnRequests;
import io.holdfast.loadtest.analysis.QuantileRange;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunFindings;
import io.holdfast.loadtest.analysis.Shares;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.workload.Arrivals;
import java.io.PrintWriter;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** The result of a load test, for people and as JSON; what is unknown is said to be unknown, or null. */
public final class ResultReport {
    private ResultReport() {}

    static void print(Result result, boolean json, PrintWriter out) {
        if (json) {
            out.println(JsonText.of(ResultJson.document(result)));
            return;
        }
        TerminalText text = TerminalText.plain(out);
        text.blank();
        numbers(text, result);
        RunFindings findings = RunFindings.of(result);
        findings.all().stream()
                .filter(item -> !item.what().equals(result.verdict().reason()))
                .forEach(item -> text.paragraph(
                        item.severity() == RunFindings.Severity.HIGH ? "  HIGH: " : "  note: ", item.what()));
        findings.failures().lines().forEach(line -> text.paragraph("    ", line));
    }

    /** What will be sent, to whom, and about how long it takes. */
    static void printPlan(
            URI server,
            HttpSettings asked,
            ArmSwitch arms,
            LoadTestPlan settings,
            RunPlan plan,
            Arrivals arrivals,
            boolean flushes,
            PrintWriter out) {
        TerminalText text = TerminalText.plain(out);
        text.line("Load test at " + server
                + asked.model().map(name -> ", model " + name).orElse(""));
        text.paragraph("  ", "Pinned legs: " + arms.name() + ".");
        text.paragraph(
                "  ",
                String.format(
                        Locale.ROOT,
                        "%d %s that count and one before them: %d legs, %,d requests of %,d tokens, about %s.",
                        plan.pairs(),
                        settings.design() == Design.BLOCKS ? "blocks" : "pairs",
                        plan.legs(),
                        plan.requests(),
                        plan.tokens(),
                        TimeSpan.shown(plan.estimate())));
        if (!settings.looks().isEmpty()) {
            text.paragraph(
                    "  ",
                    "That is the most: the data is looked at after "
                            + settings.looks().stream().map(String::valueOf).collect(Collectors.joining(", "))
                            + " rounds, and the run ends at the first look that decides.");
        }
        if (!settings.design().canDecide()) {
            text.paragraph(
                    "  ", "All pairs run in one order, so nothing will be decided: what they show is a naive claim.");
        }
        if (!arrivals.isClosed()) {
            text.paragraph("  ", arriving(arrivals));
        }
        text.paragraph("  ", isolation(flushes, asked.flushPath()));
        arms.afterAKill().ifPresent(what -> text.paragraph("  ", what));
        out.flush();
    }

    static String arriving(Arrivals arrivals) {
        return "The requests of a flood come by " + arrivals.text() + ", whether or not those before them are over; all"
                + " are over before a probe.";
    }

    /** What those of floods waited who came at times of their own, from both origins. */
    static String waited(Floods floods) {
        return String.format(
                        Locale.ROOT,
                        "The %,d requests of floods came by %s: %s to the first token from when one was sent, %s from"
                                + " when its turn came (medians); 1 %% were sent more than %s after their turn",
                        floods.requests(),
                        floods.arrivals(),
                        shown("%.1f ms", floods.ttftMillis()),
                        shown("%.1f ms", floods.ttftFromTurnMillis()),
                        shown("%.2f ms", floods.lateMillis()))
                + (floods.notSent() == 0
                        ? "."
                        : String.format(
                                Locale.ROOT,
                                ", and %,d could not be sent, since as many were under way as may be.",
                                floods.notSent()));
    }

    private static String isolation(boolean flushes, String path) {
        return flushes
                ? "The server's cache is emptied before every leg, by " + path + "."
                : "The server's cache is not emptied: the texts of each leg begin with a salt of their own, so that"
                        + " none finds what was there before it.";
    }

    /** What the switch sent: a hold by requests has its price, and here it is. */
    private static void ownRequests(TerminalText text, Result result) {
        if (own(result, Arm.PINNED).requests() + own(result, Arm.BASELINE).requests() > 0) {
            text.paragraph(
                    "  ",
                    "The arm sent requests of its own, which are no load: " + own("pinned", own(result, Arm.PINNED))
                            + ", and " + own("baseline", own(result, Arm.BASELINE)) + ".");
        }
    }

    private static String own(String arm, OwnRequests sent) {
        double legs = Math.max(1, sent.legs());
        return String.format(
                Locale.ROOT,
                "%.0f with %s prefilled in a %s leg",
                sent.requests() / legs,
                sent.prefilledTokens().isPresent()
                        ? String.format(
                                Locale.ROOT,
                                "%,.0f tokens",
                                sent.prefilledTokens().getAsLong() / legs)
                        : "an unknown number of tokens",
                arm);
    }

    private static OwnRequests own(Result result, Arm arm) {
        return Optional.ofNullable(result.own().get(arm)).orElseThrow();
    }

    /** Both arms, the three figures that are easily confused, and the verdict with its reason. */
    public static void numbers(TerminalText text, Result result) {
        text.line("                  cached tokens        TTFT   (medians of the probes)");
        arm(text, "baseline", result.baseline());
        arm(text, "pinned", result.pinned());
        quantiles(text, result);
        engines(text, result);
        ownRequests(text, result);
        Floods.of(result.header(), result.legs()).ifPresent(floods -> text.paragraph("  ", waited(floods)));
        text.blank();
        Estimate estimate = result.estimate();
        Design design = result.header().plan().design();
        if (design != Design.BLOCKS) {
            text.line(String.format(
                    Locale.ROOT,
                    "  naive claim    %s   %s",
                    percent(estimate.naivePercent()),
                    design == Design.REVERSED
                            ? "pinned first, then baseline"
                            : "baseline first, then pinned: often published"));
        }
        text.line(
                design == Design.BLOCKS || design == Design.FRESH_LEGS
                        ? String.format(
                                Locale.ROOT,
                                "  order bias     %s   %s",
                                percent(percentOf(estimate.crossedOrderBias())),
                                design == Design.BLOCKS
                                        ? "the place in a block, by both kinds"
                                        : "second leg against first, by both orders")
                        : String.format(
                                Locale.ROOT,
                                "  order bias     %s   A/A: second leg against first, nothing changed",
                                percent(estimate.orderBiasPercent())));
        text.line(String.format(
                Locale.ROOT,
                "  effect         %s   %s",
                percent(
                        estimate.shown().isPresent()
                                ? OptionalDouble.of(
                                        100 * Math.expm1(estimate.shown().get().effect()))
                                : estimate.effectPercent()),
                estimate.shown().map(ResultReport::shown).orElse("no interval")));
        text.blank();
        text.line("  VERDICT: " + result.headline());
        result.lookedAt().ifPresent(look -> text.paragraph("  ", look));
        text.paragraph("  ", result.verdict().reason());
        criteria(text, result);
    }

    /** What judged: without it nobody knows what the verdict's word means. */
    private static void criteria(TerminalText text, Result result) {
        Criteria criteria = result.header().criteria();
        text.paragraph(
                "  ",
                String.format(
                        Locale.ROOT,
                        "Judged by %s; an effect counts from %.1f %% on, at a level of %.0f %%, with at least %d %s.",
                        result.metrics().stream()
                                .map(metric -> metric.statistic().text())
                                .collect(Collectors.joining(", and by ")),
                        100 * Math.expm1(criteria.delta()),
                        100 * criteria.alpha(),
                        criteria.minimumPerOrder(),
                        result.header().plan().design() == Design.BLOCKS
                                ? "blocks of each kind"
                                : "pairs of each order"));
        if (result.metrics().size() > 1) {
            result.metrics()
                    .forEach(metric -> text.paragraph(
                            "    ",
                            metric.statistic() + ": " + metric.verdict().headline()
                                    + metric.verdict()
                                            .estimate()
                                            .shown()
                                            .map(of -> String.format(
                                                    Locale.ROOT,
                                                    ", %+.1f %%, %s",
                                                    100 * Math.expm1(of.effect()),
                                                    shown(of)))
                                            .orElse("")));
        }
    }

    /** What each of several engines had of the load; of one alone it is what stands above. */
    private static void engines(TerminalText text, Result result) {
        List<EngineShare> baseline = Shares.of(measured(result, Arm.BASELINE));
        List<EngineShare> pinned = Shares.of(measured(result, Arm.PINNED));
        if (baseline.size() < 2) {
            return;
        }
        text.line("  prompt tokens by engine, and how much of them was cached:");
        for (EngineShare share : baseline) {
            text.line(String.format(
                    Locale.ROOT,
                    "    %-28s %-28s %s",
                    share.engine(),
                    "baseline " + share(share),
                    pinned.stream()
                            .filter(other -> other.engine().equals(share.engine()))
                            .map(other -> "pinned " + share(other))
                            .findFirst()
                            .orElse("")));
        }
    }

    static List<LegRecord> measured(Result result, Arm arm) {
        return result.legs().stream()
                .filter(leg -> leg.isMeasured() && leg.arm() == arm)
                .toList();
    }

    private static String share(EngineShare of) {
        return String.format(Locale.ROOT, "%,d", of.promptTokens())
                + (of.cachedTokens().isPresent() && of.promptTokens() > 0
                        ? String.format(
                                Locale.ROOT,
                                ", %.1f %%",
                                100.0 * of.cachedTokens().getAsLong() / of.promptTokens())
                        : "");
    }

    /** The quantiles of all probes of both arms; a bound that so few probes do not give is left out. */
    private static void quantiles(TerminalText text, Result result) {
        for (int i = 0;
                i < result.baseline().quantiles().size()
                        && i < result.pinned().quantiles().size();
                i++) {
            QuantileRange baseline = result.baseline().quantiles().get(i);
            text.line(String.format(
                    Locale.ROOT,
                    "  p%-4.0f %-32s %s",
                    100 * baseline.quantile(),
                    "baseline " + range(baseline),
                    "pinned " + range(result.pinned().quantiles().get(i))));
        }
    }

    private static String range(QuantileRange of) {
        return String.format(Locale.ROOT, "%.1f ms", of.value())
                + of.ci95()
                        .map(ci -> String.format(Locale.ROOT, " (%.1f to %.1f)", ci.low(), ci.high()))
                        .orElse("");
    }

    public static void arm(ObjectNode node, String name, ArmSummary arm) {
        node.put("arm", name);
        JsonText.number(node, "cachedTokens", arm.cachedTokens());
        JsonText.number(node, "ttftMillis", arm.ttftMillis());
    }

    private static void arm(TerminalText text, String name, ArmSummary arm) {
        text.line(String.format(
                Locale.ROOT,
                "  %-10s      %13s  %10s",
                name,
                shown("%.0f", arm.cachedTokens()),
                shown("%.1f ms", arm.ttftMillis())));
    }

    private static String shown(Estimate.Shown effect) {
        return interval(effect.ci95()) + (effect.normalOrder() ? ", by the normal order" : "");
    }

    private static String interval(Interval log) {
        return String.format(
                Locale.ROOT,
                "95 %% interval %+.1f to %+.1f %%",
                100 * Math.expm1(log.low()),
                100 * Math.expm1(log.high()));
    }

    private static OptionalDouble percentOf(OptionalDouble log) {
        return log.isPresent() ? OptionalDouble.of(100 * Math.expm1(log.getAsDouble())) : log;
    }

    private static String percent(OptionalDouble value) {
        return value.isPresent() ? String.format(Locale.ROOT, "%+7.1f %%", value.getAsDouble()) : "  unknown";
    }

    private static String shown(String format, OptionalDouble value) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : "unknown";
    }
}
