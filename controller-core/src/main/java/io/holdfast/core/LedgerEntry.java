package io.holdfast.core;

/**
 * One line of the ledger.
 *
 * @param lastBlock the block that was, or is about to be, pinned
 * @param blocks blocks on its path
 */
public record LedgerEntry(Step step, long holdId, HoldOrigin origin, long lastBlock, int blocks) {
    /** How far a pin has come; a block may be pinned in the engine from {@link #PINNING} until {@link #RELEASED}. */
    public enum Step {
        /** Written ahead of the call. */
        PINNING,
        PINNED,
        /** The engine let go, or never had it, or its life ended. */
        RELEASED
    }
}
