package io.holdfast.embed.cell;

/**
 * One prefix that is hot at an engine, by the name of its last block.
 *
 * @param name its name by {@link io.holdfast.core.hash.ContentNames}
 * @param tokens tokens from the first one of the prompt to its end
 * @param touchesAnHour how often requests used it here of late
 * @param resident whether all of it is in this engine's cache
 * @param held whether this engine holds it
 */
public record HotEnd(long name, int tokens, float touchesAnHour, boolean resident, boolean held) {
    static final int MOST_TOKENS = 1 << 26;
    private static final float MOST_TOUCHES = 1e9f;

    /** @throws IllegalArgumentException with one sentence, where no prefix is like that */
    public HotEnd {
        Form.check(name != 0, "Zero is no block's name.");
        checkTokens(tokens);
        Form.check(
                touchesAnHour >= 0 && touchesAnHour <= MOST_TOUCHES,
                "A prefix has zero to " + MOST_TOUCHES + " touches an hour, not " + touchesAnHour + ".");
    }

    static void checkTokens(int tokens) {
        Form.check(
                tokens >= 1 && tokens <= MOST_TOKENS,
                "A prefix has 1 to " + MOST_TOKENS + " tokens, not " + tokens + ".");
    }
}
