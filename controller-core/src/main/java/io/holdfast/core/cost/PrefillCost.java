package io.holdfast.core.cost;

import java.util.OptionalDouble;

/**
 * The time to first token of one engine by the tokens of a prompt that were not cached; unknown before it was measured.
 */
public sealed interface PrefillCost {
    /**
     * A straight line through measured requests.
     *
     * @param fixedSeconds what a request takes however much of it is cached
     * @param secondsPerToken what each token adds that has to be computed
     * @param perTokenError the standard error of that
     * @param samples how many measurements the line goes through
     */
    record Known(double fixedSeconds, double secondsPerToken, double perTokenError, int samples)
            implements PrefillCost {}

    /**
     * No line yet.
     *
     * @param samples how many measurements there are
     * @param why what is missing, without a full stop
     */
    record Unknown(int samples, String why) implements PrefillCost {}

    /** Returns how long an engine computes so many tokens, beside what each request takes anyhow. */
    default OptionalDouble seconds(double tokens) {
        return this instanceof Known known ? OptionalDouble.of(known.secondsPerToken * tokens) : OptionalDouble.empty();
    }
}
