package io.holdfast.loadtest.report;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Permutation;
import io.holdfast.evidence.Shortfall;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.report.Document.Card;
import io.holdfast.loadtest.report.Document.Change;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/** A result in the words of somebody who has ten seconds. */
final class PlainVerdict {
    /** Words beside an interval that rests on the pairs in the normal order alone. */
    static final String NORMAL_ORDER = ", by the normal order";

    private static final double FEWEST = 1e-4;
    private static final String BIAS = "order bias";

    private PlainVerdict() {}

    /**
     * Words for a finding.
     *
     * @param answer to "did holding help?"
     * @param mood name of a style that shows how good or bad the news is; never the only sign
     * @param meaning what the finding's name says to a reader who meets it for the first time
     * @param word stands in place of a number where that would be taken for a small gain; may be empty
     */
    private record Words(String answer, String mood, String meaning, String word) {}

    private static Words words(Verdict verdict) {
        return switch (verdict.finding()) {
            case REAL -> new Words("Yes, it helped.", "good", "a gain that shows in both orders and is no chance", "");
            case NO_EFFECT ->
                new Words(
                        "No. It changed nothing that matters.",
                        "nothing",
                        "any change is too small to matter",
                        "none that matters");
            case ORDER_ARTEFACT ->
                new Words(
                        "No. What looked like a gain is the order of the runs.",
                        "nothing",
                        "running second alone makes the difference that one order shows",
                        "none that matters");
            case NO_EXPOSURE ->
                new Words(
                        "There was nothing to win: the cache never lost the prefix.",
                        "nothing",
                        "the baseline kept its prefix without a hold, so a hold could not help",
                        "nothing to win");
            case HARMFUL ->
                new Words("No. It did harm.", "bad", "a harm that shows in both orders and is no chance", "");
            case INCONCLUSIVE ->
                new Words(
                        "This run cannot tell.",
                        "open",
                        switch (verdict.shortfall().orElse(Shortfall.PRECISION)) {
                            case DESIGN -> "too few pairs, one order alone, or a plan that was not run to its end";
                            case CARRYOVER -> "what a pinned leg leaves behind is as large as the effect";
                            case UNEXPLAINED -> "a gain that kept cache does not explain";
                            case UNMEASURED -> "a gain whose cause the server does not report";
                            case PRECISION -> "pairs scatter too far for so few of them";
                        },
                        "");
            case INVALID -> new Words("This run is void.", "bad", "a check failed, so nothing is judged", "not shown");
        };
    }

    /** Returns the answer to "did holding help?". */
    static String answer(Result result) {
        return words(result.verdict()).answer();
    }

    /** Explains the name of a verdict to a reader who meets it for the first time. */
    static String meaning(Verdict verdict) {
        return words(verdict).meaning();
    }

    /** Returns the name of a style that shows how good or bad the news is. */
    static String mood(Result result) {
        return words(result.verdict()).mood();
    }

    /** Returns the word that stands in place of a number where that would be taken for a small gain. */
    static Optional<String> word(Result result) {
        return Optional.of(words(result.verdict()).word()).filter(word -> !word.isEmpty());
    }

    /**
     * The effect that the report shows, with its interval; absent where the data gives none, or says nothing about it.
     */
    static Optional<String> effect(Result result) {
        return measured(result)
                .map(shown -> String.format(
                        Locale.ROOT,
                        "%s time to first token, 95 %% interval %s%s",
                        Shown.change(shown.effect()),
                        Shown.interval(shown.ci95()),
                        shown.normalOrder() ? ", by the pairs in the normal order alone" : ""));
    }

    private static Optional<Estimate.Shown> measured(Result result) {
        return result.estimate().shown().filter(shown -> result.verdict().finding() != Finding.INVALID);
    }

