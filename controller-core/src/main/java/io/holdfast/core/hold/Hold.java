package io.holdfast.core.hold;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * One hold as the controller keeps it: what is wanted, and the pin that keeps it, if there is one. The hold stays until
 * its lease ends; its pin may come and go.
 *
 * @param request the wished path, as it was requested first; of an automatic hold the planner wrote it
 * @param claims who wants it, and until when
 * @param timesAsked how often it was requested
 * @param lastBlock the block whose pin holds it; meaningless while {@code pinnedBlocks} is 0
 * @param pinnedBlocks blocks down to there, which may be more than are wanted; 0 unless pinned
 * @param sinceNanos when it was registered
 * @param retryNanos not to be pinned before this time
 * @param timesLost how often the engine released it
 * @param evidence how it was known, the last time, that the engine released it; empty when it never did
 * @param provenNanos when the engine was last seen to have it, a request's own hit aside; before all time where never
 * @param reason why it is in this state
 */
public record Hold(
        long id,
        HoldOrigin origin,
        HoldRequest request,
        Claims claims,
        int timesAsked,
        HoldState state,
        long lastBlock,
        int pinnedBlocks,
        long sinceNanos,
        long retryNanos,
        int timesLost,
        String evidence,
        long provenNanos,
        String reason) {
    private static final long NEVER = Long.MIN_VALUE;

    public static Hold requested(long id, HoldOrigin origin, HoldRequest request, long nowNanos, String reason) {
        return restored(id, origin, request, Claims.of(request, nowNanos), nowNanos, reason);
    }

    static Hold restored(long id, HoldOrigin origin, HoldRequest request, Claims claims, long nowNanos, String reason) {
        return new Hold(
                id, origin, request, claims, 1, HoldState.REQUESTED, 0, 0, nowNanos, nowNanos, 0, "", NEVER, reason);
    }

    public Hold because(String newReason) {
        return to(state, lastBlock, pinnedBlocks, retryNanos, timesLost, evidence, newReason);
    }

    /** Pinned, down to this block. */
    public Hold held(long block, int blocks, String newReason) {
        return to(HoldState.HELD, block, blocks, retryNanos, timesLost, evidence, newReason);
    }

    /** Returns this hold as wanted still, and not pinned. */
    public Hold waiting(long notBeforeNanos, String newReason) {
        return to(waits() ? state : HoldState.REQUESTED, 0, 0, notBeforeNanos, timesLost, evidence, newReason);
    }

    /** Returns this hold as wanted still, though the engine released it. */
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
        return new Hold(
                id,
                origin,
                request,
                claims,
                timesAsked,
                newState,
                block,
                pinned,
                sinceNanos,
                notBefore,
                losses,
                lostBy,
                pinned == 0 ? NEVER : provenNanos,
                newReason);
    }

    Hold claimedBy(Claims others) {
        return others == claims ? this : with(request, others, timesAsked, provenNanos);
    }

    /** Asked for once more; its tokens may be known by now. */
    Hold askedAgain(HoldRequest again, Claims others) {
        boolean more = request.tokens().isEmpty() && again.tokens().isPresent();
        return with(more ? again : request, others, timesAsked + 1, provenNanos);
    }

    /** Returns this hold with its tokens, which were not known when it was requested. */
    Hold told(HoldRequest known) {
        return with(known, claims, timesAsked, provenNanos);
    }

    /** The engine was seen to have it then. */
    public Hold proven(long nanos) {
        return with(request, claims, timesAsked, Math.max(provenNanos, nanos));
    }

    private Hold with(HoldRequest asked, Claims others, int times, long proof) {
        return new Hold(
                id,
                origin,
                asked,
                others,
                times,
                state,
                lastBlock,
                pinnedBlocks,
                sinceNanos,
                retryNanos,
                timesLost,
                evidence,
                proof,
                reason);
    }

    /** Returns the weight: where room is short, the heavier hold is taken first. */
    public int weight() {
        return claims.weight();
    }

    public boolean over() {
        return state == HoldState.RELEASED;
    }

    /** Returns true if it is to be pinned as soon as it can be. */
    public boolean waits() {
        return state == HoldState.REQUESTED || state == HoldState.LOST;
    }

    public boolean automatic() {
        return origin == HoldOrigin.AUTOMATIC;
    }

    /** Returns true if it may be released for a while, to measure what holding does or because it does nothing. */
    public boolean measured() {
        return automatic() || claims.measured();
    }

    /** Returns the number of requested blocks that are pinned. */
    public int heldBlocks() {
        return Math.min(pinnedBlocks, request.blocks());
    }

    /** The block at the end of what is wanted. */
    public long end() {
        return request.block(request.blocks() - 1);
    }

    /**
     * Returns the hold as people see it.
     *
     * @param hitNanos when a request was last seen to find all of it in the cache, before all time where never
     * @param order larger than that of any view that was taken before
     */
    HoldView view(long nowNanos, long blockTokens, long hitNanos, long order) {
        long proof = Math.max(provenNanos, hitNanos);
        return new HoldView(
                id,
                origin,
                state,
                request.blocks(),
                heldBlocks(),
                heldBlocks() * blockTokens,
                (pinnedBlocks - heldBlocks()) * blockTokens,
                timesLost,
                timesAsked,
                weight(),
                over()
                        ? Duration.ZERO
                        : Duration.ofNanos(Math.max(0, claims.last().endNanos() - nowNanos)),
                over() ? List.of() : claims.views(nowNanos),
                state == HoldState.HELD && proof != NEVER
                        ? Optional.of(Duration.ofNanos(Math.max(0, nowNanos - proof)))
                        : Optional.empty(),
                why(),
                order);
    }

    private String why() {
        if (state == HoldState.LOST) {
            return evidence + "; " + (reason.isEmpty() ? "it is held again when its prefix is stored again" : reason);
        }
        if (evidence.isEmpty() || over() || reason.endsWith(evidence)) {
            return reason;
        }
        boolean sentence = reason.endsWith(".");
        String first = sentence ? reason.substring(0, reason.length() - 1) : reason;
        return first + ". It was lost before: " + evidence + (sentence ? "." : "");
    }
}
