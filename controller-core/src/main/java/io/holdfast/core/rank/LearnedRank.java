package io.holdfast.core.rank;

import java.util.Arrays;

/**
 * The part of {@link RankedPrefixes} that outlives a process: how soon blocks of which kind are used again, how much
 * hints tell, how long blocks stay, and what both shadows found. The shadows themselves and the places of the cache do
 * not: the next process sees for itself what is there.
 *
 * @param capacity blocks that the engine's cache had room for
 * @param used by class and age: uses of blocks that had not been used for so long
 * @param unused by class and age: blocks that were not used again until they were forgotten, or until now
 * @param hintedUsed the same by hint and age
 * @param hintedUnused the same by hint and age
 * @param gaps times between two uses, by age
 * @param evictions how many blocks the model of the cache without pins evicted
 * @param residenceLog the mean logarithm of their ages in seconds and one
 * @param evidence what both shadows found of recent requests
 */
@SuppressWarnings("ArrayRecordComponent")
public record LearnedRank(
        int capacity,
        double[] used,
        double[] unused,
        double[] hintedUsed,
        double[] hintedUnused,
        long[] gaps,
        long evictions,
        double residenceLog,
        LearnedEvidence evidence) {
    public LearnedRank {
        int byClass = RankedPins.CLASSES * AgeBins.COUNT;
        int byHint = ReuseCurves.HINTS * AgeBins.COUNT;
        boolean whole = numbers(used, byClass)
                && numbers(unused, byClass)
                && numbers(hintedUsed, byHint)
                && numbers(hintedUnused, byHint)
                && gaps.length == AgeBins.COUNT
                && Arrays.stream(gaps).min().orElse(0) >= 0;
        if (!whole || capacity < 1 || evictions < 0 || !(residenceLog >= 0) || !Double.isFinite(residenceLog)) {
            throw new IllegalArgumentException("What is known of reuse has " + RankedPins.CLASSES + " classes, "
                    + ReuseCurves.HINTS + " hints and " + AgeBins.COUNT + " ages, none of them negative.");
        }
    }

    ReuseCounts counts() {
        return ReuseCounts.of(used, unused, hintedUsed, hintedUnused, gaps);
    }

    /**
     * Findings of both shadows on recent requests.
     *
     * @param forSeconds from the first request that counts in it to the last
     * @param idleSeconds since the last
     */
    public record LearnedEvidence(
            double without, double with, double references, double forSeconds, double idleSeconds) {
        public LearnedEvidence {
            if (!numbers(new double[] {without, with, references, forSeconds, idleSeconds}, 5)) {
                throw new IllegalArgumentException("What shadows found are numbers, none of them negative.");
            }
        }
    }

    private static boolean numbers(double[] values, int count) {
        return values.length == count && Arrays.stream(values).allMatch(value -> value >= 0 && Double.isFinite(value));
    }
}
