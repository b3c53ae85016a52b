package io.holdfast.core.backend;

import java.util.OptionalLong;

/**
 * What an engine made of a pin or an unpin.
 *
 * @param reason one sentence that a person can act on
 * @param cachedTokens of a prefix that was sent, the tokens that the engine found in its cache; absent where it does not tell
 */
public record Outcome(Kind kind, String reason, OptionalLong cachedTokens) {
    public Outcome(Kind kind, String reason) {
        this(kind, reason, OptionalLong.empty());
    }

    /** The six answers. */
    public enum Kind {
        /** Done as asked. */
        ACCEPTED,
        /** Done in part. */
        CLIPPED,
        /** No clear answer (a time-out, a broken connection): it may have been done, or may still be. */
        DEFERRED,
        /** Refused, and not done. */
        REJECTED,
        /** The engine does not have it, so nothing was done. */
        MISSING,
        /** The call never left, so nothing was done; asking again may help. */
        NOT_SENT
    }
}
