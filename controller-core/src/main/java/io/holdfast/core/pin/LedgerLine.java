package io.holdfast.core.pin;

import io.holdfast.core.hold.HoldOrigin;

/** One line of the ledger. */
public sealed interface LedgerLine {

    /**
     * Whose pins the lines below are.
     *
     * @param version of the ledger's form; lines before any header are of version 1
     */
    record Header(int version, EngineIdentity engine) implements LedgerLine {
        /** The form that is written today. */
        public static final int VERSION = 2;
    }

    /**
     * A step that one pin has reached.
     *
     * @param backend the only one that can release it
     * @param handle what that backend calls it
     * @param lastBlock the block at the end of the pinned path
     * @param blocks blocks on its path
     * @param note why it is in this step, where that is not plain; else empty
     */
    record Entry(
            Step step,
            long holdId,
            HoldOrigin origin,
            String backend,
            String handle,
            long lastBlock,
            int blocks,
            String note)
            implements LedgerLine {}

    /**
     * Everything was released by one call, and nothing is to be held again before somebody resumes; or somebody did.
     */
    record Pause(boolean paused, String reason) implements LedgerLine {}

    /** The engine may have the pin from {@link #PINNING} until {@link #RELEASED}. */
    enum Step {
        /** Written ahead of the call. */
        PINNING,
        PINNED,
        /** Nobody knows whether the engine has it, and asking again could take a pin that is not ours. */
        UNSURE,
        /** An unpin could hurt the engine, so it is not asked; that does not change with a restart of ours. */
        KEPT,
        /** The engine released it, or never had it. */
        RELEASED
    }
}
