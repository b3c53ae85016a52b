package io.holdfast.loadtest;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import java.util.Optional;

/**
 * What was decided before the first leg: enough to judge the legs again.
 *
 * @param format of the journal that it heads
 * @param startedAt date and time in UTC, for people
 * @param client the versions that the load was made with
 * @param freshLives whether pairs are separated by restarts, not by flushes only
 */
public record RunHeader(
        int format,
        String startedAt,
        String client,
        String workloadId,
        long workloadSeed,
        FloodShape shape,
        CrossoverPlan plan,
        long seed,
        int concurrency,
        boolean burnIn,
        boolean rehearsal,
        Statistic statistic,
        Criteria criteria,
        long slotMillis,
        long toleranceMillis,
        Dialect dialect,
        Optional<String> model,
        String unit,
        boolean freshLives,
        String holder,
        EngineFacts engine) {
    static final int FORMAT = 1;
}
