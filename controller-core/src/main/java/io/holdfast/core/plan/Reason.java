package io.holdfast.core.plan;

/**
 * Reason why a line of a plan says what it says: the closed list that people look up. The sentence beside it has the
 * numbers.
 */
public enum Reason {
    /** It is held, and stays. */
    HELD,
    /** All of the prefix is in the cache and can be held. */
    WHOLE_PREFIX,
    /** The shortest path over the prefix is pinned, which reaches beyond it. */
    BEYOND,
    /** Only the first part of the prefix can be pinned now. */
    CLIPPED,
    /** Several requests share the prefix, and the cache has lost it. */
    SHARED_AND_LOST,
    /**
     * Its rank is among the best: such prefixes are used again soon, and shadows of the cache say that holding them
     * pays.
     */
    RANKED,
    /** It is held, and is pinned on one more data-parallel rank. */
    ONE_MORE_RANK,
    /** It is gone from the cache, and a request of our own stores it. */
    STORED_BY_US,

    /** The hold is over: its lease ended, it was released, or given up. */
    OVER,
    /** Requests wait while nothing runs. */
    STALLED,
    /** The pins exceed the bound. */
    ABOVE_BOUND,
    /** Automatic holds are off in this window, so that their effect can be measured. */
    MEASURING,
    /** Holds were found not to shorten time to first token enough, and are released until that is tried again. */
    NO_BENEFIT,
    /** Holds were found to do harm, and are released until that is tried again. */
    HARMFUL,
    /** It is released for a moment, since more of it can be held now. */
    HELD_ANEW,

    /** Automatic holds are switched off. */
    AUTOMATIC_OFF,
    /** The most that automatic holds may take is not known. */
    AUTOMATIC_UNKNOWN,
    /** Hotter prefixes take the room that automatic holds have. */
    HOTTER_FIRST,
    /** The room that automatic holds have is less than the prefix alone takes. */
    NO_ROOM_AUTOMATIC,
    /** The prefix is used so rarely that an automatic hold would end before the next use. */
    USED_TOO_RARELY,
    /** It was held by its rank, and others rank before it. */
    OUTRANKED,
    /** The shadows of the cache do not say that holding by rank pays. */
    NOT_LICENSED,
    /** A request saves less with it held than is worth a hold. */
    SAVES_TOO_LITTLE,
    /** Another engine of the fleet has it, and its touches go where it is cached. */
    HELD_ELSEWHERE,

    /** Nothing new is pinned now: a pause, events that were lost, what an earlier life left, no answer to a probe. */
    NOTHING_NEW,
    /** The engine cannot pin now. */
    NOT_NOW,
    /** The engine's own need is not known. */
    BOUND_UNKNOWN,
    /** There is no room under the bound. */
    NO_ROOM,
    /** It was tried, and is tried again after a while. */
    TRIED,
    /** It is not in the cache as a whole. */
    NOT_CACHED,
    /** Its beginning is not known, since events were lost. */
    BEGINNING_UNKNOWN,
    /** The engine can only pin where a request's blocks end, and no such end is still there. */
    NO_END,
    /** The unpin of its last block has no outcome yet. */
    UNPIN_UNDER_WAY,
    /** The backend sends the prefix itself, and its tokens are not known. */
    TOKENS_UNKNOWN,

    /** The engine cannot pin. */
    CANNOT,
    /** The hash of its last block may name two blocks. */
    AMBIGUOUS,
    /** The prefix is larger than the cache. */
    NEVER_FITS
}
