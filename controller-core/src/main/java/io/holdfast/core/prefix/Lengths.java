package io.holdfast.core.prefix;

/**
 * Lengths of the last prompts, in tokens of full blocks.
 *
 * @param prompts how many were measured; the others say nothing where it is 0
 * @param median half of them were at most that long
 * @param ninetieth nine in ten of them were
 */
public record Lengths(int prompts, long median, long ninetieth) {
    public static final Lengths NONE = new Lengths(0, 0, 0);
}