    /** The answer as a number; where nothing was found it is a word, so that noise is not read as a small gain. */
    static Card takeaway(Result result) {
        String name = "Effect of holding";
        String word = words(result.verdict()).word();
        String numbers = measured(result)
                .map(shown ->
                        "measured " + Shown.change(shown.effect()) + ", 95 % interval " + Shown.interval(shown.ci95()))
                .orElse("no interval can be given");
        return switch (result.verdict().finding()) {
            case REAL, HARMFUL ->
                measured(result)
                        .map(shown -> new Card(
                                name,
                                Shown.change(shown.effect()),
                                "in time to the first token; 95 % interval " + Shown.interval(shown.ci95())
                                        + (shown.normalOrder() ? NORMAL_ORDER : "") + medians(result)))
                        .orElseGet(() -> new Card(name, "unknown", numbers));
            case NO_EFFECT, ORDER_ARTEFACT ->
                new Card(name, word, numbers + "; from " + margins(result) + " counts as nothing");
            case NO_EXPOSURE -> new Card(name, word, numbers + ", while nothing was lost");
            case INCONCLUSIVE -> new Card(name, "unknown", numbers);
            case INVALID -> notShown(name);
        };
    }

    /** Replaces a figure of a run whose numbers nobody should quote. */
    private static Card notShown(String name) {
        return new Card(name, "not shown", "the figures of a void run mean nothing");
    }

    /** Returns how far an unfinished run came, so that nobody takes its figures for final ones. */
    static Optional<String> partial(Result result) {
        int planned = result.header().legs().size();
        int there = result.legs().size();
        if (result.verdict().finding() != Finding.INCONCLUSIVE || there >= planned) {
            return Optional.empty();
        }
        return Optional.of(String.format(
                        Locale.ROOT, "PARTIAL: %d of %d legs (%.1f %%)", there, planned, 100.0 * there / planned)
                + (there == 0
                        ? ""
                        : ", the last of them " + result.legs().getLast().label()));
    }

    private static String medians(Result result) {
        return result.baseline().ttftMillis().isPresent()
                        && result.pinned().ttftMillis().isPresent()
                ? "; medians " + Shown.number("%.1f ms", result.baseline().ttftMillis()) + " without, "
                        + Shown.number("%.1f ms", result.pinned().ttftMillis()) + " with it"
                : "";
    }

    /** Returns the numbers to take away: the answer first, then what is easily taken for it. */
    static List<Card> cards(Result result) {
        boolean isVoid = result.verdict().finding() == Finding.INVALID;
        List<Change> changes = comparisons(result);
        return Stream.concat(
                        Stream.of(takeaway(result)),
                        changes.subList(0, changes.size() - 1).stream()
                                .map(change -> isVoid
                                        ? notShown(change.name())
                                        : new Card(
                                                change.name(),
                                                Shown.change(change.log()),
                                                change.what()
                                                        + change.ci95()
                                                                .map(ci -> "; " + Shown.interval(ci))
                                                                .orElse(""))))
                .toList();
    }

    private static String margins(Result result) {
        double delta = result.header().criteria().delta();
        return Shown.interval(new Interval(-delta, delta));
    }

    /** Returns how sure the answer is, in a sentence or two. */
    static String sure(Result result) {
        Estimate estimate = result.estimate();
        CacheProof proof = result.cacheProof();
        return switch (result.verdict().finding()) {
            case REAL, HARMFUL ->
                "Sure. It shows in both orders. If holding did nothing, "
                        + oneIn(estimate.tPValue().orElse(1)) + " would look like this where pairs scatter in a bell"
                        + " curve (Student's t)"
                        + estimate.permutation()
                                .map(test -> ". With no such assumption " + PlainVerdict.of(test))
                                .orElse("")
                        + ".";
            case NO_EFFECT ->
                "Sure that no effect of a size that matters was missed"
                        + estimate.ci90()
                                .map(ci -> ": the 90 % interval, " + Shown.interval(ci) + ", lies inside "
                                        + margins(result) + " (two one-sided tests at 5 %, hence 90 %)")
                                .orElse("")
                        + ".";
            case ORDER_ARTEFACT ->
                "Sure. With nothing changed the second run differs by " + Shown.change(estimate.orderBias())
                        + " too; freed from order nothing that matters is left.";
            case NO_EXPOSURE ->
                "Sure for this load on this server: the baseline lost "
                        + proof.exposure().map(PlainVerdict::shares).orElse("too little")
                        + " of the prefix. It says nothing about a cache under pressure.";
            case INCONCLUSIVE ->
                "Not sure at all; neither a gain nor its absence was shown."
                        + (result.verdict().requiredPerOrder().isPresent()
                                ? " About "
                                        + result.verdict().requiredPerOrder().getAsInt()
                                        + " pairs of each order would tell."
                                : "");
            case INVALID -> "Nothing can be said: a check failed, so the data is not about holding.";
        };
    }

