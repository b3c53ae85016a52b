package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/*
 * A tokenizer without a vocabulary file: a token's number can be computed from its text, and its text from its number.
 *
 * The pieces
 * ----------
 * Text is cut where real tokenizers cut it: a word takes the one space before it along; letters, digits, white space and the
 * rest never share a piece; a change from small to capital letters begins a new piece. A word that is common is one piece,
 * other words are cut into pieces of three letters, of which only the first may be a capital; numbers into three digits;
 * spaces, line ends and common runs of punctuation stay together. Everything else, and so every script that is not Latin,
 * is one token a UTF-16 unit. English prose comes to about four characters a token, code to less.
 *
 *   "tell me of shrimps\n    return 42"  ->  "tell" " me" " of" " shr" "imp" "s" "\n" "   " " return" " " "42"
 *
 * The numbers
 * -----------
 * Four blocks of small-letter pieces come first: with a space before, without, then both again with a capital at the
 * front. Each block has its three-letter pieces first, so that the tokens from 0 on, which the emulated model chooses from,
 * are a space and three small letters: whatever order it says them in, they are cut at the same places when they come back.
 * Then digits, runs of spaces, line ends and tabs, then all UTF-16 units, then the marks of the chat template, the common
 * words (each in four forms as the blocks above) and the common punctuation.
 */
final class PieceTokenizer implements Tokenizer {
    private static final int SHORTEST_COMMON = 4;
    private static final int LONGEST_COMMON = 11;
    private static final int LETTERS = 26;
    private static final int TRIPLES = LETTERS * LETTERS * LETTERS;
    private static final int PAIRS = LETTERS * LETTERS;
    private static final int BLOCK = TRIPLES + PAIRS + LETTERS;
    private static final int DIGITS = 4 * BLOCK;
    private static final int DIGIT_PIECES = 1000 + 100 + 10;
    private static final int LONGEST_RUN = 64;
    private static final String RUNS = " \n\t";
    private static final int RUN = DIGITS + DIGIT_PIECES;
    private static final int UNITS = RUN + RUNS.length() * LONGEST_RUN;
    private static final int MARKS = UNITS + 0x10000;
    private static final List<String> MARK_TEXTS = List.of(TURN, END_OF_TURN, "<|endoftext|>", "<think>", "</think>");

    private static final int COMMON = MARKS + MARK_TEXTS.size();

    /** The common words and runs of punctuation, with their places. */
    private record Common(List<String> words, Map<String, Integer> places, List<String> signs) {
        static Common read() {
            List<String> lines =
                    Resources.text(PieceTokenizer.class, "pieces.txt").lines().toList();
            List<String> words = List.of(lines.getFirst().split(" "));
            Map<String, Integer> places = new HashMap<>();
            for (int i = 0; i < words.size(); i++) {
                places.put(words.get(i), i);
            }
            return new Common(
                    words,
                    places,
                    lines.stream()
                            .skip(1)
                            .distinct()
                            .sorted(Comparator.comparingInt(String::length)
                                    .reversed()
                                    .thenComparing(sign -> sign))
                            .toList());
        }

        int signsFrom() {
            return COMMON + 4 * words.size();
        }
    }

    private final Common common = Common.read();

    private enum Kind {
        SMALL,
        CAPITAL,
        DIGIT,
        RUN,
        OTHER;

        static Kind of(char c) {
            if (c >= 'a' && c <= 'z') {
                return SMALL;
            }
            if (c >= 'A' && c <= 'Z') {
                return CAPITAL;
            }
            if (c >= '0' && c <= '9') {
                return DIGIT;
            }
            return RUNS.indexOf(c) >= 0 ? RUN : OTHER;
        }

        boolean isLetter() {
            return this == SMALL || this == CAPITAL;
        }
    }

    /** One text on its way to tokens. */
    private final class Cut {
        private final String text;
        private final boolean kept;
        private int[] tokens;
        private int count;
        private int at;

        /** @param kept whether the tokens are wanted, and not only their number */
        Cut(String text, boolean kept) {
            this.text = text;
            this.kept = kept;
            this.tokens = new int[kept ? text.length() / 2 + 8 : 0];
        }

        int[] all() {
            run();
            return Arrays.copyOf(tokens, count);
        }

        int count() {
            run();
            return count;
        }

        private void run() {
            while (at < text.length()) {
                switch (Kind.of(text.charAt(at))) {
                    case SMALL, CAPITAL -> piece(false);
                    case DIGIT -> digits();
                    case RUN -> blanks();
                    case OTHER -> other();
                }
            }
        }

        private void add(int token) {
            if (kept) {
                if (count == tokens.length) {
                    tokens = Arrays.copyOf(tokens, count * 2);
                }
                tokens[count] = token;
            }
            count++;
        }

        private Kind kind(int position) {
            return position < text.length() ? Kind.of(text.charAt(position)) : Kind.OTHER;
        }

