package io.holdfast.core.hold;

import java.time.Duration;

/**
 * One hold as people see it.
 *
 * @param wantedBlocks blocks of the prefix that was asked for
 * @param heldBlocks of those, blocks pinned now
 * @param beyondTokens what is pinned beyond the prefix, because the engine can only pin where an insertion ended
 * @param timesLost how often the engine let go of it
 * @param leaseLeft zero once it is over
 * @param reason one sentence: why it is in this state
 */
public record HoldView(
        long id,
        HoldOrigin origin,
        HoldState state,
        int wantedBlocks,
        int heldBlocks,
        long heldTokens,
        long beyondTokens,
        int timesLost,
        Duration leaseLeft,
        String reason) {}
