package io.holdfast.loadtest;

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
    static EngineFacts unknown() {
        return new EngineFacts(OptionalInt.empty(), OptionalLong.empty(), OptionalLong.empty(), Optional.empty());
    }
}
