package io.holdfast.core.hold;

/**
 * Outcome of an attempt to release everything.
 *
 * @param released holds that the engine holds nothing for any more
 * @param pending holds whose unpin has no clear answer yet, or was refused: their blocks may still be pinned
 */
public record Released(int released, int pending) {}