    /** Describes what so few pairs can say where nothing is assumed about how they scatter. */
    private static String of(Permutation test) {
        return String.format(
                Locale.ROOT,
                "%,d of the %,d ways to deal the orders to these pairs do (permutation)%s",
                test.extreme(),
                test.relabelings(),
                test.exact() && test.extreme() == 2 ? ", and with so few pairs it cannot be less" : "");
    }

    private static String shares(Interval share) {
        String low = String.format(Locale.ROOT, "%.0f", 100 * share.low());
        String high = String.format(Locale.ROOT, "%.0f", 100 * share.high());
        return (low.equals(high) ? low : low + " to " + high) + " %";
    }

    /** Returns a round number, never more than so few pairs can bear out, whatever a formula says. */
    private static String oneIn(double p) {
        if (p < FEWEST) {
            return "less than 1 such run in 10,000";
        }
        double runs = 1 / p;
        double digits = Math.pow(10, Math.floor(Math.log10(runs)));
        return String.format(Locale.ROOT, "about 1 such run in %,.0f", Math.floor(runs / digits) * digits);
    }

    /**
     * Returns quantities that are easily confused with each other, the effect last. Without pairs in both orders there is no
     * naive claim, and without A/A pairs the order bias is that of pairs in both orders.
     */
    static List<Change> comparisons(Result result) {
        Estimate estimate = result.estimate();
        Design design = result.header().plan().design();
        List<Change> changes = new ArrayList<>();
        if (design != Design.BLOCKS) {
            changes.add(change(
                    "naive claim",
                    design == Design.REVERSED
                            ? "pinned first, then baseline"
                            : "baseline first, then pinned: often published",
                    estimate.naive(),
                    estimate.naiveCi95()));
        }
        changes.add(
                switch (design) {
                    case BLOCKS ->
                        change(
                                BIAS,
                                "the place in a block, by both kinds",
                                estimate.crossedOrderBias(),
                                Optional.empty());
                    case FRESH_LEGS ->
                        change(
                                BIAS,
                                "second leg against first, by both orders",
                                estimate.crossedOrderBias(),
                                Optional.empty());
                    case CROSSOVER, NORMAL, REVERSED, CONTROLS ->
                        change(
                                BIAS,
                                "A/A: second leg against first, nothing changed",
                                estimate.orderBias(),
                                estimate.orderBiasCi95());
                });
        Optional<Estimate.Shown> shown = estimate.shown();
        changes.add(new Change(
                "effect",
                "both orders, so that their order cancels",
                word(result),
                shown.map(of -> OptionalDouble.of(of.effect())).orElseGet(estimate::effect),
                shown.map(Estimate.Shown::ci95).or(estimate::ci95),
                shown.filter(Estimate.Shown::normalOrder)
                        .map(of -> NORMAL_ORDER)
                        .orElse(""),
                true));
        return changes;
    }

    private static Change change(String name, String what, OptionalDouble log, Optional<Interval> ci95) {
        return new Change(name, what, Optional.empty(), log, ci95, "", false);
    }
}
