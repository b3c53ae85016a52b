package io.holdfast.evidence;

import io.holdfast.evidence.CacheProof.Answer;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/*
 * The rules
 * =========
 *
 * Applied from the top; the first that fits gives the finding.
 *
 *  1. A failed gate: INVALID.
 *  2. Fewer pairs than were planned, too few of an order, or none: INCONCLUSIVE(design).
 *  3. Carry-over that is significant and at least as large as an effect that matters: INCONCLUSIVE(carryover).
 *  4. REAL, if the latency says so by every measure and the server confirms exposure and mechanism.
 *  5. As 4, but the server shows no mechanism, or the other levels of a sweep speak against it (DoseResponse):
 *     INCONCLUSIVE(unexplained).
 *  6. The baseline kept its prefix: NO_EXPOSURE.
 *  7. The effect is shown to lie inside the margins: ORDER_ARTEFACT with an order bias, else NO_EFFECT.
 *  8. The effect is shown to be harm in both orders, and large enough to matter: HARMFUL.
 *  9. INCONCLUSIVE(precision), with the number of pairs that would do.
 *
 * Unknown is not no. A server that reports no cached tokens can neither confirm a gain (what would be REAL becomes
 * INCONCLUSIVE(unmeasured)) nor rule the exposure out (NO_EXPOSURE needs a reading). Rules 7 and 8 stand without a
 * reading, since they claim no cause; a warning says what was not known.
 *
 * What claims no hold needs none shown. An arm that switches something else than a hold is judged by the latency alone:
 * rules 5 and 6 do not apply to it, and rule 4 asks for neither exposure nor mechanism, but for everything else.
 *
 * A plan is kept. Whoever may stop when the numbers please finds an effect where there is none, so data that ends
 * before its plan does gives its estimates and no finding.
 *
 * A/A only takes away. AA pairs enter rule 4 through conditions that are added to those of the two orders. Whatever
 * the AA pairs measure, no experiment becomes REAL that the two orders alone would not allow.
 *
 * Harm mirrors gain. By the interval of the effect alone, two or three of a hundred noisy experiments in which nothing
 * happens would be called HARMFUL; with both orders required on their own, as rule 4 does, it is fewer than one in two
 * hundred. No cause and no p value are required: harm need not be explained to be avoided.
 *
 * Other designs, the same rules. Blocks and pairs of fresh legs have no A/A pairs and need none: both kinds of block,
 * or both orders, have to show the effect, each by itself. What they cannot show, that a leg leaves something behind,
 * they are not asked for.
 *
 * One level. The intervals that decide are as sure as the level of the t test asks, where that is lower than the usual
 * one: at one of several looks at growing data each may err only a part of what all may.
 *
 * Several measures, one rule. The interval bounds the effect, the t test is corrected for the number of primary
 * metrics (Holm), and the permutation test guards both where noise is not normal. The permutation p is not corrected:
 * with four pairs per order its smallest value, 2/70, could then never pass.
 */

/** Says what the data of an experiment allows us to say. */
public final class Judge {
    private static final double PERMUTATION_LEVEL = 0.05;

    /** Most times as many pairs as find an effect that are worth running to show that there is no effect. */
    private static final int MOST_FOR_MARGINS = 5;

    private final Experiment experiment;
    private final Criteria criteria;
    private final Estimate estimate;
    /** Confidence of the intervals that decide. */
    private final double confidence;

    private Judge(Experiment experiment, Criteria criteria) {
        this.experiment = experiment;
        this.criteria = criteria;
        this.estimate = Estimate.of(experiment.data());
        this.confidence = Math.max(0.95, 1 - criteria.alpha());
    }

    /** The verdict on one experiment; a pure function of its arguments. */
    public static Verdict judge(Experiment experiment, Criteria criteria) {
        return new Judge(experiment, criteria).verdict();
    }

