package io.holdfast.evidence;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Proof from the server's own count of cached tokens: did the baseline lose the prefix, and did pinning keep it.
 *
 * <p>An interval is absent when the server did not report cached tokens. That is unknown; it is not a loss of zero.
 *
 * @param exposure 95 % interval of the share of the prefix that the baseline lost
 * @param mechanism 95 % interval of the share of the prefix that pinned legs kept more than the baseline
 * @param threshold the share below which the server's rounding to blocks cannot be told from a loss
 */
public record CacheProof(Optional<Interval> exposure, Optional<Interval> mechanism, double threshold) {
    /** Half a percentage point, the finest that hit shares are trusted to. */
    public static final double FINEST_THRESHOLD = 0.005;

    /** The answer of a reading to a question of yes or no. */
    public enum Answer {
        YES,
        NO,
        UNKNOWN
    }

    public CacheProof {
        if (!(threshold >= 0 && threshold < 1)) {
            throw new IllegalArgumentException("The cache threshold is a share of the prefix, from 0 to below 1, not "
                    + threshold + "; half a percentage point is 0.005.");
        }
    }

    /** The server reported no cached tokens. */
    public static CacheProof unknown() {
        return new CacheProof(Optional.empty(), Optional.empty(), FINEST_THRESHOLD);
    }

    /**
     * Judges readings of all server lives by their means. One life whose reading is missing makes the answer unknown:
     * an average over the lives that happened to report could hide the one that mattered.
     *
     * @param baselineLosses per life, the share of the prefix that the baseline leg had to compute again
     * @param pinnedGains per life with both arms, the hit share of the pinned leg minus that of the baseline leg
     */
    public static CacheProof fromLives(
            List<OptionalDouble> baselineLosses, List<OptionalDouble> pinnedGains, double threshold) {
        return new CacheProof(mean("a baseline loss", baselineLosses), mean("a pinned gain", pinnedGains), threshold);
    }

    /**
     * The threshold for an engine's block size: one block of an average prompt, and half a percentage point at least.
     */
    public static double threshold(int blockTokens, double averagePromptTokens) {
        if (blockTokens < 1 || !(averagePromptTokens >= 1)) {
            throw new IllegalArgumentException("A threshold needs a block and a prompt of at least one token, not "
                    + blockTokens + " and " + averagePromptTokens + ".");
        }
        return Math.max(FINEST_THRESHOLD, blockTokens / averagePromptTokens);
    }

    /** Answers whether the baseline really lost prefix tokens. */
    public Answer exposed() {
        return answer(exposure);
    }

    /** Answers whether pinned legs really kept prefix tokens that the baseline lost. */
    public Answer kept() {
        return answer(mechanism);
    }

    private Answer answer(Optional<Interval> share) {
        return share.map(known -> known.above(threshold) ? Answer.YES : Answer.NO)
                .orElse(Answer.UNKNOWN);
    }

    private static Optional<Interval> mean(String name, List<OptionalDouble> shares) {
        if (shares.stream().anyMatch(OptionalDouble::isEmpty)) {
            return Optional.empty();
        }
        double[] known =
                shares.stream().mapToDouble(OptionalDouble::getAsDouble).toArray();
        for (double share : known) {
            if (!(share >= -1 && share <= 1)) {
                throw new IllegalArgumentException("The share of " + name + " is " + share
                        + "; hand in a share of the prefix between -1 and 1, not percent.");
            }
        }
        return MeanInterval.of(known).map(MeanInterval::interval);
    }
}
