package io.holdfast.core.hold;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * One hold as people see it.
 *
 * @param wantedBlocks blocks of the requested prefix
 * @param heldBlocks of those, blocks pinned now
 * @param beyondTokens what is pinned beyond the prefix, because the engine can only pin where an insertion ended
 * @param timesLost how often the engine released it
 * @param timesAsked how often it was requested: once, unless several requesters share it or one renewed its lease
 * @param weight of its heaviest claim
 * @param leaseLeft of the claim that runs longest; zero once it is over
 * @param claims who wants it, and until when; none once it is over
 * @param provenAgo how long ago the engine was last seen to have it; absent where it never was, or is not held
 * @param reason one sentence: why it is in this state
 * @param order of two views of a hold, that of the later one is larger
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
        int timesAsked,
        int weight,
        Duration leaseLeft,
        List<ClaimView> claims,
        Optional<Duration> provenAgo,
        String reason,
        long order) {

    /** Returns this view as it is when nobody looks after the hold any more. */
    public HoldView abandoned(boolean stillPinned, String why) {
        return new HoldView(
                id,
                origin,
                stillPinned ? HoldState.EXPIRING : HoldState.RELEASED,
                wantedBlocks,
                stillPinned ? heldBlocks : 0,
                stillPinned ? heldTokens : 0,
                stillPinned ? beyondTokens : 0,
                timesLost,
                timesAsked,
                weight,
                Duration.ZERO,
                List.of(),
                Optional.empty(),
                why,
                order);
    }
}
