package io.holdfast.embed.cell;

/**
 * One engine's copy of a hold of the fleet.
 *
 * @param hold id of the hold
 * @param tokens tokens of it that the engine keeps now
 * @param reason why it is in that state, in one sentence of at most {@link #LONGEST_REASON} characters, which never has
 *     a token or a text of a prompt
 */
public record HeldCopy(String hold, State state, int tokens, String reason) {
    public static final int LONGEST_REASON = 200;

    /** Stages of a copy, by their place in the form: new ones come last. */
    public enum State {
        /** Wanted and not held yet: the reason says what it waits for. */
        WAITING,
        HELD,
        /** Its lease is over or it was given up; the unpin is under way. */
        EXPIRING,
        /** Was held and is not, and not by our doing. */
        LOST,
        /** Not held here, for the reason given. */
        REFUSED
    }

    /** @throws IllegalArgumentException with one sentence, where it is beyond its bounds */
    public HeldCopy {
        Form.checkHold(hold);
        Form.check(
                tokens >= 0 && tokens <= HotEnd.MOST_TOKENS,
                "A copy has at most " + HotEnd.MOST_TOKENS + " tokens, and none below 0.");
        Form.checkText(reason, LONGEST_REASON, "A reason");
    }
}
