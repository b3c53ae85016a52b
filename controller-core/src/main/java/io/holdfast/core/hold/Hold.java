package io.holdfast.core.hold;

import java.time.Duration;

/**
 * One hold as the controller keeps it: what is wanted, and the pin that keeps it, if there is one. The hold stays until its
 * lease ends; its pin may come and go.
 *
 * @param request the wished path and lease; of an automatic hold the planner wrote it
 * @param lastBlock the block whose pin holds it; meaningless while {@code pinnedBlocks} is 0
 * @param pinnedBlocks blocks down to there, which may be more than are wanted; 0 unless pinned
 * @param sinceNanos when it was registered
 * @param retryNanos not to be pinned before this time
 * @param timesLost how often the engine let go of it
 * @param evidence how it was known, the last time, that the engine let go; empty when it never did
 * @param reason why it is in this state
 */
public record Hold(
        long id,
        HoldOrigin origin,
        HoldRequest request,
        HoldState state,
        long lastBlock,
        int pinnedBlocks,
        long sinceNanos,
        long retryNanos,
        int timesLost,
        String evidence,
        String reason) {

    public static Hold requested(long id, HoldOrigin origin, HoldRequest request, long nowNanos, String reason) {
        return new Hold(id, origin, request, HoldState.REQUESTED, 0, 0, nowNanos, nowNanos, 0, "", reason);
    }

    public Hold because(String newReason) {
        return to(state, lastBlock, pinnedBlocks, retryNanos, timesLost, evidence, newReason);
    }

    /** Pinned, down to this block. */
    public Hold held(long block, int blocks, String newReason) {
        return to(HoldState.HELD, block, blocks, retryNanos, timesLost, evidence, newReason);
    }

    /** Wanted still, and not pinned. */
    public Hold waiting(long notBeforeNanos, String newReason) {
        return to(waits() ? state : HoldState.REQUESTED, 0, 0, notBeforeNanos, timesLost, evidence, newReason);
    }

    /** Wanted still, though the engine let go of it. */
    public Hold lost(String newEvidence) {
        return to(HoldState.LOST, 0, 0, retryNanos, timesLost + 1, newEvidence, "");
    }

    /** Given up; the unpin is under way. */
    public Hold expiring(String newReason) {
        return to(HoldState.EXPIRING, lastBlock, pinnedBlocks, retryNanos, timesLost, evidence, newReason);
    }

    /** Over. */
    public Hold ended(String newReason) {
        return to(HoldState.RELEASED, 0, 0, retryNanos, timesLost, evidence, newReason);
    }

    private Hold to(
            HoldState newState, long block, int pinned, long notBefore, int losses, String lostBy, String newReason) {
        return new Hold(id, origin, request, newState, block, pinned, sinceNanos, notBefore, losses, lostBy, newReason);
    }

    public boolean over() {
        return state == HoldState.RELEASED;
    }

    /** Whether it is to be pinned as soon as it can be. */
    public boolean waits() {
        return state == HoldState.REQUESTED || state == HoldState.LOST;
    }

    public boolean automatic() {
        return origin == HoldOrigin.AUTOMATIC;
    }

    /** Of what is wanted, blocks that are pinned. */
    public int heldBlocks() {
        return Math.min(pinnedBlocks, request.blocks());
    }

    /** The block at the end of what is wanted. */
    public long end() {
        return request.block(request.blocks() - 1);
    }

    HoldView view(long deadlineNanos, long nowNanos, long blockTokens) {
        return new HoldView(
                id,
                origin,
                state,
                request.blocks(),
                heldBlocks(),
                heldBlocks() * blockTokens,
                (pinnedBlocks - heldBlocks()) * blockTokens,
                timesLost,
                over() ? Duration.ZERO : Duration.ofNanos(Math.max(0, deadlineNanos - nowNanos)),
                why());
    }

    private String why() {
        if (state == HoldState.LOST) {
            return reason.isEmpty() ? evidence : evidence + "; " + reason;
        }
        return evidence.isEmpty() || over() ? reason : reason + ". It was lost before: " + evidence;
    }
}
