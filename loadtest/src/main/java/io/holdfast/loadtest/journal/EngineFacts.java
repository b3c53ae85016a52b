package io.holdfast.loadtest.journal;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Facts that the engine tells about itself; absent is unknown.
 *
 * @param family whose rules and routes it has
 * @param pageTokens tokens of one block
 * @param capacityTokens tokens that its cache holds
 * @param longestPrompt tokens of the longest prompt that it accepts
 */
public record EngineFacts(
        Family family,
        OptionalInt pageTokens,
        OptionalLong capacityTokens,
        OptionalLong longestPrompt,
        Optional<String> version) {
    /** The engines that are told apart. */
    public enum Family {
        SGLANG,
        VLLM,
        TENSORRT_LLM,
        /** Some other, or one that does not say. */
        OTHER
    }

    /** Tokens of a block where an engine does not tell. */
    public static final int USUAL_PAGE = 16;

    /** Relative difference from start to start of engines that measure their memory. */
    private static final double NEAR = 0.01;

    public static EngineFacts unknown() {
        return new EngineFacts(
                Family.OTHER, OptionalInt.empty(), OptionalLong.empty(), OptionalLong.empty(), Optional.empty());
    }

    /** Returns a few words, such as {@code sglang 0.5.9, page 16, 8192 tokens of cache, prompts up to 2042}. */
    public String text() {
        return family.name().toLowerCase(Locale.ROOT)
                + version.map(text -> " " + text).orElse("")
                + ", page "
                + known(pageTokens.isPresent() ? OptionalLong.of(pageTokens.getAsInt()) : OptionalLong.empty())
                + ", " + known(capacityTokens) + " tokens of cache, prompts up to " + known(longestPrompt);
    }

    /** Returns true if both may be of the same server; a restart may have made its cache a little larger or smaller. */
    public boolean isLike(EngineFacts other) {
        return family == other.family
                && pageTokens.equals(other.pageTokens)
                && version.equals(other.version)
                && isNear(capacityTokens, other.capacityTokens)
                && isNear(longestPrompt, other.longestPrompt);
    }

    private static boolean isNear(OptionalLong one, OptionalLong other) {
        return one.isPresent() == other.isPresent()
                && Math.abs(one.orElse(0) - other.orElse(0)) <= NEAR * one.orElse(0);
    }

    private static String known(OptionalLong number) {
        return number.isPresent() ? Long.toString(number.getAsLong()) : "unknown";
    }

    public int pageTokensOrUsual() {
        return pageTokens.orElse(USUAL_PAGE);
    }
}