    private Verdict verdict() {
        if (!experiment.conduct().failedGates().isEmpty()) {
            return give(
                    Finding.INVALID,
                    "A gate failed, so the data says nothing about holding: "
                            + String.join(" ", experiment.conduct().failedGates()));
        }
        int pairs = estimate.data().pairs();
        if (pairs < experiment.conduct().plannedPairs().orElse(0)) {
            return lacking(
                    Shortfall.DESIGN,
                    "The experiment has %s of %s planned pairs; the plan was fixed beforehand, so run it to its end."
                            .formatted(
                                    pairs, experiment.conduct().plannedPairs().getAsInt()),
                    OptionalInt.empty());
        }
        if (estimate.data().fewest() < criteria.minimumPerOrder()) {
            return tooFewPairs();
        }
        return verdictOn(Complete.of(estimate, confidence));
    }

    private Verdict verdictOn(Complete of) {
        double delta = criteria.delta();
        if (of.carryOver
                        .filter(CarryOver::isProven)
                        .filter(left -> Math.abs(left.value) >= Math.abs(of.effect))
                        .isPresent()
                && Math.abs(of.effect) >= delta) {
            CarryOver left = of.carryOver.get();
            return lacking(
                    Shortfall.CARRYOVER,
                    ("What a pinned leg leaves behind moves the next leg by %s (95 %% CI %s), at least as much as the"
                                    + " effect of %s; restart the server before every leg.")
                            .formatted(Words.percent(left.value), Words.percent(left.ci95), Words.percent(of.effect)),
                    OptionalInt.empty());
        }
        List<String> doubts = doubtsAboutGain(of);
        if (doubts.isEmpty() && !experiment.claimsHold()) {
            return shownByLatency(of);
        }
        Answer exposed = experiment.claimsHold() ? experiment.cacheProof().exposed() : Answer.YES;
        if (doubts.isEmpty()) {
            Optional<Verdict> explained = explain(of, exposed);
            if (explained.isPresent()) {
                return explained.get();
            }
        }
        if (exposed == Answer.NO) {
            CacheProof proof = experiment.cacheProof();
            Interval loss = proof.exposure().orElseThrow();
            return give(
                    Finding.NO_EXPOSURE,
                    "The baseline was not shown to lose its prefix: it lost %s, where more than %s is needed, so %s."
                            .formatted(
                                    Words.share(loss),
                                    Words.share(proof.threshold()),
                                    loss.high() > proof.threshold()
                                            ? "nothing shows that there was something for a hold to win"
                                            : "there was nothing for a hold to win"),
                    hasProvenOrderBias(of));
        }
        if (of.equivalence.within(delta)) {
            return withinMargins(of);
        }
        List<String> doubtsAboutHarm = doubtsAboutHarm(of);
        if (doubtsAboutHarm.isEmpty()) {
            return give(
                    Finding.HARMFUL,
                    subject()
                            + " changed the value by %s (%s %s), which is worse, outside %s and so in both %s."
                                    .formatted(
                                            Words.percent(of.effect),
                                            ci(),
                                            Words.percent(of.interval),
                                            Words.margins(delta),
                                            bothOrders(of)));
        }
        return tooImprecise(of, of.effect < 0 ? doubts : doubtsAboutHarm);
    }

    /** Reasons why the latency alone does not show a gain; empty when it does. */
    private List<String> doubtsAboutGain(Complete of) {
        List<String> doubts = new ArrayList<>();
        if (!of.interval.below(0)) {
            doubts.add("its " + ci() + " of " + Words.percent(of.interval) + " is not all below zero");
        }
        if (of.effect > -criteria.delta()) {
            doubts.add("it is no gain of at least " + Words.percent(-criteria.delta()));
        }
        if (!of.tauNormalCi.below(0)) {
            doubts.add(notShownByNormalOrder(of));
        }
        if (of.tauReversed >= 0) {
            doubts.add(shownByReversedOrder(of));
        }
        double holm = Holm.adjusted(of.tPValue, experiment.otherPrimaryPValues());
        if (holm > criteria.alpha()) {
            doubts.add("p by Student's t is " + Words.number(holm) + " after Holm's correction");
        }
        if (of.permutation.p() > PERMUTATION_LEVEL) {
            doubts.add("p by permutation is " + Words.number(of.permutation.p()));
        }
        return doubts;
    }

