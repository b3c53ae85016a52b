package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.List;

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
}
