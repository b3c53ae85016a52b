package io.holdfast.core.backend;

import java.util.OptionalLong;

/**
 * Abilities of a backend on the engine that it was probed on.
 *
 * @param canPin whether a pin would do anything there
 * @param why one sentence: what was asked, what the engine said, and what would change it
 * @param caches how many caches a pin reaches, each of which has to be followed; 1 where that does not matter
 * @param passing whether it cannot for now only, so that what is wanted waits and is not refused
 * @param mostTokens how much the engine lets it hold in all; absent where the engine sets no bound of its own
 */
public record Capabilities(boolean canPin, String why, int caches, boolean passing, OptionalLong mostTokens) {
    /** Abilities of a backend that has not answered yet. */
    public static final Capabilities NOT_ASKED = new Capabilities(false, "the backend was not probed yet");

    public Capabilities(boolean canPin, String why) {
        this(canPin, why, 1);
    }

    public Capabilities(boolean canPin, String why, int caches) {
        this(canPin, why, caches, false, OptionalLong.empty());
    }

    /** Returns the first sentence of the reason: all of it, but for a choice among several. */
    public String shortly() {
        int end = why.indexOf(". ");
        return end < 0 ? why : why.substring(0, end + 1);
    }

    /** Returns true if they are what a backend answered. */
    public boolean asked() {
        return !equals(NOT_ASKED);
    }

    /** Returns these abilities on an engine that lets so much be held in all. */
    public Capabilities upTo(long tokens) {
        return new Capabilities(canPin, why, caches, passing, OptionalLong.of(tokens));
    }

    /** Returns these abilities with another reason. */
    Capabilities saying(String another) {
        return new Capabilities(canPin, another, caches, passing, mostTokens);
    }

    /** It cannot for now. */
    static Capabilities notNow(String why) {
        return new Capabilities(false, why, 1, true, OptionalLong.empty());
    }
}
