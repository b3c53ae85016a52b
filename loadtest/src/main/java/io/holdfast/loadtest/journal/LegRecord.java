package io.holdfast.loadtest.journal;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * All that is known about one leg.
 *
 * @param life the server life, from 1; 0 is the rehearsal
 * @param position 0 is the burn-in leg, 1 the first and 2 the second of the pair
 * @param bodies SHA-256 over the bodies of all requests, in the order of the list
 * @param holdNanos how much of its slot the hold or the sham took
 * @param problem why the leg ended early, if it did
 */
public record LegRecord(
        int life,
        PairOrder order,
        int position,
        Arm arm,
        String workloadId,
        String bodies,
        FlushReceipt flush,
        HoldReceipt hold,
        long holdNanos,
        ReleaseReceipt release,
        List<Step> steps,
        List<RequestRecord> requests,
        Optional<String> problem) {
    public LegRecord {
        steps = List.copyOf(steps);
        requests = List.copyOf(requests);
    }

    /** Whether it is one of the two legs of a pair that counts. */
    public boolean isMeasured() {
        return life > 0 && position > 0;
    }

    public List<RequestRecord> probes() {
        return requests.stream().filter(request -> request.role() == Role.PROBE).toList();
    }

    /** Median time to first token of the probes. */
    public OptionalDouble probeMillis() {
        return Statistic.PROBE_P50.of(requests);
    }

    /** Where it is in the experiment, as in {@code life 3 BP, leg 2 (pinned)}. */
    public String label() {
        return (life == 0 ? "rehearsal" : "life " + life + " " + order) + ", "
                + (position == 0 ? "burn-in leg" : "leg " + position) + " ("
                + (arm == Arm.PINNED ? "pinned" : "baseline") + ")";
    }
}
