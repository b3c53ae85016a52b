package io.holdfast.core.backend;

import java.util.OptionalLong;

/**
 * Room that the hard guard leaves to pins that take memory for good, and what they would be made for.
 *
 * @param guardTokens tokens that may be pinned in all; absent while that is not known
 * @param largestTokens those of the largest prefix that is to be held; 0 where there is none
 * @param why the guard's arithmetic
 * @param pinnedTokens those that are pinned now
 */
public record Room(OptionalLong guardTokens, long largestTokens, String why, long pinnedTokens) {
    /** While nothing is pinned. */
    public Room(OptionalLong guardTokens, long largestTokens, String why) {
        this(guardTokens, largestTokens, why, 0);
    }

    /** Before anything was computed. */
    public static Room unknown() {
        return new Room(OptionalLong.empty(), 0, "");
    }

    /** Returns true if the largest prefix surely does not fit. */
    boolean lacks() {
        return guardTokens.isPresent() && guardTokens.getAsLong() < Math.max(1, largestTokens);
    }

    String said() {
        return "the guard leaves " + guardTokens.orElse(0) + " tokens for pins"
                + (largestTokens > 0 ? ", and the largest prefix to hold has " + largestTokens : "") + " (" + why
                + ").";
    }
}
