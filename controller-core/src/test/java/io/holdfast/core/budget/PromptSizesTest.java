package io.holdfast.core.budget;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class PromptSizesTest {
    private static final long MINUTE = 60_000_000_000L;

    private final PromptSizes sizes = new PromptSizes();

    @Test
    void facts_noSample_areZero() {
        assertThat(sizes.facts(0)).isEqualTo(new PromptSizes.Facts(0, 0, 0, 0, 0, 0, 0));
    }

    @Test
    void facts_randomSamples_countAndLargestExactQuantilesAtMostOneStepAbove() {
        SplittableRandom random = new SplittableRandom(7);
        for (int round = 0; round < 50; round++) {
            PromptSizes fresh = new PromptSizes();
            long[] samples = new long[random.nextInt(1, 2000)];
            for (int i = 0; i < samples.length; i++) {
                samples[i] = 1 + (long) Math.exp(random.nextDouble() * 14);
                fresh.sample(samples[i], i);
            }
            Arrays.sort(samples);
            PromptSizes.Facts facts = fresh.facts(samples.length);
            assertThat(facts.count()).isEqualTo(samples.length);
            assertThat(facts.largest()).isEqualTo(samples[samples.length - 1]);
            assertQuantile(facts.p90(), samples, 0.9);
            assertQuantile(facts.p99(), samples, 0.99);
        }
    }

    @Test
    void facts_anHourLater_forgetWhatWasSeen() {
        sizes.sample(50_000, 0);
        sizes.sample(100, 30 * MINUTE);
        assertThat(sizes.facts(54 * MINUTE).largest()).isEqualTo(50_000);
        assertThat(sizes.facts(61 * MINUTE)).isEqualTo(new PromptSizes.Facts(1, 100, 100, 100, 0, 50_000, 50_000));
        assertThat(sizes.facts(600 * MINUTE).count()).isZero();
    }

    @Test
    void facts_chainOfUnknownLength_isCountedForAnHour() {
        sizes.unmeasured(30 * MINUTE);
        sizes.unmeasured(50 * MINUTE);
        assertThat(sizes.facts(50 * MINUTE)).isEqualTo(new PromptSizes.Facts(0, 0, 0, 0, 2, 0, 0));
        assertThat(sizes.facts(91 * MINUTE).unmeasured()).isEqualTo(1);
        assertThat(sizes.facts(111 * MINUTE).unmeasured()).isZero();
    }

    private static void assertQuantile(long found, long[] sorted, double p) {
        long exact = sorted[(int) Math.ceil(p * sorted.length) - 1];
        assertThat(found).isBetween(exact, exact + exact / 16);
    }
}
