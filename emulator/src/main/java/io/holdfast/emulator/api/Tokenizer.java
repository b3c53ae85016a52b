package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Model;
import java.util.Locale;

/**
 * Text to tokens and back, always the same way.
 *
 * <p>Three promises, which tests hold every tokenizer to: what an emulated model says becomes the tokens that it was
 * when it comes back within a prompt, since only then does a conversation find its past in the cache; the tokens of a
 * text that goes on with a space and a word begin with the tokens of the text; and any text at all has tokens.
 */
public sealed interface Tokenizer permits PieceTokenizer, WordTokenizer {
    /** Marks of a chat template, which are one token each wherever they stand. */
    String TURN = "<|im_start|>";

    String END_OF_TURN = "<|im_end|>";

    /** Texts longer than this are worth counting before their tokens are made. */
    int MANY = 1 << 20;

    int[] tokens(String text);

    /** Number of tokens in the text. */
    default int count(String text) {
        return tokens(text).length;
    }

    /** No token's text is longer. */
    int longest();

    /** Text of one token; the text of an answer is that of its tokens, one after the other. */
    String text(int token);

    /** Token ids are below this. */
    int vocabulary();

    /** Number of tokens, from 0 on, that the emulated model chooses from. */
    int spoken();

    /** The emulated model that speaks this way. */
    default Model model(long seed) {
        return Model.seeded(seed, spoken());
    }

    default boolean has(long token) {
        return token >= 0 && token < vocabulary();
    }

    default String text(int[] tokens) {
        StringBuilder text = new StringBuilder();
        for (int token : tokens) {
            text.append(has(token) ? text(token) : "");
        }
        return text.toString();
    }

    /** {@code pieces}, which is like a real one, or {@code words}, whose tokens can be read and counted by eye. */
    static Tokenizer named(String name) {
        return switch (name.toLowerCase(Locale.ROOT)) {
            case "pieces" -> new PieceTokenizer();
            case "words" -> new WordTokenizer();
            default ->
                throw new IllegalArgumentException("There is no tokenizer \"" + name + "\"; use pieces or words.");
        };
    }
}
