package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.RequiredPairs;
import io.holdfast.evidence.Spread;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.VoidedPair;
import java.util.List;
import java.util.Optional;

/**
 * Result of the A/A pairs about the measurement itself. All quantities are log ratios.
 *
 * @param estimate of the pairs that stand; it has an order bias and no effect
 * @param spread of those pairs
 * @param probes of the legs of those pairs
 * @param broken one sentence for each reason why a pair does not stand
 * @param legs all of them that stand, with those that do not count
 * @param voided the pairs that were broken off, whose legs are not among them
 */
public record ControlResult(
        RunHeader header,
        Estimate estimate,
        Optional<Spread> spread,
        ArmSummary probes,
        List<String> broken,
        List<LegRecord> legs,
        List<VoidedPair> voided,
        List<String> warnings) {
    /** The pairs of each order of the experiment that {@link #detectable} speaks of. */
    public static final int PAIRS_OF_EACH_ORDER = 5;

    public ControlResult {
        broken = List.copyOf(broken);
        legs = List.copyOf(legs);
        voided = List.copyOf(voided);
        warnings = List.copyOf(warnings);
    }

    public int planned() {
        return header.plan().lives().size();
    }

    /** The pairs that count. */
    public int standing() {
        return estimate.data().pairs();
    }

    /** Returns true if there are enough pairs for the figures to be of use. */
    public boolean isEnough() {
        return standing() >= header.criteria().minimumPerOrder();
    }

    /**
     * The smallest effect that {@value #PAIRS_OF_EACH_ORDER} pairs of each order find in four of five experiments, were
     * the spread of their pairs this one; its ends are for the ends of the spread's interval.
     */
    public Optional<Detectable> detectable() {
        return spread.map(of -> new Detectable(
                smallest(of.sd()),
                new Interval(smallest(of.ci95().low()), smallest(of.ci95().high()))));
    }

    private static double smallest(double sd) {
        return RequiredPairs.detectable(sd, PAIRS_OF_EACH_ORDER);
    }

    /** An effect as a log ratio without a sign. */
    public record Detectable(double effect, Interval ci95) {}
}
