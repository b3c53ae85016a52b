package io.holdfast.core.hold;

/** How far a hold has come. */
public enum HoldState {
    /** Wanted, not pinned: the reason says what it waits for. */
    REQUESTED,
    HELD,
    /** Its lease is over or it was given up; the unpin is under way. */
    EXPIRING,
    RELEASED,
    /** Not by our doing: the engine cleared, restarted, or no longer has the block. */
    LOST
}
