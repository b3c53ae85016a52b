package io.holdfast.core.budget;

import java.util.Arrays;

/**
 * The part of {@link PromptSizes} that outlives a process: what makes the largest request larger, and nothing that
 * would make it smaller. Quantiles and counts are learned anew, since nobody knows what was sent meanwhile.
 *
 * @param largest the longest path by its age in slots of five minutes, the youngest first
 * @param unmeasured prompts of unknown length in the same slots
 */
@SuppressWarnings("ArrayRecordComponent")
public record LearnedSizes(long[] largest, int[] unmeasured, long largestPromptEver, long largestEver) {
    public LearnedSizes {
        boolean whole = largest.length == PromptSizes.SLOTS
                && unmeasured.length == PromptSizes.SLOTS
                && largestPromptEver >= 0
                && largestEver >= 0;
        if (!whole
                || Arrays.stream(largest).min().orElse(0) < 0
                || Arrays.stream(unmeasured).min().orElse(0) < 0) {
            throw new IllegalArgumentException("Sizes of prompts are " + PromptSizes.SLOTS + " times none or more.");
        }
    }
}
