package io.holdfast.core.rank;

import java.util.Locale;

/**
 * Findings of two models of the same cache on the same recent requests, one without pins, one always with them; blocks,
 * each counting less the longer ago it was.
 *
 * @param open whether pins are licensed by it
 * @param without found without pins
 * @param with found with pins
 * @param of blocks that were requested
 */
public record Evidence(boolean open, double without, double with, double of) {
    /** Before there was any. */
    public static final Evidence NONE = new Evidence(false, 0, 0, 0);

    /** Returns the evidence in words, ready to end a sentence. */
    public String said() {
        return of < 1
                ? "no request was seen that would tell"
                : String.format(
                        Locale.ROOT,
                        "of recent prompts a simulation of this cache finds %.1f %% with such holds and %.1f %%"
                                + " without",
                        100 * with / of,
                        100 * without / of);
    }
}