    /** Reasons why the latency does not show harm; empty when it does. */
    private List<String> doubtsAboutHarm(Complete of) {
        List<String> doubts = new ArrayList<>();
        if (!of.interval.above(0)) {
            doubts.add("its " + ci() + " of " + Words.percent(of.interval) + " is not all above zero");
        }
        if (of.effect < criteria.delta()) {
            doubts.add("it is no harm of at least " + Words.percent(criteria.delta()));
        }
        if (!of.tauNormalCi.above(0)) {
            doubts.add(notShownByNormalOrder(of));
        }
        if (of.tauReversed <= 0) {
            doubts.add(shownByReversedOrder(of));
        }
        return doubts;
    }

    private String notShownByNormalOrder(Complete of) {
        return normalOrder() + " (" + ci() + " " + Words.percent(of.tauNormalCi)
                + (isOfBlocks() ? ") do not show it alone" : ") does not show it alone");
    }

    private String shownByReversedOrder(Complete of) {
        return reversedOrder() + (isOfBlocks() ? " show " : " shows ") + Words.percent(of.tauReversed);
    }

    private String normalOrder() {
        return isOfBlocks() ? "blocks that begin with the baseline" : "the normal order" + againstControls();
    }

    private String reversedOrder() {
        return isOfBlocks() ? "blocks that begin with a pinned leg" : "the reversed order" + againstControls();
    }

    private String againstControls() {
        return design() == Design.CROSSOVER ? " against A/A" : "";
    }

    /** Writes {@code orders (normal -20 %, reversed -19 %)}, for example. */
    private String bothOrders(Complete of) {
        return (isOfBlocks()
                        ? "kinds of block (baseline first %s, pinned first %s)"
                        : "orders (normal %s, reversed %s)")
                .formatted(Words.percent(of.tauNormal), Words.percent(of.tauReversed));
    }

    private Design design() {
        return experiment.data().design();
    }

    private boolean isOfBlocks() {
        return design() == Design.BLOCKS;
    }

    /** Writes {@code 95 % CI}, for example. */
    private String ci() {
        return ci(confidence);
    }

