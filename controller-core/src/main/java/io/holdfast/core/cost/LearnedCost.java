package io.holdfast.core.cost;

import java.util.Arrays;

/**
 * The part of {@link CostSampler} that outlives a process: its last samples, the oldest first.
 *
 * @param tokens that were computed
 * @param seconds that they took
 * @param weights of how many requests each sample is
 */
@SuppressWarnings("ArrayRecordComponent")
public record LearnedCost(double[] tokens, double[] seconds, double[] weights) {
    public LearnedCost {
        boolean whole = tokens.length == seconds.length
                && tokens.length == weights.length
                && tokens.length <= CostSampler.MOST_SAMPLES;
        if (!whole || !numbers(tokens) || !numbers(seconds) || !numbers(weights)) {
            throw new IllegalArgumentException(
                    "Samples of prefill are at most " + CostSampler.MOST_SAMPLES + " numbers of each kind.");
        }
    }

    private static boolean numbers(double[] values) {
        return Arrays.stream(values).allMatch(value -> value >= 0 && Double.isFinite(value));
    }
}
