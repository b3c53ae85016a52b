package io.holdfast.loadtest.journal;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.loadtest.workload.WorkloadFacts;
import java.util.Map;

/**
 * What was decided before the first leg: enough to judge the legs again.
 *
 * @param format of the journal that it heads
 * @param startedAt date and time in UTC, for people
 * @param client how the engine was asked, and with which versions
 * @param freshLives whether pairs are separated by restarts, not by flushes only
 */
public record RunHeader(
        int format,
        String startedAt,
        Map<String, String> client,
        WorkloadFacts workload,
        CrossoverPlan plan,
        long seed,
        int concurrency,
        boolean burnIn,
        boolean rehearsal,
        Statistic statistic,
        Criteria criteria,
        long slotMillis,
        long toleranceMillis,
        String unit,
        boolean freshLives,
        String holder,
        EngineFacts engine) {
    public static final int FORMAT = 2;

    /** Among what tells about the client: the nonce of what each leg's texts begin with, where they do. */
    public static final String SALT = "salt";

    public RunHeader {
        client = Map.copyOf(client);
    }

    /** Whether texts were told apart by a salt in place of emptying the cache. */
    public boolean isSalted() {
        return client.containsKey(SALT);
    }
}
