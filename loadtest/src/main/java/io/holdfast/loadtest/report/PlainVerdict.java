package io.holdfast.loadtest.report;

import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.analysis.Result;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/** A result in the words of somebody who has ten seconds. */
final class PlainVerdict {
    private PlainVerdict() {}

    /** The answer to "did holding help?". */
    static String answer(Result result) {
        return switch (result.verdict().finding()) {
            case REAL -> "Yes, it helped.";
            case NO_EFFECT -> "No. It changed nothing that matters.";
            case ORDER_ARTEFACT -> "No. What looked like a gain is the order of the runs.";
            case NO_EXPOSURE -> "There was nothing to win: the cache never lost the prefix.";
            case HARMFUL -> "No. It did harm.";
            case INCONCLUSIVE -> "This run cannot tell.";
            case INVALID -> "This run is void.";
        };
    }

    /** How good or bad news it is, as a name for a style; never the only sign. */
    static String mood(Result result) {
        return switch (result.verdict().finding()) {
            case REAL -> "good";
            case NO_EFFECT, ORDER_ARTEFACT, NO_EXPOSURE -> "nothing";
            case HARMFUL, INVALID -> "bad";
            case INCONCLUSIVE -> "open";
        };
    }

    /** The effect that the report shows, with its interval; absent where the data gives none, or says nothing about it. */
    static Optional<String> effect(Result result) {
        return result.estimate()
                .shown()
                .filter(shown -> result.verdict().finding() != Finding.INVALID)
                .map(shown -> String.format(
                        Locale.ROOT,
                        "%s time to first token, 95 %% interval %s%s",
                        change(100 * Math.expm1(shown.effect())),
                        interval(shown.ci95()),
                        shown.normalOrder() ? ", by the pairs in the normal order alone" : ""));
    }

    static String change(double percent) {
        return String.format(Locale.ROOT, "%+.1f %%", percent).replace('-', '\u2212');
    }

    /** Of logarithms, as percentages. */
    static String interval(Interval log) {
        return change(100 * Math.expm1(log.low())) + " to " + change(100 * Math.expm1(log.high()));
    }

    static String number(OptionalDouble value, String format) {
        return value.isPresent() ? known(value, format) : "unknown";
    }

    /** Nothing where it is unknown, for a field of a table that programs read. */
    static String known(OptionalDouble value, String format) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : "";
    }

    /** What is easily confused, each as a log ratio with its interval. */
    record Comparison(String name, String what, OptionalDouble log, Optional<Interval> ci95) {}

    static List<Comparison> comparisons(Result result) {
        Estimate estimate = result.estimate();
        return List.of(
                new Comparison(
                        "Naive claim",
                        "baseline first, then pinned: what is often published",
                        estimate.naive(),
                        estimate.naiveCi95()),
                new Comparison(
                        "Order bias",
                        "A/A: the second run against the first, with nothing changed",
                        estimate.orderBias(),
                        estimate.orderBiasCi95()),
                new Comparison(
                        "Effect of holding",
                        "both orders, so that their order cancels",
                        estimate.shown()
                                .map(shown -> OptionalDouble.of(shown.effect()))
                                .orElseGet(estimate::effect),
                        estimate.shown().map(Estimate.Shown::ci95).or(estimate::ci95)));
    }
}
