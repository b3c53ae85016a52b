package io.holdfast.core.budget;

import java.util.OptionalInt;

/**
 * Sizes of requests, by the operator's word.
 *
 * @param largestPromptTokens the longest prompt that clients send; absent: measured from the events of the last hour
 * @param maxOutputTokens the longest answer that clients ask for
 */
public record RequestSizes(OptionalInt largestPromptTokens, int maxOutputTokens) {
    public RequestSizes {
        if (largestPromptTokens.orElse(1) < 1 || maxOutputTokens < 1) {
            throw new IllegalArgumentException("A request has a prompt and an answer of at least 1 token each, not "
                    + largestPromptTokens.orElse(1) + " and " + maxOutputTokens + ".");
        }
    }

    /** Prompts as the events show them, answers of at most so many tokens. */
    public static RequestSizes measured(int maxOutputTokens) {
        return new RequestSizes(OptionalInt.empty(), maxOutputTokens);
    }

    public static RequestSizes of(int largestPromptTokens, int maxOutputTokens) {
        return new RequestSizes(OptionalInt.of(largestPromptTokens), maxOutputTokens);
    }
}
