package io.holdfast.core.effect;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * One request's first token, as the sender of the request saw it.
 *
 * @param seconds from sending the request to its first token
 * @param promptTokens how long its prompt was
 * @param cachedTokens how much of that the engine said it found in its cache; absent where it did not say
 * @param requestClass what kind of request it was, in the reporter's words; effects are told apart for a few of them
 */
public record FirstToken(double seconds, int promptTokens, OptionalInt cachedTokens, Optional<String> requestClass) {
    private static final double LONGEST_SECONDS = 86_400;
    private static final int LONGEST_CLASS = 64;

    /** @throws IllegalArgumentException with one sentence, where that cannot be */
    public FirstToken {
        if (!(seconds > 0 && seconds <= LONGEST_SECONDS)) {
            throw new IllegalArgumentException("A first token comes after more than 0 and at most 86400 seconds, and "
                    + seconds + " is reported: give seconds from sending the request.");
        }
        if (promptTokens < 1) {
            throw new IllegalArgumentException(
                    "A prompt has at least one token, and " + promptTokens + " is reported: give its length.");
        }
        int cached = cachedTokens.orElse(0);
        if (cached < 0 || cached > promptTokens) {
            throw new IllegalArgumentException(
                    "Of a prompt of " + promptTokens + " tokens at most as many are cached, and " + cached
                            + " is reported: leave it out where the engine does not say.");
        }
        if (requestClass
                .filter(name -> name.isBlank() || name.length() > LONGEST_CLASS)
                .isPresent()) {
            throw new IllegalArgumentException("A class of requests has a name of 1 to " + LONGEST_CLASS
                    + " characters: give it another one, or none.");
        }
    }

    /** Creates the report of a request of no class, whose cached tokens nobody reported. */
    public static FirstToken of(double seconds, int promptTokens) {
        return new FirstToken(seconds, promptTokens, OptionalInt.empty(), Optional.empty());
    }
}
