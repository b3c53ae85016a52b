package io.holdfast.core.budget;

import java.util.Arrays;

/**
 * Lengths in tokens of the prompts that the events of the last hour showed.
 *
 * <p>Twelve slots of five minutes, each with its largest sample and a histogram with sixteen steps per doubling; a
 * quantile is the upper edge of its step, so it errs to the large side, by at most 6.25 %. A sample is the prompt of
 * one visible request, in full blocks; requests that store nothing are none, so the quantiles lean to long requests,
 * which is the safe side for a guard. The largest is the longest path that any request left, output included, since
 * what is taken for output may have been sent. A prompt whose way to the root is not known has no length: it is counted
 * apart, and while there is one in the hour the largest is not the largest.
 */
public final class PromptSizes {
    private static final long SLOT_NANOS = 5L * 60 * 1_000_000_000;
    static final int SLOTS = 12;
    private static final int STEPS_LOG2 = 4;
    private static final int BUCKETS = (65 - STEPS_LOG2) << STEPS_LOG2;

    private final int[][] counts = new int[SLOTS][BUCKETS];
    /** Sums over all slots: they are read in every round, and a sample changes one number. */
    private final int[] sums = new int[BUCKETS];

    private int samples;
    private final long[] largest = new long[SLOTS];
    private final int[] unmeasured = new int[SLOTS];
    private long slot;
    private long largestPromptEver;
    private long largestEver;

    /**
     * Facts about the last hour; the sizes are 0 where {@code count} is.
     *
     * @param count samples
     * @param unmeasured prompts whose length is not known; above 0 the sizes say nothing about the largest prompt
     * @param largestPromptEver the longest prompt since we follow the engine, not only of this hour
     * @param largestEver the longest path, output included, since we follow the engine
     */
    public record Facts(
            int count, long largest, long p90, long p99, int unmeasured, long largestPromptEver, long largestEver) {
        public static final Facts NONE = new Facts(0, 0, 0, 0, 0, 0, 0);
    }

    /** A prompt of unknown length. */
    public void unmeasured(long nanos) {
        advance(nanos);
        unmeasured[(int) (slot % SLOTS)]++;
    }

    public void sample(long tokens, long nanos) {
        grew(0, tokens, nanos);
    }

    /** A prompt that had been sampled with {@code before} tokens, 0 for never, has more. */
    public void grew(long before, long tokens, long nanos) {
        reached(tokens, nanos);
        largestPromptEver = Math.max(largestPromptEver, tokens);
        int at = (int) (slot % SLOTS);
        count(at, bucket(tokens), 1);
        if (before > 0) {
            takeBack(bucket(before), at);
        }
    }

    private void count(int at, int bucket, int more) {
        counts[at][bucket] += more;
        sums[bucket] += more;
        samples += more;
    }

    /** A request left a path of this length. */
    public void reached(long tokens, long nanos) {
        advance(nanos);
        int at = (int) (slot % SLOTS);
        largestEver = Math.max(largestEver, tokens);
        largest[at] = Math.max(largest[at], tokens);
    }

    /** Takes a sample back from the youngest slot that has one: chunks follow each other within seconds. */
    private void takeBack(int bucket, int at) {
        for (int age = 0; age < SLOTS; age++) {
            int from = (at - age + SLOTS) % SLOTS;
            if (counts[from][bucket] > 0) {
                count(from, bucket, -1);
                return;
            }
        }
    }

    public Facts facts(long nanos) {
        advance(nanos);
        long max = Arrays.stream(largest).max().orElse(0);
        return new Facts(
                samples,
                max,
                quantile(0.9, max),
                quantile(0.99, max),
                Arrays.stream(unmeasured).sum(),
                largestPromptEver,
                largestEver);
    }

    /** Returns what outlives this process. */
    public LearnedSizes learned(long nanos) {
        advance(nanos);
        long[] longest = new long[SLOTS];
        int[] unknown = new int[SLOTS];
        for (int age = 0; age < SLOTS; age++) {
            longest[age] = largest[slotOf(age)];
            unknown[age] = unmeasured[slotOf(age)];
        }
        return new LearnedSizes(longest, unknown, largestPromptEver, largestEver);
    }

    /**
     * Takes up what an earlier process learned. It counts as if no time had passed: what was seen then stays for an
     * hour of this process, since the engine may have served the like meanwhile.
     */
    public void restore(LearnedSizes learned, long nanos) {
        advance(nanos);
        for (int age = 0; age < SLOTS; age++) {
            int at = slotOf(age);
            largest[at] = Math.max(largest[at], learned.largest()[age]);
            unmeasured[at] += learned.unmeasured()[age];
        }
        largestPromptEver = Math.max(largestPromptEver, learned.largestPromptEver());
        largestEver = Math.max(largestEver, learned.largestEver());
    }

    private int slotOf(int age) {
        return (int) Math.floorMod(slot - age, (long) SLOTS);
    }

    private void advance(long nanos) {
        long wanted = nanos / SLOT_NANOS;
        for (long next = Math.max(slot + 1, wanted - SLOTS + 1); next <= wanted; next++) {
            int at = (int) (next % SLOTS);
            for (int i = 0; i < BUCKETS; i++) {
                count(at, i, -counts[at][i]);
            }
            largest[at] = 0;
            unmeasured[at] = 0;
        }
        slot = Math.max(slot, wanted);
    }

    private long quantile(double p, long max) {
        long rank = (long) Math.ceil(p * samples);
        long seen = 0;
        for (int i = 0; i < BUCKETS && rank > 0; i++) {
            seen += sums[i];
            if (seen >= rank) {
                return Math.min(max, upperEdge(i));
            }
        }
        return 0;
    }

    /** Values below 16 have a bucket each; above, the four bits after the leading one choose the step. */
    private static int bucket(long value) {
        int exponent = Math.max(0, 63 - Long.numberOfLeadingZeros(Math.max(1, value)) - STEPS_LOG2);
        return (exponent << STEPS_LOG2) + (int) (value >>> exponent);
    }

    private static long upperEdge(int bucket) {
        int exponent = Math.max(0, (bucket >>> STEPS_LOG2) - 1);
        return ((bucket - ((long) exponent << STEPS_LOG2) + 1) << exponent) - 1;
    }
}
