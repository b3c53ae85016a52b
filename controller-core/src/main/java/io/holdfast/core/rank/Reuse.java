package io.holdfast.core.rank;

/**
 * Counts of how soon what is used again at one engine, for others to be told of.
 *
 * @param counted by this process alone: nothing in it was told to it
 * @param mayTake whether it would take what others counted, since nobody gave it anything yet
 */
public record Reuse(ReuseCounts counted, boolean mayTake) {}
