package io.holdfast.workbench.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.preset.Accuracy.Question;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class AccuracyTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "She has 3 apples and 4 pears, so 7.|7",
                "The answer is 1,234|1234",
                "#### -12|-12",
                "12 eggs at $3 each make $36.00|0"
            })
    void lastWholeNumber_isTheAnswer(String said, String number) {
        assertThat(Accuracy.lastInteger(said)).hasValue(new BigInteger(number));
        assertThat(Accuracy.lastInteger("none at all")).isEmpty();
    }

    @Test
    void eightySevenOfAHundred_areTheirShare() throws IOException {
        Accuracy accuracy = answered(87);
        assertThat(accuracy.right()).isEqualTo(87);
        assertThat(accuracy.share()).isEqualTo(0.87);
        Path file = folder.resolve("a.json");
        Files.writeString(file, accuracy.text());
        assertThat(Accuracy.read(file)).isEqualTo(accuracy);
    }

    @Test
    void prompts_beginWithTheShots_andAskTheOthers() {
        List<String> prompts = Accuracy.prompts(questions(105), 5, 100);
        assertThat(prompts)
                .hasSize(100)
                .allMatch(prompt -> prompt.startsWith("Question: What is 0 + 1?\nAnswer: 1\n\n"));
        assertThat(prompts.getFirst()).endsWith("Question: What is 5 + 1?\nAnswer:");
        assertThatThrownBy(() -> Accuracy.prompts(questions(5), 5, 100))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("none is left to ask");
    }

    @Test
    void otherArm_isComparedQuestionByQuestion() {
        assertThat(answered(80).against(answered(87)))
                .isEqualTo(
                        "Against 0.87 of the other arm: -0.070 [-0.120, -0.020]; 7 of 100 answers read differently.");
        assertThat(answered(87).against(answered(87))).contains("+0.000 [+0.000, +0.000]; 0 of 100");
        Accuracy fewer = Accuracy.of("m", questions(10), 5, List.of("6"));
        assertThatThrownBy(() -> answered(87).against(fewer)).hasMessageContaining("other questions");
    }

    @Test
    void questionWithoutANumber_isNamedByItsLine() throws IOException {
        Path file = folder.resolve("q.jsonl");
        Files.writeString(file, "{\"question\": \"a\", \"answer\": \"1\"}\n{\"question\": \"b\", \"answer\": \"x\"}\n");
        assertThatThrownBy(() -> Accuracy.questions(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("Line 2 of ");
        Files.writeString(file, "{\"question\": \"a\", \"answer\": \"so 1,000\"}\n\n");
        assertThat(Accuracy.questions(file)).containsExactly(new Question("a", "so 1,000"));
    }

    private static Accuracy answered(int right) {
        List<String> said = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            said.add(i < right ? "That makes " + (i + 6) + "." : "I do not know.");
        }
        return Accuracy.of("m", questions(105), 5, said);
    }

    private static List<Question> questions(int number) {
        List<Question> questions = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            questions.add(new Question("What is " + i + " + 1?", Integer.toString(i + 1)));
        }
        return questions;
    }
}
