package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What an earlier process saw can make the largest request larger, never smaller. */
final class LearnedSizesTest {
    private static final long SLOT = 300_000_000_000L;

    private final PromptSizes first = new PromptSizes();
    private final PromptSizes next = new PromptSizes();

    @Test
    void largestOfAnEarlierProcess_staysForAnHour_andEverAsTheLargest() {
        first.sample(5_000, 0);
        first.sample(300, 4 * SLOT);
        next.restore(first.learned(4 * SLOT), 0);
        assertThat(next.facts(0).largest()).isEqualTo(5_000);
        assertThat(next.facts(7 * SLOT).largest()).isEqualTo(5_000);
        assertThat(next.facts(8 * SLOT).largest()).as("twelve slots old").isEqualTo(300);
        assertThat(next.facts(12 * SLOT).largest()).isZero();
        assertThat(next.facts(12 * SLOT).largestEver()).isEqualTo(5_000);
        assertThat(next.facts(12 * SLOT).largestPromptEver()).isEqualTo(5_000);
    }

    @Test
    void promptsOfAnEarlierProcess_areNoSample() {
        for (int i = 0; i < 1_000; i++) {
            first.sample(100, 0);
        }
        next.restore(first.learned(0), 0);
        assertThat(next.facts(0).count())
                .as("measured sizes need prompts of this life")
                .isZero();
    }

    @Test
    void unmeasuredPrompts_stayUnmeasured() {
        first.unmeasured(0);
        next.unmeasured(0);
        next.restore(first.learned(0), 0);
        assertThat(next.facts(0).unmeasured()).isEqualTo(2);
    }

    @Test
    void ownLargest_isNotMadeSmaller() {
        first.sample(100, 0);
        next.sample(900, 0);
        next.restore(first.learned(0), 0);
        assertThat(next.facts(0).largest()).isEqualTo(900);
        assertThat(next.facts(0).largestEver()).isEqualTo(900);
    }
}
