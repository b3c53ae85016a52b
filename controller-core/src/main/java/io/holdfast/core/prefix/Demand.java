package io.holdfast.core.prefix;

/**
 * Room that the prompts in progress together ask of the cache, in tokens of full blocks.
 *
 * @param prompts how many: as many of the last ones as requests were under way together, as far as they are remembered
 * @param sharedOnce where what several of them begin with is there once
 * @param eachInFull where each of them counts in full, as it is often done
 */
public record Demand(int prompts, long sharedOnce, long eachInFull) {
    public static final Demand NONE = new Demand(0, 0, 0);
}
