package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Experiment.LostHolds;
import io.holdfast.evidence.Judge;
import io.holdfast.evidence.Shortfall;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.workload.Role;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/** Turns the legs of a run into its result. A pure function of what the journal holds. */
public final class Analysis {
    private static final CrossoverData NOTHING = CrossoverData.of(new double[0], new double[0], new double[0]);

    private final Journal.Contents run;
    private final RunHeader header;
    private final UntoldZeros zeros;
    private final List<LegRecord> legs;
    private final Beside beside;
    private final int look;
    private final List<LegRecord> measured;
    private final LegPairs pairs;

    /** @param look at whose data is looked, counted from 1 */
    private Analysis(Journal.Contents run, Beside beside, int look) {
        this.run = run;
        this.beside = beside;
        this.header = run.header();
        this.look = look;
        this.zeros = UntoldZeros.of(header, run.legs());
        this.legs = zeros.legs();
        this.measured = legs.stream()
                .filter(leg -> leg.isMeasured() && leg.life() <= header.plan().livesAt(look))
                .toList();
        this.pairs = LegPairs.of(header.plan().design(), measured);
    }

    /** Judges a run from its journal alone. */
    public static Result of(Path journal) {
        return of(Journal.read(journal));
    }

    /**
     * Judges a run by the first of its declared looks that decides, or by the last that its data has come to. What lies
     * between two looks has no verdict of its own.
     */
    public static Result of(Journal.Contents run) {
        return of(run, Beside.NOTHING);
    }

    /** Analyses one of several runs that were planned together. */
    public static Result of(Journal.Contents run, Beside beside) {
        CrossoverPlan plan = run.header().plan();
        int looks = plan.allLooks().size();
        int look = 1;
        while (look < looks && run.wholePairs() >= plan.livesAt(look)) {
            Result result = new Analysis(run, beside, look).result();
            if (isDecided(result) || run.wholePairs() == plan.livesAt(look)) {
                return result;
            }
            look++;
        }
        return new Analysis(run, beside, look).result();
    }

    /**
     * Results of the other runs of a sweep.
     *
     * @param pValues of all their numbers, since so many questions were asked
     * @param sweep the effect over memory pressure, where it is known
     */
    public record Beside(List<Double> pValues, Optional<DoseResponse> sweep) {
        /** A run that belongs to no sweep. */
        public static final Beside NOTHING = new Beside(List.of(), Optional.empty());

        public Beside {
            pValues = List.copyOf(pValues);
        }
    }

    /** Returns true unless the run lacks more data of the same kind; a plan that may grow ends then. */
    public static boolean isDecided(Result result) {
        return result.verdict().shortfall().filter(Shortfall.PRECISION::equals).isEmpty();
    }

    /** Returns true if a run whose plan may grow has reached a look that decides it. */
    static boolean isDecidedAtALook(Journal.Contents run) {
        CrossoverPlan plan = run.header().plan();
        return !plan.looks().isEmpty()
                && run.wholePairs() >= plan.livesAt(1)
                && plan.lookAfter(run.wholePairs()).isPresent()
                && isDecided(of(run));
    }

    private Result result() {
        CacheProof proof = cacheProof();
        List<String> warnings = new ArrayList<>(run.warnings());
        warnings.addAll(RunStatus.interruptions(run));
        warnings.addAll(warnings(proof));
        LostHolds lost = lostHolds();
        Oddities oddities = new Oddities(header, measured, pairs);
        Experiment experiment = Experiment.of(NOTHING, proof)
                .withFailedGates(failedGates())
                .withFlags(oddities.flags())
                .withLostHolds(lost)
                .withPlannedPairs(header.plan().livesAt(look));
        experiment = beside.sweep().map(experiment::withDoseResponse).orElse(experiment);
        List<MetricResult> metrics = judged(header.claimsHold() ? experiment : experiment.withoutHold());
        return new Result(
                header,
                look,
                Verdict.worst(metrics.stream().map(MetricResult::verdict).toList()),
                metrics,
                oddities.drift(),
                oddities.waves(),
                lost,
                proof,
                ArmSummary.of(inArm(Arm.BASELINE)),
                ArmSummary.of(inArm(Arm.PINNED)),
                Map.of(
                        Arm.BASELINE, OwnRequests.of(inArm(Arm.BASELINE)),
                        Arm.PINNED, OwnRequests.of(inArm(Arm.PINNED))),
                legs,
                run.voided(),
                warnings);
    }

