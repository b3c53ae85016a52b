package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.Model;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * The emulated tokenizer: text is cut at white space and each word is one token.
 *
 * <p>{@code t17} is token 17, any other word a hash of its bytes. Tokens print as {@code t17}, so an answer that comes back
 * within the next prompt becomes the tokens it was, and finds its blocks in the cache.
 */
public final class Tokenizer {
    public static final String NAME = "holdfast-emulated";
    public static final int VOCABULARY = 32_000;

    private static final Pattern WHITE_SPACE = Pattern.compile("\\s+");
    private static final Pattern PRINTED_TOKEN = Pattern.compile("t(\\d{1,9})");

    private Tokenizer() {}

    static int[] tokens(String text) {
        return WHITE_SPACE
                .splitAsStream(text)
                .filter(word -> !word.isEmpty())
                .mapToInt(Tokenizer::token)
                .toArray();
    }

    static String text(int token) {
        return " t" + token;
    }

    static String text(List<Integer> tokens) {
        StringBuilder text = new StringBuilder();
        tokens.forEach(token -> text.append(text(token)));
        return text.toString();
    }

    /** A turn of a conversation, in the template that chat prompts are made of. */
    record Turn(String role, String content) {}

    /** The conversation so far and the beginning of the answer; a longer conversation continues a shorter one's tokens. */
    static int[] chatTokens(List<Turn> turns) {
        List<String> words = new ArrayList<>();
        for (Turn turn : turns) {
            words.add("<|" + turn.role() + "|>");
            words.add(turn.content());
            words.add("<|end|>");
        }
        words.add("<|assistant|>");
        return tokens(String.join(" ", words));
    }

    private static int token(String word) {
        var printed = PRINTED_TOKEN.matcher(word);
        if (printed.matches()) {
            return Integer.parseInt(printed.group(1));
        }
        CRC32 crc = new CRC32();
        crc.update(word.getBytes(StandardCharsets.UTF_8));
        return (int) Long.remainderUnsigned(Model.mix(crc.getValue()), VOCABULARY);
    }
}
