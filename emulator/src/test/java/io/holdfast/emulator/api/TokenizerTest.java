package io.holdfast.emulator.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class TokenizerTest {
    @Test
    void tokenizer_printedTokensComeBackAsTheyWere() {
        assertThat(Tokenizer.tokens("t17" + Tokenizer.text(List.of(5, 31_999)))).containsExactly(17, 5, 31_999);
        assertThat(Tokenizer.tokens("same words")).isEqualTo(Tokenizer.tokens(" same\n words "));
        assertThat(Tokenizer.tokens("two")).isNotEqualTo(Tokenizer.tokens("words"));
    }

    @Test
    void tokenizer_longerConversation_continuesTheShorterOnesTokens() {
        List<Tokenizer.Turn> first = List.of(new Tokenizer.Turn("user", "a b"));
        List<Tokenizer.Turn> more = List.of(
                new Tokenizer.Turn("user", "a b"),
                new Tokenizer.Turn("assistant", "t1 t2"),
                new Tokenizer.Turn("user", "c"));
        int[] start = Tokenizer.chatTokens(first);
        assertThat(Arrays.copyOf(Tokenizer.chatTokens(more), start.length)).isEqualTo(start);
    }
}
