package io.holdfast.loadtest.journal;

/**
 * A pair that does not count, and is run again.
 *
 * @param life its server life; 0 is the rehearsal
 * @param reason why it does not, in one clause
 * @param legs how many of its legs had been finished and written down
 * @param bySurroundings whether all of them were finished properly and a gate refused one for what happened around it;
 *     if not, the pair was broken off
 */
public record VoidedPair(int life, String reason, int legs, boolean bySurroundings) {
    /** The reason where somebody stopped the run. */
    public static final String STOPPED = "the run was stopped";

    /** Creates a pair that was broken off. */
    public VoidedPair(int life, String reason, int legs) {
        this(life, reason, legs, false);
    }
}
