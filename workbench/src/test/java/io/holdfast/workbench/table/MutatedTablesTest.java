package io.holdfast.workbench.table;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.table.Review.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Tables that were tampered with are reviewed or refused in a sentence, and nothing else. */
class MutatedTablesTest {
    private static final int ROUNDS = "deep".equals(System.getProperty("holdfast.scale")) ? 20_000 : 400;
    private static final List<String> FILES = List.of(
            "s0/sweeps.md",
            "s1/staggered.csv",
            "s4/expected_scaling.csv",
            "s4/expected_backends.csv",
            "s4/expected_kernels.csv",
            "s4/expected_phases.md",
            "s4/expected_story.csv");
    private static final List<String> PIECES =
            List.of("0", "-1", "", "|", ",", "->", "%", "x", "1e9", "NaN", "baseline", "first", " ", "(", ")", "K");

    @Test
    void tamperedTables_areReviewedOrRefused() throws IOException {
        List<String> texts = new ArrayList<>();
        for (String file : FILES) {
            texts.add(Files.readString(Seeds.file(file)));
        }
        int reviewed = 0;
        int refused = 0;
        for (int round = 0; round < ROUNDS; round++) {
            SplittableRandom random = new SplittableRandom(round);
            int which = random.nextInt(texts.size());
            String text = texts.get(which);
            for (int change = 0; change <= random.nextInt(3); change++) {
                int at = random.nextInt(text.length());
                int cut = random.nextInt(1, 5);
                text = text.substring(0, at)
                        + PIECES.get(random.nextInt(PIECES.size()))
                        + text.substring(Math.min(text.length(), at + cut));
            }
            try {
                Review review = Review.of(
                        TableText.of(FILES.get(which), text),
                        new Settings(Set.of(), List.of(15.0), "http://127.0.0.1:1"));
                assertThat(review.verdict().map(verdict -> verdict.headline()).orElse(""))
                        .doesNotStartWith("REAL");
                reviewed++;
            } catch (LoadTestException e) {
                assertThat(e).hasMessageEndingWith(".");
                refused++;
            } catch (RuntimeException e) {
                throw new AssertionError("round " + round + ":\n" + text, e);
            }
        }
        assertThat(reviewed).isGreaterThan(ROUNDS / 10);
        assertThat(refused).isGreaterThan(ROUNDS / 10);
    }
}
