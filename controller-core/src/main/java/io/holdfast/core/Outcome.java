package io.holdfast.core;

/**
 * What an engine made of a pin or an unpin.
 *
 * @param reason one sentence that a person can act on
 */
public record Outcome(Kind kind, String reason) {
    /** The five answers. */
    public enum Kind {
        /** Done as asked. */
        ACCEPTED,
        /** Done in part. */
        CLIPPED,
        /** Not now; asking again may help (a time-out, an open breaker): the engine's state is not known. */
        DEFERRED,
        /** Refused; asking again will not help. */
        REJECTED,
        /** The engine does not have the block. */
        MISSING
    }
}
