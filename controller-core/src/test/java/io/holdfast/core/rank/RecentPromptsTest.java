package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RecentPromptsTest {
    private final RecentPrompts prompts = new RecentPrompts(8);

    @Test
    void nineOfTen_haveToFitEightTimes() {
        for (int i = 0; i < 9; i++) {
            prompts.add(new int[10], 10);
        }
        prompts.add(new int[1_000], 1_000);
        assertThat(prompts.fit(80, path -> 0)).as("the tenth may be longer").isTrue();
        assertThat(prompts.fit(79, path -> 0)).isFalse();
        prompts.add(new int[1_000], 1_000);
        assertThat(prompts.fit(80, path -> 0)).as("two of eleven are longer").isFalse();
    }

    @Test
    void whatIsPinnedOfAPrompt_needsNoRoom() {
        prompts.add(new int[10], 10);
        assertThat(prompts.fit(8, path -> 9)).isTrue();
        assertThat(prompts.fit(7, path -> 9)).isFalse();
    }

    @Test
    void promptThatGrows_isMeasuredAsItIsNow() {
        long request = prompts.add(new int[10], 10);
        prompts.grew(request, new int[20], 20);
        assertThat(prompts.fit(159, path -> 0)).isFalse();
        assertThat(prompts.fit(160, path -> 0)).isTrue();
    }

    /** Its place among the last five hundred is that of another by then. */
    @Test
    void promptThatGrowsLate_changesNoOther() {
        for (int i = 0; i < 600; i++) {
            prompts.add(new int[10], 10);
        }
        for (int old = 0; old < 100; old++) {
            prompts.grew(old, new int[1_000], 1_000);
        }
        assertThat(prompts.fit(80, path -> 0)).isTrue();
    }
}