    /** Judges each number separately, its p value corrected for all numbers of the same legs. */
    private List<MetricResult> judged(Experiment experiment) {
        List<Statistic> numbers = header.judgedBy();
        List<CrossoverData> data =
                numbers.stream().map(number -> pairs.data(number::of)).toList();
        List<Double> pValues =
                data.stream().map(of -> Estimate.of(of).tPValue().orElse(1)).toList();
        List<MetricResult> judged = new ArrayList<>();
        for (int i = 0; i < numbers.size(); i++) {
            List<Double> others = new ArrayList<>(pValues);
            others.remove(i);
            others.addAll(beside.pValues());
            judged.add(new MetricResult(
                    numbers.get(i),
                    Judge.judge(
                            experiment.withData(data.get(i)).withOtherPrimaryPValues(others),
                            header.criteria().atOneOf(header.plan().allLooks().size()))));
        }
        return judged;
    }

    private List<LegRecord> inArm(Arm arm) {
        return measured.stream().filter(leg -> leg.arm() == arm).toList();
    }

    private List<String> failedGates() {
        Gates gates = new Gates(header);
        List<String> failed = new ArrayList<>();
        measured.forEach(leg -> failed.addAll(gates.failedBy(leg)));
        failed.addAll(gates.failedAmong(measured));
        return failed;
    }

    private CacheProof cacheProof() {
        int prefix = header.workload().prefixTokens();
        List<OptionalDouble> losses = new ArrayList<>();
        List<OptionalDouble> gains = new ArrayList<>();
        for (LegPairs.Pair pair : pairs.all()) {
            OptionalDouble baseline = pair.mean(Arm.BASELINE, leg -> hitShare(leg, prefix));
            losses.add(lost(baseline));
            if (!pair.in(Arm.PINNED).isEmpty()) {
                gains.add(difference(pair.mean(Arm.PINNED, leg -> hitShare(leg, prefix)), baseline));
            }
        }
        return CacheProof.fromLives(losses, gains, roundingToPages());
    }

    /**
     * The share of the prefix that a leg's probes found cached. Unknown as soon as one OK probe does not tell: a
     * missing count is not a miss.
     */
    public static OptionalDouble hitShare(LegRecord leg, int prefixTokens) {
        double hits = 0;
        int count = 0;
        for (RequestRecord probe : leg.probes()) {
            if (probe.isOk()) {
                if (probe.cachedTokens().isEmpty()) {
                    return OptionalDouble.empty();
                }
                hits += Math.min(probe.cachedTokens().getAsInt(), prefixTokens);
                count++;
            }
        }
        return count == 0 ? OptionalDouble.empty() : OptionalDouble.of(hits / ((double) count * prefixTokens));
    }

    private static OptionalDouble lost(OptionalDouble hitShare) {
        return hitShare.isPresent() ? OptionalDouble.of(1 - hitShare.getAsDouble()) : hitShare;
    }

    private static OptionalDouble difference(OptionalDouble pinned, OptionalDouble baseline) {
        return pinned.isPresent() && baseline.isPresent()
                ? OptionalDouble.of(pinned.getAsDouble() - baseline.getAsDouble())
                : OptionalDouble.empty();
    }

