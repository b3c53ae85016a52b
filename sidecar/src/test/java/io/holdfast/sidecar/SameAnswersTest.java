package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is held never changes what an engine answers. */
class SameAnswersTest {
    private static final int ACTIONS = 100;
    private static final int PROMPTS = 8;

    @Test
    void answers_amidAHundredPinsAndReleases_areTheSameTokens(@TempDir Path state) {
        try (TestBed bed = TestBed.pinning(state)) {
            SplittableRandom random = new SplittableRandom(12);
            List<JsonArray> before = answers(bed);
            assertThat(before).as("prompts are answered differently").doesNotHaveDuplicates();
            List<String> held = new ArrayList<>();
            int pinned = 0;
            for (int i = 0; i < ACTIONS; i++) {
                if (!held.isEmpty() && random.nextInt(3) == 0) {
                    bed.client.release(held.remove(random.nextInt(held.size())));
                } else {
                    int[] prompt = prompt(random.nextInt(PROMPTS));
                    bed.engine.generate(prompt);
                    Http.Answer answer = bed.client.hold(prompt, 600);
                    if (answer.status() == 201) {
                        held.add(answer.json().getString("id"));
                        pinned++;
                    }
                }
                int one = random.nextInt(PROMPTS);
                assertThat(bed.engine.output(prompt(one)))
                        .as("prompt %d after action %d", one, i)
                        .isEqualTo(before.get(one));
            }
            assertThat(pinned).isGreaterThan(10);
            assertThat(answers(bed)).isEqualTo(before);
        }
    }

    private static List<JsonArray> answers(TestBed bed) {
        List<JsonArray> answers = new ArrayList<>();
        for (int i = 0; i < PROMPTS; i++) {
            answers.add(bed.engine.output(prompt(i)));
        }
        return answers;
    }

    private static int[] prompt(int number) {
        return EngineClient.prompt(40 + number, 96);
    }
}
