package io.holdfast.rules.engine;

import java.util.List;
import java.util.Optional;

/**
 * Options of a request beside its prompt; an empty text is no option.
 *
 * @param maxNew tokens of the answer
 * @param salt goes into the names of the prompt's blocks: prompts with different salts share nothing
 * @param extraKey separates prompts within the cache and does not go into names (SGLang)
 * @param priority as the client gave it, 0 without; what it means is the engine's affair
 * @param session that this request's prefix is referenced by (SGLang)
 * @param reportsHits whether blocks that were found are announced again (vLLM's full report mode)
 * @param ignoresEnd whether no token ends the answer early, so that it says all it may (SGLang counts on that)
 * @param forced the answer's first tokens where the client sets them, to compare two engines
 * @param order for the connector that holds blocks (vLLM)
 */
public record RequestOptions(
        int maxNew,
        String salt,
        String extraKey,
        int priority,
        String session,
        boolean reportsHits,
        boolean ignoresEnd,
        List<Integer> forced,
        Optional<HoldOrder> order) {

    public RequestOptions {
        forced = List.copyOf(forced);
    }

    /** So many tokens, and nothing special. */
    public static RequestOptions of(int maxNew) {
        return new RequestOptions(maxNew, "", "", 0, "", false, false, List.of(), Optional.empty());
    }

    public RequestOptions withSalt(String value) {
        return new RequestOptions(maxNew, value, extraKey, priority, session, reportsHits, ignoresEnd, forced, order);
    }

    public RequestOptions withExtraKey(String value) {
        return new RequestOptions(maxNew, salt, value, priority, session, reportsHits, ignoresEnd, forced, order);
    }

    public RequestOptions withPriority(int value) {
        return new RequestOptions(maxNew, salt, extraKey, value, session, reportsHits, ignoresEnd, forced, order);
    }

    public RequestOptions withSession(String value) {
        return new RequestOptions(maxNew, salt, extraKey, priority, value, reportsHits, ignoresEnd, forced, order);
    }

    public RequestOptions withReportsHits(boolean value) {
        return new RequestOptions(maxNew, salt, extraKey, priority, session, value, ignoresEnd, forced, order);
    }

    public RequestOptions withIgnoresEnd(boolean value) {
        return new RequestOptions(maxNew, salt, extraKey, priority, session, reportsHits, value, forced, order);
    }

    public RequestOptions withForced(List<Integer> value) {
        return new RequestOptions(maxNew, salt, extraKey, priority, session, reportsHits, ignoresEnd, value, order);
    }

    public RequestOptions withOrder(HoldOrder value) {
        return new RequestOptions(
                maxNew, salt, extraKey, priority, session, reportsHits, ignoresEnd, forced, Optional.of(value));
    }
}
