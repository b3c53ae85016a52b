package io.holdfast.core.hold;

import java.time.Duration;

/**
 * One hold as people see it.
 *
 * @param wantedBlocks blocks of the prefix that was asked for
 * @param heldBlocks of those, blocks pinned now
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
        Duration leaseLeft,
        String reason) {}
