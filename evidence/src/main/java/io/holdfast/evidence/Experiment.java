package io.holdfast.evidence;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * All that one experiment hands in to be judged, for one metric at one load.
 *
 * @param claimsHold whether the arm that is judged claims to keep the prefix; what it does otherwise needs no proof of
 *     cached tokens, and has none
 * @param otherPrimaryPValues the t p values of the other primary metrics and loads of the same experiment
 * @param doseResponse the sweep over memory pressure, when one was run
 * @param conduct of the measurement
 */
public record Experiment(
        CrossoverData data,
        CacheProof cacheProof,
        boolean claimsHold,
        List<Double> otherPrimaryPValues,
        Optional<DoseResponse> doseResponse,
        Conduct conduct) {
    public Experiment {
        otherPrimaryPValues = List.copyOf(otherPrimaryPValues);
        for (double p : otherPrimaryPValues) {
            if (!(p >= 0 && p <= 1)) {
                throw new IllegalArgumentException("A p value lies between 0 and 1, not at " + p + ".");
            }
        }
    }

    /**
     * Conduct of a measurement, as far as it bears on what may be concluded from it.
     *
     * @param failedGates one sentence for each condition that the measurement itself broke
     * @param plannedPairs the pairs of all orders that were fixed beforehand, when a plan was
     * @param lostHolds how many pinned legs did not keep what they held
     */
    public record Conduct(List<String> failedGates, Set<Flag> flags, OptionalInt plannedPairs, LostHolds lostHolds) {
        static final Conduct FLAWLESS = new Conduct(List.of(), Set.of(), OptionalInt.empty(), LostHolds.NONE);

        public Conduct {
            failedGates = List.copyOf(failedGates);
            flags = Set.copyOf(flags);
        }
    }

    /**
     * Pinned legs whose prefix was gone before their end.
     *
     * @param why the first reason that a backend gave; absent where there is no reason
     */
    public record LostHolds(int lost, int pinnedLegs, Optional<String> why) {
        /** All were kept, as far as is known. */
        public static final LostHolds NONE = new LostHolds(0, 0);

        /** Losses that nobody explained. */
        public LostHolds(int lost, int pinnedLegs) {
            this(lost, pinnedLegs, Optional.empty());
        }
    }

    /** An experiment of one primary metric that passed all gates. */
    public static Experiment of(CrossoverData data, CacheProof cacheProof) {
        return new Experiment(data, cacheProof, true, List.of(), Optional.empty(), Conduct.FLAWLESS);
    }

    /** Returns this experiment with another metric of the same legs. */
    public Experiment withData(CrossoverData other) {
        return new Experiment(other, cacheProof, claimsHold, otherPrimaryPValues, doseResponse, conduct);
    }

    /** Returns this experiment for an arm that claims to hold nothing: a switch of any other kind, or no switch. */
    public Experiment withoutHold() {
        return new Experiment(data, cacheProof, false, otherPrimaryPValues, doseResponse, conduct);
    }

    public Experiment withOtherPrimaryPValues(List<Double> pValues) {
        return new Experiment(data, cacheProof, claimsHold, pValues, doseResponse, conduct);
    }

    public Experiment withDoseResponse(DoseResponse sweep) {
        return new Experiment(data, cacheProof, claimsHold, otherPrimaryPValues, Optional.of(sweep), conduct);
    }

    public Experiment withFailedGates(List<String> gates) {
        return with(new Conduct(gates, conduct.flags, conduct.plannedPairs, conduct.lostHolds));
    }

    public Experiment withFlags(Set<Flag> raised) {
        return with(new Conduct(conduct.failedGates, raised, conduct.plannedPairs, conduct.lostHolds));
    }

    /** Says how many pairs were to be measured, so that fewer are seen to be fewer. */
    public Experiment withPlannedPairs(int pairs) {
        return with(new Conduct(conduct.failedGates, conduct.flags, OptionalInt.of(pairs), conduct.lostHolds));
    }

    public Experiment withLostHolds(LostHolds holds) {
        return with(new Conduct(conduct.failedGates, conduct.flags, conduct.plannedPairs, holds));
    }

    private Experiment with(Conduct other) {
        return new Experiment(data, cacheProof, claimsHold, otherPrimaryPValues, doseResponse, other);
    }
}
