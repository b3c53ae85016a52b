package io.holdfast.core.budget;

/**
 * What was learned beside an engine and a budget is made of, together with the newest readings.
 *
 * @param answers lengths of answers; none where the engine does not store them
 * @param foreignTokens what somebody else has pinned, at most
 * @param foreignAtRest whether that was seen while nothing ran
 * @param runningPeak the most requests that ran together lately
 */
public record Observed(
        PromptSizes.Facts prompts,
        PromptSizes.Facts answers,
        long foreignTokens,
        boolean foreignAtRest,
        long runningPeak) {
    static final Observed NOTHING = new Observed(PromptSizes.Facts.NONE, PromptSizes.Facts.NONE, 0, false, 0);
}
