package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Model;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * Each word between white space is one token: {@code t17} is token 17, any other word a hash of its bytes.
 *
 * <p>Prompts can be counted and written by eye, and blocks foreseen. White space does not count, and a text that was not made
 * of printed tokens cannot be had back from its tokens.
 */
final class WordTokenizer implements Tokenizer {
    private static final int VOCABULARY = 32_000;
    private static final Pattern MARK = Pattern.compile("(<\\|im_start\\|>|<\\|im_end\\|>)");
    private static final Pattern WHITE_SPACE = Pattern.compile("\\s+");
    private static final Pattern PRINTED_TOKEN = Pattern.compile("t(\\d{1,9})");

    @Override
    public int[] tokens(String text) {
        return WHITE_SPACE
                .splitAsStream(MARK.matcher(text).replaceAll(" $1 "))
                .filter(word -> !word.isEmpty())
                .mapToInt(WordTokenizer::token)
                .toArray();
    }

    @Override
    public String text(int token) {
        return " t" + token;
    }

    @Override
    public int longest() {
        return Integer.MAX_VALUE;
    }

    @Override
    public int vocabulary() {
        return VOCABULARY;
    }

    @Override
    public int spoken() {
        return VOCABULARY;
    }

    private static int token(String word) {
        var printed = PRINTED_TOKEN.matcher(word);
        if (printed.matches() && Integer.parseInt(printed.group(1)) < VOCABULARY) {
            return Integer.parseInt(printed.group(1));
        }
        CRC32 crc = new CRC32();
        crc.update(word.getBytes(StandardCharsets.UTF_8));
        return (int) Long.remainderUnsigned(Model.mix(crc.getValue()), VOCABULARY);
    }
}
