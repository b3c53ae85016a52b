package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class AnswerTextTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "I'm here to help you understand the topic",
                "no no",
                "haha",
                "a half character at the end \uFFFD",
                "t17 t18 t17 t18 t17 t18 t17 t18"
            })
    void soundText_isNotOdd(String text) {
        assertThat(AnswerText.oddity(text)).isEmpty();
    }

    @Test
    void unsoundText_isToldByWhatIsWrong() {
        assertThat(AnswerText.oddity(" \n ")).hasValue("its answer is blank");
        assertThat(AnswerText.oddity(" word".repeat(9)))
                .hasValueSatisfying(told -> assertThat(told).contains("again and again"));
        assertThat(AnswerText.oddity("!".repeat(40)))
                .hasValueSatisfying(told -> assertThat(told).contains("again and again"));
        assertThat(AnswerText.oddity("half \uFFFD in the middle"))
                .hasValueSatisfying(told -> assertThat(told).contains("no characters"));
    }
}
