package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * Findings of a rehearsal before anything is measured.
 *
 * @param header as the run began
 * @param legs of the rehearsal
 */
record Rehearsal(RunHeader header, List<LegRecord> legs) {
    /** Refuses to begin the pairs where the rehearsal fails, since every pair would fail like it. */
    void refuseFailed() {
        Gates gates = new Gates(header.afterRehearsal(legs));
        legs.stream().flatMap(leg -> gates.integrity(leg).stream()).findFirst().ifPresent(why -> {
            throw new LoadTestException("The rehearsal failed, so nothing was measured: " + why);
        });
    }

    /**
     * Returns notes that are worth knowing while there is still time to stop.
     *
     * @param learns whether what a pinned leg holds was not known beforehand
     */
    List<String> notes(boolean learns) {
        List<String> notes = new ArrayList<>();
        if (learns) {
            legs.stream()
                    .filter(leg -> leg.arm() == Arm.PINNED && leg.position() > 0)
                    .map(leg -> leg.hold().reason())
                    .findFirst()
                    .ifPresent(reason -> notes.add(
                            "What the rehearsal's pinned leg held: " + reason + (reason.endsWith(".") ? "" : ".")));
        }
        long slot = header.afterRehearsal(legs).slotMillis();
        if (slot != header.slotMillis()) {
            notes.add("The hold step of every leg takes " + slot
                    + " ms in both arms, three times the slowest call of the rehearsal.");
        }
        if (header.claimsHold()) {
            legs.stream()
                    .filter(leg -> leg.arm() == Arm.BASELINE && leg.position() > 0)
                    .map(leg -> ArmSummary.cachedTokens(leg.probes()))
                    .filter(this::isKept)
                    .findFirst()
                    .ifPresent(
                            cached -> notes.add("The baseline kept its prefix in the rehearsal (%.0f of %d tokens), so"
                                            .formatted(
                                                    cached.orElse(0),
                                                    header.workload().prefixTokens())
                                    + " a hold has nothing to win here; press Ctrl-C and make the flood larger, or"
                                    + " expect NO_EXPOSURE."));
        }
        return notes;
    }

    private boolean isKept(OptionalDouble cached) {
        return cached.isPresent()
                && cached.getAsDouble()
                        >= header.workload().prefixTokens() - header.engine().pageTokensOrUsual();
    }
}