    private List<String> warnings(CacheProof proof) {
        List<String> warnings = new ArrayList<>();
        if (!header.freshLives()) {
            warnings.add("The engine was not restarted: pairs are separated by a "
                    + (header.isSalted() ? "salt" : "flush")
                    + " only, so they are less independent than the intervals assume.");
        }
        if (header.isSalted()) {
            warnings.add("The cache was not emptied between legs: the texts of each leg begin with a salt of their own,"
                    + " so that none finds what was there before it.");
        }
        if (header.engine().pageTokens().isEmpty()) {
            warnings.add(
                    "The engine does not report its page size; " + EngineFacts.USUAL_PAGE + " tokens were assumed.");
        }
        zeros.note().ifPresent(warnings::add);
        // Counted before anything was sent, and by words where texts are sent: what a baseline lost is better known.
        header.engine().capacityTokens().stream()
                .filter(capacity -> header.claimsHold() && proof.exposed() != CacheProof.Answer.YES)
                .filter(capacity -> header.workload().pressureTokens() <= capacity)
                .forEach(capacity ->
                        warnings.add("A flood of " + header.workload().pressureTokens()
                                + " tokens does not exceed the cache of " + capacity
                                + ", so the baseline can hardly lose its prefix; make the flood larger."));
        touchesThatCameTooLate().ifPresent(warnings::add);
        holdThatWasLost().ifPresent(warnings::add);
        Outputs.difference(header, measured).ifPresent(warnings::add);
        Gates.shortages(measured).ifPresent(warnings::add);
        new Gates(header).unanswered(measured).ifPresent(warnings::add);
        warnings.addAll(new Gates(header).unknownAmong(measured));
        warnings.addAll(Shares.contradictions(header, measured));
        int planned = header.plan().livesAt(look);
        if (pairs.all().size() < planned) {
            warnings.add("The run has " + pairs.all().size() + " of " + planned + " planned pairs.");
        }
        return warnings;
    }

    private LostHolds lostHolds() {
        List<LegRecord> pinned = inArm(Arm.PINNED);
        List<LegRecord> lost = pinned.stream().filter(this::hasLostItsHold).toList();
        return header.claimsHold()
                ? new LostHolds(
                        lost.size(),
                        pinned.size(),
                        lost.stream()
                                .flatMap(leg -> leg.release().whyNothing().stream())
                                .findFirst())
                : LostHolds.NONE;
    }

    /** Returns true if the holder says so, or if a probe had to compute a part of the prefix again. */
    private boolean hasLostItsHold(LegRecord leg) {
        return leg.release().kind() == ReleaseReceipt.Kind.BROKEN
                || hitShare(leg, header.workload().prefixTokens()).stream()
                        .anyMatch(share -> share < 1 - roundingToPages());
    }

    private Optional<String> holdThatWasLost() {
        return inArm(Arm.PINNED).stream()
                .filter(leg -> header.claimsHold() && hasLostItsHold(leg))
                .findFirst()
                .map(leg -> lostHolds().lost() + " of " + lostHolds().pinnedLegs()
                        + " pinned legs did not keep their prefix, first " + leg.label() + " ("
                        + (leg.release().kind() == ReleaseReceipt.Kind.BROKEN
                                ? leg.release().reason()
                                : String.format(
                                        Locale.ROOT,
                                        "its probes found %.0f %% of it%s",
                                        100
                                                * hitShare(
                                                                leg,
                                                                header.workload()
                                                                        .prefixTokens())
                                                        .orElse(0),
                                        leg.release()
                                                .whyNothing()
                                                .map(why -> "; " + why)
                                                .orElse("")))
                        + "); the verdict is on holds as this engine keeps them.");
    }

    private double roundingToPages() {
        return CacheProof.threshold(
                header.engine().pageTokensOrUsual(), header.workload().prefixTokens());
    }

    /** A touch that computes the prefix again has not kept it; it has brought it back, at the price of a miss. */
    private Optional<String> touchesThatCameTooLate() {
        int page = header.engine().pageTokensOrUsual();
        List<RequestRecord> during = inArm(Arm.PINNED).stream()
                .flatMap(leg -> leg.own().stream().skip(1))
                .filter(touch -> touch.role() == Role.TOUCH
                        && touch.isOk()
                        && touch.cachedTokens().isPresent())
                .toList();
        long late = during.stream()
                .filter(touch ->
                        touch.cachedTokens().getAsInt() < header.workload().prefixTokens() - page)
                .count();
        return late == 0
                ? Optional.empty()
                : Optional.of(late + " of " + during.size()
                        + " touches in pinned legs found that the prefix was gone, wholly or in part, and computed it"
                        + " again; touch more often, or have fewer requests of a flood under way at a time.");
    }
}
