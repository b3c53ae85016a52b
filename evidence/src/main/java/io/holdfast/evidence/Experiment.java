package io.holdfast.evidence;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * All that one experiment hands in to be judged, for one metric at one load.
 *
 * @param failedGates one sentence for each condition that the measurement itself broke
 * @param otherPrimaryPValues the t p values of the other primary metrics and loads of the same experiment
 * @param doseResponse the sweep over memory pressure, when one was run
 * @param plannedPairs the pairs of all orders that were fixed beforehand, when a plan was
 */
public record Experiment(
        CrossoverData data,
        CacheProof cacheProof,
        List<String> failedGates,
        Set<Flag> flags,
        List<Double> otherPrimaryPValues,
        Optional<DoseResponse> doseResponse,
        OptionalInt plannedPairs) {
    public Experiment {
        failedGates = List.copyOf(failedGates);
        flags = Set.copyOf(flags);
        otherPrimaryPValues = List.copyOf(otherPrimaryPValues);
        for (double p : otherPrimaryPValues) {
            if (!(p >= 0 && p <= 1)) {
                throw new IllegalArgumentException("A p value lies between 0 and 1, not at " + p + ".");
            }
        }
    }

    /** An experiment of one primary metric that passed all gates. */
    public static Experiment of(CrossoverData data, CacheProof cacheProof) {
        return new Experiment(data, cacheProof, List.of(), Set.of(), List.of(), Optional.empty(), OptionalInt.empty());
    }

    public Experiment withFailedGates(List<String> gates) {
        return new Experiment(data, cacheProof, gates, flags, otherPrimaryPValues, doseResponse, plannedPairs);
    }

    public Experiment withFlags(Set<Flag> raised) {
        return new Experiment(data, cacheProof, failedGates, raised, otherPrimaryPValues, doseResponse, plannedPairs);
    }

    public Experiment withOtherPrimaryPValues(List<Double> pValues) {
        return new Experiment(data, cacheProof, failedGates, flags, pValues, doseResponse, plannedPairs);
    }

    public Experiment withDoseResponse(DoseResponse sweep) {
        return new Experiment(
                data, cacheProof, failedGates, flags, otherPrimaryPValues, Optional.of(sweep), plannedPairs);
    }

    /** Says how many pairs were to be measured, so that fewer are seen to be fewer. */
    public Experiment withPlannedPairs(int pairs) {
        return new Experiment(
                data, cacheProof, failedGates, flags, otherPrimaryPValues, doseResponse, OptionalInt.of(pairs));
    }
}
