package io.holdfast.core.hold;

import java.time.Duration;

/**
 * One hold as the controller keeps it.
 *
 * @param request the wished path and lease; of an automatic hold the planner wrote it
 * @param lastBlock the block whose pin holds it; meaningless while {@code heldBlocks} is 0
 * @param heldBlocks blocks down to there; 0 unless pinned
 * @param sinceNanos when it was registered
 * @param retryNanos not to be pinned before this time
 * @param lost whether it ends because the engine let go, not because we did
 * @param reason why it is in this state
 */
public record Hold(
        long id,
        HoldOrigin origin,
        HoldRequest request,
        HoldState state,
        long lastBlock,
        int heldBlocks,
        long sinceNanos,
        long retryNanos,
        boolean lost,
        String reason) {

    public static Hold requested(long id, HoldOrigin origin, HoldRequest request, long nowNanos, String reason) {
        return new Hold(id, origin, request, HoldState.REQUESTED, 0, 0, nowNanos, nowNanos, false, reason);
    }

    public Hold because(String newReason) {
        return new Hold(id, origin, request, state, lastBlock, heldBlocks, sinceNanos, retryNanos, lost, newReason);
    }

    public Hold held(long block, int blocks, String newReason) {
        return new Hold(id, origin, request, HoldState.HELD, block, blocks, sinceNanos, retryNanos, lost, newReason);
    }

    /** Wanted still, and not pinned. */
    public Hold waiting(long notBeforeNanos, String newReason) {
        return new Hold(id, origin, request, HoldState.REQUESTED, 0, 0, sinceNanos, notBeforeNanos, lost, newReason);
    }

    /** Given up; the unpin is under way. */
    public Hold expiring(boolean byTheEngine, String newReason) {
        return new Hold(
                id,
                origin,
                request,
                HoldState.EXPIRING,
                lastBlock,
                heldBlocks,
                sinceNanos,
                retryNanos,
                byTheEngine,
                newReason);
    }

    /** Over. */
    public Hold ended(String newReason) {
        HoldState last = lost ? HoldState.LOST : HoldState.RELEASED;
        return new Hold(id, origin, request, last, 0, 0, sinceNanos, retryNanos, lost, newReason);
    }

    boolean over() {
        return state == HoldState.RELEASED || state == HoldState.LOST;
    }

    public boolean automatic() {
        return origin == HoldOrigin.AUTOMATIC;
    }

    HoldView view(long deadlineNanos, long nowNanos, long blockTokens) {
        return new HoldView(
                id,
                origin,
                state,
                request.blocks(),
                heldBlocks,
                heldBlocks * blockTokens,
                over() ? Duration.ZERO : Duration.ofNanos(Math.max(0, deadlineNanos - nowNanos)),
                reason);
    }
}