        private void piece(boolean spaced) {
            int from = at++;
            boolean capital = Kind.of(text.charAt(from)) == Kind.CAPITAL;
            int end = at;
            boolean whole = from == 0 || !Kind.of(text.charAt(from - 1)).isLetter();
            while (whole && end <= from + LONGEST_COMMON && kind(end) == Kind.SMALL) {
                end++;
            }
            if (whole && end - from >= SHORTEST_COMMON && end - from <= LONGEST_COMMON && kind(end) != Kind.CAPITAL) {
                String word = text.substring(from, end).toLowerCase(Locale.ROOT);
                int place = common.places().getOrDefault(word, -1);
                if (place >= 0) {
                    add(COMMON + 4 * place + (spaced ? 0 : 1) + (capital ? 2 : 0));
                    at = end;
                    return;
                }
            }
            while (at < from + 3 && kind(at) == Kind.SMALL) {
                at++;
            }
            int block = (spaced ? 0 : 1) + (capital ? 2 : 0);
            int number = 0;
            for (int i = from; i < at; i++) {
                number = number * LETTERS + (text.charAt(i) | 0x20) - 'a';
            }
            add(block * BLOCK + firstOfLength(at - from) + number);
        }

        private void digits() {
            int from = at;
            int number = 0;
            while (at < from + 3 && kind(at) == Kind.DIGIT) {
                number = number * 10 + text.charAt(at++) - '0';
            }
            add(DIGITS + firstDigitsOfLength(at - from) + number);
        }

        /** The last space before a word goes with the word. */
        private void blanks() {
            char c = text.charAt(at);
            int end = at;
            while (end < text.length() && text.charAt(end) == c && end - at < LONGEST_RUN) {
                end++;
            }
            boolean lends = c == ' ' && kind(end).isLetter();
            int length = end - at - (lends ? 1 : 0);
            if (length > 0) {
                add(RUN + RUNS.indexOf(c) * LONGEST_RUN + length - 1);
            }
            at = end;
            if (lends) {
                piece(true);
            }
        }

        private void other() {
            if (text.charAt(at) == '<') {
                for (int i = 0; i < MARK_TEXTS.size(); i++) {
                    if (text.startsWith(MARK_TEXTS.get(i), at)) {
                        add(MARKS + i);
                        at += MARK_TEXTS.get(i).length();
                        return;
                    }
                }
            }
            for (int i = 0; text.charAt(at) < 0x80 && i < common.signs().size(); i++) {
                if (text.startsWith(common.signs().get(i), at)) {
                    add(common.signsFrom() + i);
                    at += common.signs().get(i).length();
                    return;
                }
            }
            add(UNITS + text.charAt(at++));
        }
    }

    @Override
    public int[] tokens(String text) {
        return new Cut(text, true).all();
    }

    @Override
    public int count(String text) {
        return new Cut(text, false).count();
    }

    @Override
    public int longest() {
        return LONGEST_RUN;
    }

    @Override
    public String text(int token) {
        if (token < DIGITS) {
            return letters(token / BLOCK, token % BLOCK);
        }
        if (token < RUN) {
            return digits(token - DIGITS);
        }
        if (token < UNITS) {
            int run = token - RUN;
            return String.valueOf(RUNS.charAt(run / LONGEST_RUN)).repeat(run % LONGEST_RUN + 1);
        }
        if (token < MARKS) {
            return String.valueOf((char) (token - UNITS));
        }
        if (token < COMMON) {
            return MARK_TEXTS.get(token - MARKS);
        }
        if (token >= common.signsFrom()) {
            return common.signs().get(token - common.signsFrom());
        }
        String word = common.words().get((token - COMMON) / 4);
        int form = (token - COMMON) % 4;
        String cased = form < 2 ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1);
        return (form % 2 == 0 ? " " : "") + cased;
    }

    @Override
    public int vocabulary() {
        return common.signsFrom() + common.signs().size();
    }

    @Override
    public int spoken() {
        return TRIPLES;
    }

    private static String letters(int block, int piece) {
        int length = piece < TRIPLES ? 3 : piece < TRIPLES + PAIRS ? 2 : 1;
        char[] letters = new char[length];
        int rest = piece - firstOfLength(length);
        for (int i = length - 1; i >= 0; i--, rest /= LETTERS) {
            letters[i] = (char) ('a' + rest % LETTERS);
        }
        if (block >= 2) {
            letters[0] = Character.toUpperCase(letters[0]);
        }
        return (block % 2 == 0 ? " " : "") + new String(letters);
    }

    private static String digits(int piece) {
        int length = piece < 1000 ? 3 : piece < 1100 ? 2 : 1;
        List<String> digits = new ArrayList<>();
        int rest = piece - firstDigitsOfLength(length);
        for (int i = 0; i < length; i++, rest /= 10) {
            digits.addFirst(Integer.toString(rest % 10));
        }
        return String.join("", digits);
    }

    private static int firstOfLength(int letters) {
        return letters == 3 ? 0 : letters == 2 ? TRIPLES : TRIPLES + PAIRS;
    }

    private static int firstDigitsOfLength(int digits) {
        return digits == 3 ? 0 : digits == 2 ? 1000 : 1100;
    }
}
