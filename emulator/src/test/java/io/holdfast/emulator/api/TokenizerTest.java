package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.api.ChatTemplate.Turn;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenizerTest {
    private static final String PROSE = "It was the best of times, it was the worst of times, it was the age of"
        + " wisdom, it was the age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was"
        + " the season of Light, it was the season of Darkness, it was the spring of hope, it was the winter of"
        + " despair.";
    private static final String CODE =
            "def add(first, second):\n    \"\"\"Adds.\"\"\"\n    return first + second  # 12345\n\n\n"
                    + "class HttpServer2:\n\tPORT = 0x1F90\n";
    private static final String MIXED =
            "\u4f60\u597d\uff0c\u4e16\u754c! caf\u00e9 \ud83d\ude00 \u00a0\u3000 \r\n\t  end   ";

    private static final Tokenizer PIECES = Tokenizer.named("pieces");

    @Test
    void pieces_anyText_comesBackFromItsTokens() {
        for (String text :
                List.of("", PROSE, CODE, MIXED, "A", "  ", "\n\n\n", "<|im_start|>user\nhi<|im_end|>", "<|im")) {
            assertThat(PIECES.text(PIECES.tokens(text))).isEqualTo(text);
        }
        SplittableRandom random = new SplittableRandom(7);
        String alphabet = " \n\tabzAZ09_.,<|>\u4e2d\u00e9\ud83d\ude00";
        for (int i = 0; i < 2_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int length = random.nextInt(40); length > 0; length--) {
                text.append(alphabet.charAt(random.nextInt(alphabet.length())));
            }
            assertThat(PIECES.text(PIECES.tokens(text.toString()))).isEqualTo(text.toString());
            assertThat(PIECES.count(text.toString())).isEqualTo(PIECES.tokens(text.toString()).length);
        }
    }

    @Test
    void pieces_areAboutAsLongAsThoseOfARealTokenizer() {
        assertThat(PROSE.length() / (double) PIECES.count(PROSE)).isBetween(3.0, 5.0);
        assertThat(CODE.length() / (double) PIECES.count(CODE)).isBetween(2.2, 5.0);
    }

    @Test
    void pieces_everyTokenOfTheVocabulary_hasATextThatComesBack() {
        for (int token = 0; token < PIECES.vocabulary(); token++) {
            String text = PIECES.text(token);
            assertThat(PIECES.text(PIECES.tokens(text))).isEqualTo(text);
        }
        for (int token = 0; token < PIECES.spoken(); token++) {
            assertThat(PIECES.tokens(PIECES.text(token))).containsExactly(token);
        }
        assertThat(PIECES.has(PIECES.vocabulary())).isFalse();
        assertThat(PIECES.has(-1)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"pieces", "words"})
    void whatTheModelSays_comesBackAsTheTokensItWas(String name) {
        Tokenizer tokenizer = Tokenizer.named(name);
        SplittableRandom random = new SplittableRandom(3);
        for (int i = 0; i < 500; i++) {
            int[] said =
                    random.ints(random.nextInt(1, 30), 0, tokenizer.spoken()).toArray();
            assertThat(tokenizer.tokens(tokenizer.text(said))).isEqualTo(said);
            int[] before = tokenizer.tokens("some prompt\n");
            int[] all = tokenizer.tokens("some prompt\n" + tokenizer.text(said));
            assertThat(Arrays.copyOfRange(all, before.length, all.length)).isEqualTo(said);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"pieces", "words"})
    void aTextThatGoesOnWithAWord_continuesTheTokensOfTheText(String name) {
        Tokenizer tokenizer = Tokenizer.named(name);
        for (String start : List.of(PROSE, CODE.strip(), MIXED.strip(), "x", "1", "end.", "HTTP")) {
            int[] before = tokenizer.tokens(start);
            for (String more : List.of(" and", " And more", " 42", "\nnext", " \u4e16")) {
                int[] after = tokenizer.tokens(start + more);
                assertThat(Arrays.copyOf(after, before.length))
                        .as(start + "|" + more)
                        .isEqualTo(before);
            }
        }
    }

    @Test
    void words_areCountedByEye() {
        Tokenizer words = Tokenizer.named("words");
        assertThat(words.tokens("t17 t5 t31999")).containsExactly(17, 5, 31_999);
        assertThat(words.tokens("same words")).isEqualTo(words.tokens(" same\n words "));
        assertThat(words.tokens("two")).isNotEqualTo(words.tokens("words"));
    }

    @Test
    void longerConversation_continuesTheShorterOnesTokens() {
        int[] asked = PIECES.tokens(ChatTemplate.CHATML.render(List.of(new Turn("user", "a b")), true));
        String answer = PIECES.text(new int[] {4, 711, 9});
        int[] later = PIECES.tokens(ChatTemplate.CHATML.render(
                List.of(new Turn("user", "a b"), new Turn("assistant", answer), new Turn("user", "c")), true));
        assertThat(Arrays.copyOf(later, asked.length)).isEqualTo(asked);
        assertThat(Arrays.copyOfRange(later, asked.length, asked.length + 3)).containsExactly(4, 711, 9);
    }

    @Test
    void thinkingTemplate_rewritesTheLastAnswer_soThatWarmingWithItMisleads() {
        List<Turn> warm = List.of(new Turn("user", "a b"), new Turn("assistant", "c d"));
        List<Turn> goesOn = List.of(new Turn("user", "a b"), new Turn("assistant", "c d"), new Turn("user", "e"));
        String warmed = ChatTemplate.CHATML_THINK.render(warm, false);
        String asked = ChatTemplate.CHATML_THINK.render(goesOn, true);
        assertThat(warmed).contains("<think>\n\n</think>\n\nc d");
        assertThat(asked).doesNotContain("<think>").doesNotStartWith(warmed);
        assertThat(ChatTemplate.CHATML.render(goesOn, true)).startsWith(ChatTemplate.CHATML.render(warm, false));
    }
}
