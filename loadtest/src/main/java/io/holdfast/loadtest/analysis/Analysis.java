package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Flag;
import io.holdfast.evidence.Judge;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Turns the legs of a run into its result. A pure function of what the journal holds. */
public final class Analysis {
    private static final double DRIFT_LEVEL = 0.05;

    private final RunHeader header;
    private final List<LegRecord> legs;
    private final List<LegRecord> measured;
    private final List<Pair> pairs = new ArrayList<>();

    private Analysis(RunHeader header, List<LegRecord> legs) {
        this.header = header;
        this.legs = legs;
        this.measured = legs.stream().filter(LegRecord::isMeasured).toList();
        Map<Integer, LegRecord> firsts = new TreeMap<>();
        for (LegRecord leg : measured) {
            if (leg.position() == 1) {
                firsts.put(leg.life(), leg);
            } else if (firsts.containsKey(leg.life())) {
                pairs.add(new Pair(firsts.get(leg.life()), leg));
            }
        }
    }

    /** Judges a run from its journal alone. */
    public static Result of(Path journal) {
        return of(Journal.read(journal));
    }

    public static Result of(Journal.Contents run) {
        return new Analysis(run.header(), run.legs()).result(run.warnings());
    }

    private Result result(List<String> journalWarnings) {
        CacheProof proof = cacheProof();
        List<String> warnings = new ArrayList<>(journalWarnings);
        warnings.addAll(warnings());
        return new Result(
                header,
                Judge.judge(
                        Experiment.of(data(), proof)
                                .withFailedGates(failedGates())
                                .withFlags(flags())
                                .withPlannedPairs(header.plan().lives().size()),
                        header.criteria()),
                proof,
                ArmSummary.of(inArm(Arm.BASELINE)),
                ArmSummary.of(inArm(Arm.PINNED)),
                legs,
                warnings);
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

    private Set<Flag> flags() {
        double[] baseline = inArm(Arm.BASELINE).stream()
                .flatMapToDouble(leg -> header.statistic().of(leg.requests()).stream())
                .filter(value -> value > 0)
                .map(Math::log)
                .toArray();
        double[] turn = IntStream.range(0, baseline.length).asDoubleStream().toArray();
        return LinearFit.of(turn, baseline)
                        .filter(line -> line.pTwoSided() < DRIFT_LEVEL)
                        .isPresent()
                ? Set.of(Flag.DRIFT)
                : Set.of();
    }

    private CrossoverData data() {
        return CrossoverData.of(logRatios(PairOrder.AA), logRatios(PairOrder.BP), logRatios(PairOrder.PB));
    }

    private double[] logRatios(PairOrder order) {
        return pairs.stream()
                .filter(pair -> pair.order() == order)
                .flatMapToDouble(pair -> pair.logRatio(header.statistic()).stream())
                .toArray();
    }

    private CacheProof cacheProof() {
        int prefix = header.workload().prefixTokens();
        List<OptionalDouble> losses = new ArrayList<>();
        List<OptionalDouble> gains = new ArrayList<>();
        for (Pair pair : pairs) {
            OptionalDouble first = hitShare(pair.first(), prefix);
            OptionalDouble second = hitShare(pair.second(), prefix);
            boolean known = first.isPresent() && second.isPresent();
            switch (pair.order()) {
                case AA ->
                    losses.add(
                            known
                                    ? OptionalDouble.of(1 - (first.getAsDouble() + second.getAsDouble()) / 2)
                                    : OptionalDouble.empty());
                case BP -> {
                    losses.add(lost(first));
                    gains.add(difference(second, first));
                }
                case PB -> {
                    losses.add(lost(second));
                    gains.add(difference(first, second));
                }
            }
        }
        return CacheProof.fromLives(
                losses, gains, CacheProof.threshold(header.engine().pageTokensOrUsual(), prefix));
    }

    /**
     * The share of the prefix that a leg's probes found cached. Unknown as soon as one OK probe does not tell: a
     * missing count is not a miss.
     */
    static OptionalDouble hitShare(LegRecord leg, int prefixTokens) {
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

    private List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        if (!header.freshLives()) {
            warnings.add(
                    "The engine was not restarted: pairs are separated by a flush only, so they are less independent"
                            + " than the intervals assume.");
        }
        if (header.engine().pageTokens().isEmpty()) {
            warnings.add("The engine does not tell its page size; " + EngineFacts.USUAL_PAGE + " tokens were assumed.");
        }
        header.engine().capacityTokens().stream()
                .filter(capacity -> header.workload().pressureTokens() <= capacity)
                .forEach(capacity ->
                        warnings.add("A flood of " + header.workload().pressureTokens()
                                + " tokens does not exceed the cache of " + capacity
                                + ", so the baseline can hardly lose its prefix; make the flood larger."));
        measured.stream()
                .filter(leg -> leg.release().kind() == ReleaseReceipt.Kind.BROKEN)
                .findFirst()
                .ifPresent(leg -> warnings.add("Pins did not keep the prefix, first in " + leg.label() + ": "
                        + leg.release().reason() + "; the verdict is on pins as this engine keeps them."));
        warnings.addAll(new Gates(header).unknownAmong(measured));
        int planned = header.plan().lives().size();
        if (pairs.size() < planned) {
            warnings.add("The run has " + pairs.size() + " of " + planned + " planned pairs.");
        }
        return warnings;
    }

    /** The two measured legs of one server life. */
    private record Pair(LegRecord first, LegRecord second) {
        PairOrder order() {
            return first.order();
        }

        OptionalDouble logRatio(Statistic statistic) {
            OptionalDouble before = statistic.of(first.requests());
            OptionalDouble after = statistic.of(second.requests());
            return before.isPresent() && after.isPresent() && before.getAsDouble() > 0 && after.getAsDouble() > 0
                    ? OptionalDouble.of(Math.log(after.getAsDouble() / before.getAsDouble()))
                    : OptionalDouble.empty();
        }
    }
}
