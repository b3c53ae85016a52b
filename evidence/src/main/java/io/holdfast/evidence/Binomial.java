package io.holdfast.evidence;

/** The number of successes among independent tries. */
record Binomial(int tries, double probability) {
    /** The probability of at least {@code successes}. */
    double atLeast(int successes) {
        if (successes <= 0) {
            return 1;
        }
        if (successes > tries) {
            return 0;
        }
        return Beta.regularized(successes, tries - successes + 1.0, probability, 1 - probability);
    }

    /** The probability of fewer than {@code successes}. */
    double fewerThan(int successes) {
        if (successes <= 0) {
            return 0;
        }
        if (successes > tries) {
            return 1;
        }
        return Beta.regularized(tries - successes + 1.0, successes, 1 - probability, probability);
    }
}
