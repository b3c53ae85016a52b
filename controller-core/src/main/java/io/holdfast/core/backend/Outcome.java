package io.holdfast.core.backend;

import java.util.OptionalLong;

/**
 * An engine's answer to a pin or an unpin.
 *
 * @param reason one sentence that a person can act on
 * @param cachedTokens of a prefix that was sent, the tokens that the engine found in its cache; absent where it does
 *     not tell
 * @param caches of a pin that went otherwise than asked: in how many caches it was done; 0 where that is not told
 * @param forNow of a refusal: what was in the way may go, so that asking again later may help
 */
public record Outcome(Kind kind, String reason, OptionalLong cachedTokens, int caches, boolean forNow) {
    public Outcome(Kind kind, String reason, OptionalLong cachedTokens) {
        this(kind, reason, cachedTokens, 0, false);
    }

    public Outcome(Kind kind, String reason, int caches) {
        this(kind, reason, OptionalLong.empty(), caches, false);
    }

    public Outcome(Kind kind, String reason) {
        this(kind, reason, OptionalLong.empty(), 0, false);
    }

    /** Refused and not done, for want of what others have and may give back. */
    public static Outcome refusedForNow(String reason) {
        return new Outcome(Kind.REJECTED, reason, OptionalLong.empty(), 0, true);
    }

    /** The six answers. */
    public enum Kind {
        /** Done as asked. */
        ACCEPTED,
        /** Done otherwise than asked: in part, or in more caches than were known to have it. A pin is taken back. */
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
