package io.holdfast.loadtest.journal;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What the engine says about itself; absent is unknown.
 *
 * @param pageTokens tokens of one block
 * @param capacityTokens tokens that its cache holds
 * @param longestPrompt tokens of the longest prompt that it accepts
 */
public record EngineFacts(
        OptionalInt pageTokens, OptionalLong capacityTokens, OptionalLong longestPrompt, Optional<String> version) {
    /** Tokens of a block where an engine does not tell. */
    public static final int USUAL_PAGE = 16;

    public static EngineFacts unknown() {
        return new EngineFacts(OptionalInt.empty(), OptionalLong.empty(), OptionalLong.empty(), Optional.empty());
    }

    public int pageTokensOrUsual() {
        return pageTokens.orElse(USUAL_PAGE);
    }
}
