package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Drift;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Experiment.LostHolds;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.VoidedPair;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The answer of a load test.
 *
 * @param look which of the looks at growing data this is, counted from 1
 * @param verdict the worst of those of all numbers that the run is judged by
 * @param metrics the result of each number
 * @param drift of the baseline, where there are lives enough to fit it
 * @param waves the first wave apart from the rest, where legs have both
 * @param lostHolds pinned legs that did not keep their prefix
 * @param own requests that the arm's switch sent on its own, by arm; they are no load
 * @param legs all of them that stand, with those that do not count
 * @param voided the pairs that were broken off, whose legs are not among them
 * @param warnings sentences about how the test was run; the verdict has its own
 */
public record Result(
        RunHeader header,
        int look,
        Verdict verdict,
        List<MetricResult> metrics,
        Optional<Drift> drift,
        Optional<Waves> waves,
        LostHolds lostHolds,
        CacheProof cacheProof,
        ArmSummary baseline,
        ArmSummary pinned,
        Map<Arm, OwnRequests> own,
        List<LegRecord> legs,
        List<VoidedPair> voided,
        List<String> warnings) {
    public Result {
        metrics = List.copyOf(metrics);
        own = Map.copyOf(own);
        legs = List.copyOf(legs);
        voided = List.copyOf(voided);
        warnings = List.copyOf(warnings);
    }

    /** Creates the result of a run that went through and is judged by one number. */
    public Result(
            RunHeader header,
            Verdict verdict,
            CacheProof cacheProof,
            ArmSummary baseline,
            ArmSummary pinned,
            Map<Arm, OwnRequests> own,
            List<LegRecord> legs,
            List<String> warnings) {
        this(
                header,
                header.plan().allLooks().size(),
                verdict,
                List.of(new MetricResult(header.statistic(), verdict)),
                Optional.empty(),
                Optional.empty(),
                LostHolds.NONE,
                cacheProof,
                baseline,
                pinned,
                own,
                legs,
                List.of(),
                warnings);
    }

    /** The verdict in a few words, with the number of server processes that it rests on, where it rests on any. */
    public String headline() {
        int processes = serverProcesses();
        if (verdict.finding() == Finding.INVALID || processes == 0) {
            return verdict.headline();
        }
        return verdict.headline() + ", in " + (processes == 1 ? "one server process" : processes + " server processes");
    }

    /**
     * Returns the number of server processes that the measured legs ran in: differences between them show in no other
     * way.
     */
    public int serverProcesses() {
        return (int) legs.stream()
                .filter(LegRecord::isMeasured)
                .map(leg -> header.test().freshLegs()
                        ? List.of(leg.life(), leg.position())
                        : List.of(header.freshLives() ? leg.life() : 1))
                .distinct()
                .count();
    }

    /** Returns a sentence about which look this is; absent for a run that is looked at once. */
    public Optional<String> lookedAt() {
        List<Integer> looks = header.plan().looks();
        return looks.isEmpty()
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "Look %d of the %d that were declared, after %d rounds; each has a level of %.2f %%.",
                        look,
                        looks.size(),
                        looks.get(look - 1),
                        100 * header.criteria().atOneOf(looks.size()).alpha()));
    }

    /** Returns the legs of an arm that count. */
    public List<LegRecord> measured(Arm arm) {
        return legs.stream().filter(leg -> leg.isMeasured() && leg.arm() == arm).toList();
    }

    /** Returns the requests that the switch of an arm sent on its own. */
    public OwnRequests own(Arm arm) {
        return Optional.ofNullable(own.get(arm)).orElseThrow();
    }

    /** The numbers behind the verdict, as far as there are any. */
    public Estimate estimate() {
        return verdict.estimate();
    }

    public String workloadId() {
        return header.workload().id();
    }

    public long seed() {
        return header.seed();
    }
}