    private static String ci(double confidence) {
        return new DecimalFormat("0.#", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(100 * confidence)
                + " % CI";
    }

    /** Writes {@code 5 %}, for example. */
    private static String level(double level) {
        return new DecimalFormat("0.##", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(100 * level) + " %";
    }

    /** The verdict on a gain in latency of an arm that claims no cause in the cache. */
    private Verdict shownByLatency(Complete of) {
        return give(
                Finding.REAL,
                ("The switch changed the value by %s (%s %s), in both %s and beyond chance (p %s by Student's t, %s/%s"
                                + " by permutation); it claims no hold, so no proof by cached tokens was required%s.")
                        .formatted(
                                Words.percent(of.effect),
                                ci(),
                                Words.percent(of.interval),
                                bothOrders(of),
                                Words.number(of.tPValue),
                                of.permutation.extreme(),
                                of.permutation.relabelings(),
                                of.naive),
                Math.abs(of.orderBias) >= criteria.delta());
    }

    /** The verdict on a gain in latency by its cause; absent when the baseline kept its prefix. */
    private Optional<Verdict> explain(Complete of, Answer exposed) {
        CacheProof proof = experiment.cacheProof();
        String gain = "Holding changed the value by %s (%s %s)"
                .formatted(Words.percent(of.effect), ci(), Words.percent(of.interval));
        if (proof.kept() == Answer.NO) {
            return Optional.of(lacking(
                    Shortfall.UNEXPLAINED,
                    "%s, but pinned legs were not shown to keep more of the prefix than the baseline: the difference is %s, where more than %s is needed."
                            .formatted(
                                    gain, Words.share(proof.mechanism().orElseThrow()), Words.share(proof.threshold())),
                    OptionalInt.empty()));
        }
        if (exposed == Answer.NO) {
            return Optional.empty();
        }
        if (exposed == Answer.UNKNOWN || proof.kept() == Answer.UNKNOWN) {
            return Optional.of(lacking(
                    Shortfall.UNMEASURED,
                    gain
                            + ", but the server reported no cached tokens for all legs, so nothing shows that the hold"
                            + " is the cause; start vLLM with --enable-prompt-tokens-details or SGLang with"
                            + " --enable-cache-report and run again.",
                    OptionalInt.empty()));
        }
        Optional<String> objection =
                experiment.doseResponse().flatMap(sweep -> sweep.objection(criteria.delta(), of.interval));
        if (objection.isPresent()) {
            return Optional.of(
                    lacking(Shortfall.UNEXPLAINED, gain + ", but " + objection.get() + ".", OptionalInt.empty()));
        }
        return Optional.of(give(
                Finding.REAL,
                "%s, in both %s and beyond chance (p %s by Student's t, %s/%s by permutation), while the baseline lost %s of the prefix and pinned legs kept %s more of it%s."
                        .formatted(
                                gain,
                                bothOrders(of),
                                Words.number(of.tPValue),
                                of.permutation.extreme(),
                                of.permutation.relabelings(),
                                Words.share(proof.exposure().orElseThrow()),
                                Words.share(proof.mechanism().orElseThrow()),
                                of.naive),
                Math.abs(of.orderBias) >= criteria.delta()));
    }

    private Verdict withinMargins(Complete of) {
        String effect = "the effect freed from order is %s (%s %s, inside %s by two one-sided tests at %s)"
                .formatted(
                        Words.percent(of.effect),
                        ci(2 * confidence - 1),
                        Words.percent(of.equivalence),
                        Words.margins(criteria.delta()),
                        level(1 - confidence));
        if (hasProvenOrderBias(of)) {
            return give(
                    Finding.ORDER_ARTEFACT,
                    "%s gives %s (95 %% CI %s) and %s."
                            .formatted(
                                    isOfBlocks()
                                            ? "The place in a block alone"
                                            : "The naive comparison says "
                                                    + Words.percent(
                                                            estimate.naive().orElseThrow())
                                                    + ", but being second alone",
                                    Words.percent(of.orderBias),
                                    Words.percent(of.orderBiasCi),
                                    effect));
        }
        return give(Finding.NO_EFFECT, subject() + " made no difference that matters: " + effect + ".");
    }

    private Verdict tooFewPairs() {
        CrossoverData data = estimate.data();
        int normal = data.count(PairOrder.BP);
        int reversed = data.count(PairOrder.PB);
        if (data.pairs() > 0 && (normal == data.pairs() || reversed == data.pairs())) {
            return lacking(
                    Shortfall.DESIGN,
                    ("All %s pairs ran the %s leg first, so their difference includes the effect of running"
                                    + " second, which nothing separates from holding: the naive claim of one"
                                    + " order is %s. Run both orders and A/A pairs.")
                            .formatted(
                                    data.pairs(),
                                    normal > 0 ? "baseline" : "pinned",
                                    estimate.naive().stream()
                                            .mapToObj(Words::percent)
                                            .findFirst()
                                            .orElse("unknown")),
                    OptionalInt.of(criteria.minimumPerOrder()));
        }
        return lacking(
                Shortfall.DESIGN,
                "The experiment has %s where at least %s of each are needed to tell holding from %s."
                        .formatted(
                                counts(data),
                                criteria.minimumPerOrder(),
                                isOfBlocks() ? "the place in a block" : "being second"),
                OptionalInt.of(criteria.minimumPerOrder()));
    }

    /** Writes {@code 3 AA, 4 BP and 4 PB pairs}, for example. */
    private static String counts(CrossoverData data) {
        List<String> counts = data.design().round().stream()
                .map(order -> data.count(order) + " " + order)
                .toList();
        return String.join(", ", counts.subList(0, counts.size() - 1)) + " and " + counts.getLast()
                + (data.design() == Design.BLOCKS ? " blocks" : " pairs");
    }

    private Verdict tooImprecise(Complete of, List<String> doubts) {
        Advice advice = advice(of);
        return lacking(
                Shortfall.PRECISION,
                "The effect of %s cannot be told from noise: %s; %s."
                        .formatted(Words.percent(of.effect), String.join(", ", doubts), advice.text()),
                advice.perOrder());
    }

    /**
     * The pairs of each order that would find an effect of delta with 80 % power, and that would also show an effect
     * as small as the measured one to lie inside the margins. More than there are, in any case.
     *
     * <p>It is advice only where pairs are what is lacking. Legs that lost their holds differ from those that kept them
     * by more than noise, however many there are. And the nearer the effect lies under its margin, the more pairs it
     * takes to set the two apart, without an end.
     */
    private Advice advice(Complete of) {
        int lost = experiment.conduct().lostHolds().lost();
        if (lost > 0) {
            return Advice.of("%d of %d pinned legs did not keep their prefix%s before running more pairs"
                    .formatted(
                            lost,
                            experiment.conduct().lostHolds().pinnedLegs(),
                            experiment
                                    .conduct()
                                    .lostHolds()
                                    .why()
                                    .map(why -> " (" + why + "), so mend that")
                                    .orElse(", so find out why")));
        }
        double room = criteria.delta() - Math.abs(of.effect);
        OptionalInt forPower = RequiredPairs.toDetect(of.pairSd, criteria.delta());
        if (forPower.isEmpty()) {
            return Advice.of("no practical number of pairs would tell");
        }
        int more = Math.max(
                forPower.getAsInt(),
                Math.max(criteria.minimumPerOrder(), estimate.data().fewest() + 1));
        if (room <= 0) {
            return Advice.pairs(more);
        }
        OptionalInt forMargins = RequiredPairs.toNarrow(of.pairSd, room);
        return forMargins.isPresent() && forMargins.getAsInt() <= MOST_FOR_MARGINS * more
                ? Advice.pairs(Math.max(more, forMargins.getAsInt()))
                : Advice.of(
                        ("it lies too close to the margin of %s for more pairs to decide, so either leave it at that or"
                                        + " run again with another margin")
                                .formatted(Words.margins(criteria.delta())));
    }

    /** @param text a clause */
    private record Advice(String text, OptionalInt perOrder) {
        private static final int MOST_WORTH_RUNNING = 100;

        static Advice pairs(int perOrder) {
            return new Advice(
                    perOrder <= MOST_WORTH_RUNNING
                            ? "run about " + perOrder + " pairs of each order"
                            : "it would take about " + perOrder
                                    + " pairs of each order, which is hardly worth it: use a"
                                    + " quieter machine or longer legs, or leave it at that",
                    OptionalInt.of(perOrder));
        }

        static Advice of(String text) {
            return new Advice(text, OptionalInt.empty());
        }
    }

    private String subject() {
        return experiment.claimsHold() ? "Holding" : "The switch";
    }

    private boolean hasProvenOrderBias(Complete of) {
        return of.orderBiasCi.excludesZero() && Math.abs(of.orderBias) >= criteria.delta();
    }

    private Verdict give(Finding finding, String reason) {
        return give(finding, reason, false);
    }

    private Verdict give(Finding finding, String reason, boolean withOrderBias) {
        return new Verdict(
                finding,
                Optional.empty(),
                reason,
                withOrderBias,
                experiment.conduct().flags(),
                warnings(finding),
                OptionalInt.empty(),
                estimate);
    }

    private Verdict lacking(Shortfall shortfall, String reason, OptionalInt required) {
        return new Verdict(
                Finding.INCONCLUSIVE,
                Optional.of(shortfall),
                reason,
                false,
                experiment.conduct().flags(),
                warnings(Finding.INCONCLUSIVE),
                required,
                estimate);
    }

    private List<String> warnings(Finding finding) {
        List<String> warnings = new ArrayList<>();
        experiment.conduct().flags().stream()
                .sorted(Comparator.naturalOrder())
                .map(Flag::warning)
                .forEach(warnings::add);
        if (finding == Finding.INVALID) {
            return warnings;
        }
        estimate.carryOverCi95()
                .filter(Interval::excludesZero)
                .ifPresent(ci -> warnings.add(
                        ("A pinned leg leaves something behind: the leg after it changes by %s (95 %% CI %s), so what"
                                        + " is shown as the effect is that of the normal order, which is free of it.")
                                .formatted(Words.percent(estimate.carryOver().orElseThrow()), Words.percent(ci))));
        estimate.orderBias().stream()
                .filter(bias -> Math.abs(bias) >= criteria.delta())
                .forEach(bias -> warnings.add("Being second alone changes the value by " + Words.percent(bias)
                        + ", so no single order can be trusted."));
        if (experiment.claimsHold()
                && estimate.data().pairs() > 0
                && experiment.cacheProof().exposed() == Answer.UNKNOWN) {
            warnings.add("The server reported no cached tokens, so whether the baseline lost its prefix is unknown.");
        }
        if (finding == Finding.REAL) {
            experiment
                    .doseResponse()
                    .flatMap(sweep -> sweep.caution(criteria.delta()))
                    .ifPresent(warnings::add);
        }
        if (finding == Finding.NO_EXPOSURE
                && estimate.ci95().orElseThrow().above(0)
                && estimate.effect().orElseThrow() >= criteria.delta()) {
            warnings.add("The pinned legs were worse by "
                    + Words.percent(estimate.effect().orElseThrow()) + " although nothing was lost.");
        }
        return warnings;
    }

    /** Effect that a leg leaves behind. */
    private record CarryOver(double value, Interval ci95) {
        boolean isProven() {
            return ci95.excludesZero();
        }
    }

    /**
     * The numbers of an estimate that has enough pairs of every order to hold all of them.
     *
     * @param interval of the effect, as sure as the level asks
     * @param equivalence the interval that shows, inside the margins, that there is no effect
     * @param naive a clause, empty where the design has no naive claim
     * @param orderBias by A/A, or in designs without, as the two orders show it
     */
    private record Complete(
            double effect,
            Interval interval,
            Interval equivalence,
            String naive,
            double orderBias,
            Interval orderBiasCi,
            Optional<CarryOver> carryOver,
            double tauNormal,
            Interval tauNormalCi,
            double tauReversed,
            double tPValue,
            Permutation permutation,
            double pairSd) {
        static Complete of(Estimate estimate, double confidence) {
            boolean controls = estimate.data().design() == Design.CROSSOVER;
            return new Complete(
                    estimate.effect().orElseThrow(),
                    estimate.effectInterval(confidence).orElseThrow(),
                    estimate.effectInterval(2 * confidence - 1).orElseThrow(),
                    estimate.naive().isPresent()
                            ? "; the naive comparison says "
                                    + Words.percent(estimate.naive().getAsDouble())
                            : "",
                    controls
                            ? estimate.orderBias().orElseThrow()
                            : estimate.crossedOrderBias().orElseThrow(),
                    controls
                            ? estimate.orderBiasCi95().orElseThrow()
                            : estimate.crossedOrderBiasCi95().orElseThrow(),
                    estimate.carryOverCi95()
                            .map(ci -> new CarryOver(estimate.carryOver().orElseThrow(), ci)),
                    estimate.tauNormal().orElseThrow(),
                    estimate.tauNormalInterval(confidence).orElseThrow(),
                    estimate.tauReversed().orElseThrow(),
                    estimate.tPValue().orElseThrow(),
                    estimate.permutation().orElseThrow(),
                    estimate.pairSd().orElseThrow());
        }
    }
}
