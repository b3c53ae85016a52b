package io.holdfast.core.hold;

/** Stages of a hold. */
public enum HoldState {
    /** Wanted, not pinned: the reason says what it waits for. */
    REQUESTED,
    HELD,
    /** Its lease is over or it was given up; the unpin is under way. */
    EXPIRING,
    RELEASED,
    /** Wanted, and not pinned any more, not by our doing: it is held again when its prefix comes back. */
    LOST
}
