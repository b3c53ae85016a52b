package io.holdfast.core.budget;

import java.util.Optional;

/**
 * The largest request that pins have to leave room for, prompt and answer together.
 *
 * @param tokens of both, at most the context and the cache
 * @param why where the number comes from
 * @param broken which of the operator's numbers traffic has broken; absent when none
 */
record LargestRequest(long tokens, String why, Optional<String> broken) {
    private static final int ENOUGH_PROMPTS = 100;

    /** Nothing is known but what the engine accepts. */
    private static LargestRequest accepted(long limit, String because) {
        return new LargestRequest(limit, "what the engine accepts" + because, Optional.empty());
    }

    /**
     * @param limit the smaller of context and cache: no request of this engine is larger
     */
    static LargestRequest of(Optional<RequestSizes> written, PromptSizes.Facts seen, long limit) {
        if (written.isEmpty()) {
            return accepted(limit, "");
        }
        RequestSizes sizes = written.get();
        LargestRequest request = sizes.largestPromptTokens().isPresent()
                ? written(sizes.largestPromptTokens().getAsInt(), sizes.maxOutputTokens(), seen)
                : measured(sizes.maxOutputTokens(), seen, limit);
        return request.tokens < limit
                ? request
                : new LargestRequest(limit, "what the engine accepts, since " + request.why, request.broken);
    }

    private static LargestRequest written(long prompt, long answer, PromptSizes.Facts seen) {
        long largestPrompt = Math.max(prompt, seen.largestPromptEver());
        long tokens = Math.max(largestPrompt + answer, seen.largestEver());
        String sum = "largestPromptTokens " + prompt + " + maxOutputTokens " + answer;
        if (tokens == prompt + answer) {
            return new LargestRequest(tokens, sum, Optional.empty());
        }
        String what = largestPrompt > prompt
                ? "a prompt of " + largestPrompt + " tokens was seen, largestPromptTokens says " + prompt
                : "a request of " + tokens + " tokens was seen, " + sum + " is less";
        return new LargestRequest(
                tokens,
                what,
                Optional.of(what + ": what was seen counts from now on; write what clients really send, or leave"
                        + " largestPromptTokens and maxOutputTokens out"));
    }

    private static LargestRequest measured(long answer, PromptSizes.Facts seen, long limit) {
        if (seen.unmeasured() > 0) {
            return accepted(
                    limit,
                    ", since " + seen.unmeasured()
                            + " of the chains stored in an hour began under a block that was never"
                            + " announced, so prompt sizes are not known");
        }
        if (seen.count() < ENOUGH_PROMPTS) {
            return accepted(
                    limit, ", since only " + seen.count() + " of " + ENOUGH_PROMPTS + " prompts were seen in an hour");
        }
        long prompt = Math.max(seen.largest(), 2 * seen.p99());
        return new LargestRequest(
                prompt + answer,
                "prompt " + prompt + ": of " + seen.count() + " seen in an hour the largest had " + seen.largest()
                        + ", the p99 " + seen.p99() + "; maxOutputTokens " + answer,
                Optional.empty());
    }
}
