package io.holdfast.loadtest.client;

import java.util.Arrays;
import java.util.Optional;

/** Checks that an answer reads like one; its text is kept nowhere. */
final class AnswerText {
    private static final int LEAST_WORDS = 8;
    private static final char NO_CHARACTER = '\uFFFD';

    private AnswerText() {}

    /** Returns what is odd about a text that has tokens, in one clause. */
    static Optional<String> oddity(CharSequence answer) {
        String text = answer.toString();
        if (text.isEmpty()) {
            // Tokens were counted and none was shown, as of half a character.
            return Optional.empty();
        }
        String stripped = text.strip();
        if (stripped.isEmpty()) {
            return Optional.of("its answer is blank");
        }
        // An answer that is cut off by its length may end in half a character.
        int broken = stripped.indexOf(NO_CHARACTER);
        if (broken >= 0 && broken < stripped.length() - 1) {
            return Optional.of("its answer has bytes that are no characters");
        }
        String[] words = stripped.split("\\s+", -1);
        boolean oneWord = words.length >= LEAST_WORDS && Arrays.stream(words).allMatch(words[0]::equals);
        boolean oneLetter = words.length == 1
                && stripped.length() >= LEAST_WORDS
                && stripped.chars().allMatch(each -> each == stripped.charAt(0));
        return oneWord || oneLetter ? Optional.of("its answer is one token again and again") : Optional.empty();
    }
}
