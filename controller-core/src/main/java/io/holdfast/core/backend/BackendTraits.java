package io.holdfast.core.backend;

/**
 * What a backend is, whatever engine it meets: data that the planner and the ledger apply.
 *
 * @param needsInsertionEnd a pin must name a block that ended an insertion
 * @param needsUnambiguousHash a pin and its unpin name a hash, so two blocks under one hash could be mixed up
 * @param needsTokens a pin is made by sending the prefix, so its tokens have to be known
 * @param hard a pin takes memory from the engine for good, so that the hard guard applies
 * @param forgetsByItself a pin ends without an unpin, or was never made: it needs no ledger, no release at the next start
 *     and no lock against other sidecars
 * @param releaseTells an unpin's answer says whether the pin was there; where not, any answer only says that it is gone now
 */
public record BackendTraits(
        boolean needsInsertionEnd,
        boolean needsUnambiguousHash,
        boolean needsTokens,
        boolean hard,
        boolean forgetsByItself,
        boolean releaseTells) {}
