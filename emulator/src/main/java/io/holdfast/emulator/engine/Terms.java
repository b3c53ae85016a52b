package io.holdfast.emulator.engine;

import java.util.List;

/**
 * What a request asks for beside its prompt; an empty text is none.
 *
 * @param maxNew tokens of the answer, at least 1
 * @param salt goes into the names of the prompt's blocks: prompts with different salts share nothing
 * @param extraKey separates prompts within the cache and does not go into names (SGLang)
 * @param priority as the client gave it, 0 without; what it means is the engine's affair
 * @param session that this request's prefix is referenced by (SGLang)
 * @param reportsHits whether blocks that were found are announced again (vLLM's full report mode)
 * @param forced the answer's first tokens where the client sets them, to compare two engines
 */
public record Terms(
        int maxNew,
        String salt,
        String extraKey,
        int priority,
        String session,
        boolean reportsHits,
        List<Integer> forced) {

    public Terms {
        forced = List.copyOf(forced);
    }

    /** So many tokens, and nothing special. */
    public static Terms of(int maxNew) {
        return new Terms(maxNew, "", "", 0, "", false, List.of());
    }

    public Terms withSalt(String value) {
        return new Terms(maxNew, value, extraKey, priority, session, reportsHits, forced);
    }

    public Terms withExtraKey(String value) {
        return new Terms(maxNew, salt, value, priority, session, reportsHits, forced);
    }

    public Terms withPriority(int value) {
        return new Terms(maxNew, salt, extraKey, value, session, reportsHits, forced);
    }

    public Terms withSession(String value) {
        return new Terms(maxNew, salt, extraKey, priority, value, reportsHits, forced);
    }

    public Terms withReportsHits(boolean value) {
        return new Terms(maxNew, salt, extraKey, priority, session, value, forced);
    }

    public Terms withForced(List<Integer> value) {
        return new Terms(maxNew, salt, extraKey, priority, session, reportsHits, value);
    }
}
