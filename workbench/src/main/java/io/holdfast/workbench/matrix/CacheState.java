package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.journal.RequestRecord;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/*
 * Cold, warm, hot
 * ===============
 *
 * What a client can bring about, and what it can check by the server's own count of cached tokens:
 *
 *   cold   the prompt was never asked for since the cache was emptied, or is a text of its own: nothing of it is cached
 *   hot    the same prompt was asked for right before: all of it is cached, but for what is left of a block at its end
 *   warm   the same prompt was requested, and then so much else that it cannot be on the GPU any more: what is cached
 *          of it came from a lower tier
 *
 * Nearly all servers say how many tokens were cached, and not where. So that a warm one is not a hot one rests on what
 * was sent in between, as large as the cache on the GPU; and on a server without a lower tier nothing is cached then,
 * which makes the leg invalid and not a slow warm one.
 */

/** Place of a prompt's cached blocks when it is requested. */
public enum CacheState {
    /** Never asked for since the cache was emptied. */
    COLD,
    /** Asked for before, and then more than the GPU's cache holds. */
    WARM,
    /** Asked for right before. */
    HOT;

    /** Tokens that all prompts of chats have in common. */
    private static final int TEMPLATE = 16;

    /** Returns the word in ids. */
    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<CacheState> named(String word) {
        return List.of(values()).stream()
                .filter(state -> state.word().equals(word))
                .findFirst();
    }

    /** Returns true if the server reported the cached tokens of all requests that were answered. */
    static boolean isTold(List<RequestRecord> requests) {
        return requests.stream()
                .filter(RequestRecord::isOk)
                .allMatch(request -> request.cachedTokens().isPresent()
                        && request.promptTokens().isPresent());
    }

    /**
     * Why requests did not find their prompts like this, in a clause; absent where they did.
     *
     * @param page tokens of a block of the server's cache
     */
    Optional<String> broken(List<RequestRecord> requests, int page) {
        return requests.stream()
                .filter(request -> request.isOk() && request.cachedTokens().isPresent())
                .filter(request -> !holds(request, page))
                .findFirst()
                .map(request -> "it was to be " + word() + ", and request " + request.number() + " found "
                        + request.cachedTokens().getAsInt() + " of "
                        + request.promptTokens().orElse(0) + " tokens cached");
    }

    private boolean holds(RequestRecord request, int page) {
        int cached = request.cachedTokens().orElse(0);
        int prompt = request.promptTokens().orElse(0);
        return switch (this) {
            case COLD -> cached <= TEMPLATE;
            case WARM -> cached > TEMPLATE;
            case HOT -> cached >= prompt - Math.max(page, TEMPLATE) - TEMPLATE;
        };
    }
}
