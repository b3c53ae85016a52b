package io.holdfast.core.requests;

import java.time.Duration;

/**
 * Rules on how an engine tells of what it generates, and between which bounds its speed lies: they decide whether a
 * store under the end of a request is more of that request.
 *
 * @param decoding when blocks filled by decoding are stored
 * @param fastestToken no request gets its tokens faster than this
 * @param slowestToken no request waits longer than this for a token, on average over a block
 * @param fullStepTokens a step that computed fewer prompt tokens than this had room for all of them, so no prompt was
 *     cut
 * @param nextChunk the next part of a prompt that was cut follows within this time
 * @param longest a request that stored nothing for so long is complete
 * @param mostOpen as many requests are followed at once
 */
public record RequestRules(
        Decoding decoding,
        Duration fastestToken,
        Duration slowestToken,
        int fullStepTokens,
        Duration nextChunk,
        Duration longest,
        int mostOpen) {

    /** Time at which an engine stores the blocks that a request fills by decoding. */
    public enum Decoding {
        /** All at once when the request ends (SGLang). */
        AT_FINISH,
        /** Each when it is full (vLLM). */
        EACH_BLOCK
    }

    public RequestRules {
        require(!fastestToken.isNegative(), "fastestToken must not be negative, it is " + fastestToken + ".");
        require(
                slowestToken.compareTo(fastestToken) > 0,
                "slowestToken must be longer than fastestToken (" + fastestToken + "), it is " + slowestToken + ".");
        require(fullStepTokens >= 1, "fullStepTokens must be at least 1, it is " + fullStepTokens + ".");
        require(nextChunk.isPositive(), "nextChunk must be longer than zero, it is " + nextChunk + ".");
        require(longest.isPositive(), "longest must be longer than zero, it is " + longest + ".");
        require(
                mostOpen >= 1 && mostOpen <= 1 << 20,
                "mostOpen must be between 1 and " + (1 << 20) + ", it is " + mostOpen + ".");
    }

    public static RequestRules sglang() {
        return defaults(Decoding.AT_FINISH);
    }

    public static RequestRules vllm() {
        return defaults(Decoding.EACH_BLOCK);
    }

    private static RequestRules defaults(Decoding decoding) {
        return new RequestRules(
                decoding,
                Duration.ofNanos(250_000),
                Duration.ofMillis(250),
                1024,
                Duration.ofSeconds(5),
                Duration.ofMinutes(15),
                4096);
    }

    private static void require(boolean condition, String sentence) {
        if (!condition) {
            throw new IllegalArgumentException(sentence);
        }
    }
}
