package io.holdfast.evidence;

/**
 * Bounds of what counts as an effect, fixed before the experiment runs.
 *
 * @param delta the smallest log ratio that matters; anything inside it counts as nothing
 * @param alpha the level of the t test after Holm's correction
 * @param minimumPerOrder the pairs of each order without which nothing is concluded
 */
public record Criteria(double delta, double alpha, int minimumPerOrder) {
    /** With fewer pairs per order the permutation test cannot reach 0.05. */
    public static final int FEWEST_PER_ORDER = 4;

    public Criteria {
        if (!(delta > 0 && Double.isFinite(delta))) {
            throw new IllegalArgumentException(
                    "delta is " + delta + "; it is the log ratio of the smallest effect that matters, as ln 1.05.");
        }
        if (!(alpha > 0 && alpha <= 0.05)) {
            throw new IllegalArgumentException("alpha is " + alpha + "; choose a level above 0 and of at most 0.05.");
        }
        if (minimumPerOrder < FEWEST_PER_ORDER) {
            throw new IllegalArgumentException("minimumPerOrder is " + minimumPerOrder + "; use " + FEWEST_PER_ORDER
                    + " or more, since with 3 pairs per order the permutation test cannot go below 0.1.");
        }
    }

    /** An effect of 5 %, a level of 5 %, 4 pairs of each order. */
    public static Criteria standard() {
        return new Criteria(Math.log(1.05), 0.05, FEWEST_PER_ORDER);
    }

    /** These criteria at one of several looks declared beforehand, among which the level is shared out. */
    public Criteria atOneOf(int declaredLooks) {
        if (declaredLooks < 1) {
            throw new IllegalArgumentException("There is at least one look at the data, not " + declaredLooks + ".");
        }
        return new Criteria(delta, alpha / declaredLooks, minimumPerOrder);
    }
}
