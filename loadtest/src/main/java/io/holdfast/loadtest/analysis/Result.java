package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The answer of a load test.
 *
 * @param legs all of them, with those that do not count
 * @param warnings sentences about how the test was run; the verdict has its own
 */
public record Result(
        RunHeader header,
        Verdict verdict,
        CacheProof cacheProof,
        ArmSummary baseline,
        ArmSummary pinned,
        List<LegRecord> legs,
        List<String> warnings) {
    public Result {
        legs = List.copyOf(legs);
        warnings = List.copyOf(warnings);
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

    /** What a benchmark that always runs the baseline first would claim, in percent. */
    public OptionalDouble naiveEffectPercent() {
        return estimate().naivePercent();
    }

    /** What being second does by itself, in percent. */
    public OptionalDouble orderBiasPercent() {
        return estimate().orderBiasPercent();
    }
}
