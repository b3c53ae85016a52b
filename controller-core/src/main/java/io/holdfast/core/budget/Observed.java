package io.holdfast.core.budget;

import java.util.OptionalLong;

/**
 * Observations of an engine that a budget is made of, together with the newest readings.
 *
 * @param need tokens that nine of ten prompts need beyond what is held; empty before there was a prompt
 * @param answers lengths of answers; none where the engine does not store them
 * @param foreignTokens what somebody else has pinned, at most
 * @param foreignAtRest whether that was seen while nothing ran
 * @param runningPeak the most requests that ran together lately
 * @param beside tokens that were in use beside our pins when the engine was asked; empty to take what is pinned now for
 *     what was pinned then
 */
public record Observed(
        PromptSizes.Facts prompts,
        OptionalLong need,
        PromptSizes.Facts answers,
        long foreignTokens,
        boolean foreignAtRest,
        long runningPeak,
        OptionalLong beside) {
    public Observed(
            PromptSizes.Facts prompts,
            OptionalLong need,
            PromptSizes.Facts answers,
            long foreignTokens,
            boolean foreignAtRest,
            long runningPeak) {
        this(prompts, need, answers, foreignTokens, foreignAtRest, runningPeak, OptionalLong.empty());
    }

    static final Observed NOTHING =
            new Observed(PromptSizes.Facts.NONE, OptionalLong.empty(), PromptSizes.Facts.NONE, 0, false, 0);
}
