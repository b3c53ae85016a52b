package io.holdfast.rules.phases;

import java.util.List;
import java.util.Locale;

/**
 * Speed of a model in each kind of pass, and size of the server that it was given.
 *
 * <p>The first three are fitted to what the log tells: times to the first token of 256-token prompts, decode steps at
 * batch 1 and at full batches with short and with long contexts, steps of a decode profile. {@code restoring} is fitted
 * to a report on one 12B model: seconds for 4,096 tokens, and what two answers took beyond that.
 *
 * @param name as requests and commands name it
 * @param running requests at once where the cache is blocks
 * @param blocks in that cache
 * @param prefillMicros of a pass that prefills, whatever the prompts
 * @param prefillMicrosPerToken for each of its tokens, padding included
 * @param gathered decode steps of a batch that was gathered once
 * @param slotted decode steps of a batch that changes, in slots
 * @param paged decode steps over blocks
 * @param headroomScores attention scores (requests times the square of the longest) that memory has room for when a
 *     padded prefill works over blocks; beyond, it is over-committed until nobody runs or waits
 * @param overcommit how many times longer passes take then
 * @param graphs by how much a captured step differs, for each of {@link #BUCKETS}
 * @param graphBlocks that capturing takes from the cache
 * @param restoreMicrosPerToken for what comes back from outside the GPU
 */
public record Rates(
        String name,
        int running,
        int blocks,
        double prefillMicros,
        double prefillMicrosPerToken,
        Decode gathered,
        Decode slotted,
        Decode paged,
        long headroomScores,
        double overcommit,
        List<Double> graphs,
        int graphBlocks,
        double restoreMicrosPerToken) {

    /** Sizes of batches that are captured. A smaller batch is filled up. */
    public static final List<Integer> BUCKETS = List.of(1, 2, 4, 8, 16, 32);

    /**
     * Time that a decode step takes.
     *
     * @param micros of any step
     * @param microsPerRequest for each request in it
     * @param microsPerToken for each token of their contexts
     */
    public record Decode(double micros, double microsPerRequest, double microsPerToken) {
        double nanos(int requests) {
            return 1e3 * (micros + microsPerRequest * requests);
        }

        double nanos(int requests, long context) {
            return nanos(requests) + 1e3 * microsPerToken * context;
        }
    }

    private static final long ENDLESS = Long.MAX_VALUE;

    public Rates {
        graphs = List.copyOf(graphs);
        check(running >= 1, "running must be at least 1, not " + running + ".");
        check(blocks >= 1, "blocks must be at least 1, not " + blocks + ".");
        check(
                prefillMicros >= 0 && prefillMicrosPerToken >= 0 && restoreMicrosPerToken >= 0,
                "The times of prefill and restoring must not be negative.");
        check(headroomScores >= 1, "headroomScores must be at least 1, not " + headroomScores + ".");
        check(overcommit >= 1, "overcommit must be at least 1, not " + overcommit + ".");
        check(
                graphs.size() == BUCKETS.size() && graphs.stream().allMatch(factor -> factor > 0),
                "graphs must be a factor above 0 for each of the sizes " + BUCKETS + ", not " + graphs + ".");
        check(
                graphBlocks >= 0 && graphBlocks < blocks,
                "graphBlocks must leave something of " + blocks + " blocks, not be " + graphBlocks + ".");
    }

    /** Llama 3.2 3B. */
    public static Rates llama() {
        return new Rates(
                "llama",
                24,
                2048,
                4_000,
                121,
                new Decode(10_150, 450, 0.9),
                new Decode(10_000, 950, 0.9),
                new Decode(9_586, 414, 1.8),
                7_500_000,
                12,
                List.of(1.79, 1.907, 2.115, 2.4496, 1.4, 0.9),
                32,
                0);
    }

    /** Qwen3 4B: the slowest prefill of the three, and the least memory to spare. */
    public static Rates qwen3() {
        return new Rates(
                "qwen3",
                16,
                1024,
                2_000,
                160,
                new Decode(13_200, 900, 1.3),
                new Decode(13_200, 1_500, 1.3),
                new Decode(14_500, 600, 2.6),
                2_500_000,
                8,
                List.of(1.53, 1.7, 1.9, 2.2, 2.2, 2.2),
                128,
                0);
    }

    /** Gemma 3 1B: prefill costs next to nothing, requests in a batch do. */
    public static Rates gemma3() {
        return new Rates(
                "gemma3",
                24,
                2048,
                18_000,
                27,
                new Decode(9_400, 1_750, 0.1),
                new Decode(9_400, 2_250, 0.1),
                new Decode(9_300, 2_200, 0.3),
                ENDLESS,
                1,
                List.of(1.75, 1.7, 1.6, 1.35, 1.05, 0.72),
                32,
                0);
    }

    /** Gemma 3 12B, four bits, on a machine with shared memory: the server that restores caches. */
    public static Rates restoring() {
        Decode decode = new Decode(40_000, 4_000, 0.5);
        return new Rates(
                "gemma3-12b",
                2,
                4096,
                5_000,
                4_100,
                decode,
                decode,
                decode,
                ENDLESS,
                1,
                List.of(1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
                0,
                100);
    }

    /**
     * The model that a name means: the first that the name contains, so that "meta-llama/Llama-3.2-3B-Instruct" is
     * found.
     *
     * @throws IllegalArgumentException for a name that contains none
     */
    public static Rates of(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        for (Rates known : List.of(restoring(), llama(), qwen3(), gemma3())) {
            if (lower.contains(known.name) || lower.contains(known.name.replaceFirst("(?<=[a-z])(?=\\d)", "-"))) {
                return known;
            }
        }
        throw new IllegalArgumentException(
                "There are no rates for the model \"" + name + "\"; use llama, qwen3, gemma3 or gemma3-12b.");
    }

    /** Returns these rates with another cache. */
    public Rates withCache(int requests, int cacheBlocks) {
        return new Rates(
                name,
                requests,
                cacheBlocks,
                prefillMicros,
                prefillMicrosPerToken,
                gathered,
                slotted,
                paged,
                headroomScores,
                overcommit,
                graphs,
                Math.min(graphBlocks, cacheBlocks - 1),
                restoreMicrosPerToken);
    }

    double prefillNanos(long tokens) {
        return 1e3 * (prefillMicros + prefillMicrosPerToken * tokens);
    }

    double restoreNanos(int tokens) {
        return 1e3 * restoreMicrosPerToken * tokens;
    }

    double eagerNanos(Profile profile, int requests, long context) {
        return switch (profile) {
            case STATIC -> gathered.nanos(requests, context);
            case CONTINUOUS -> slotted.nanos(requests, context);
            default -> paged.nanos(requests, context);
        };
    }

    /** A captured step, of a batch that is filled up to the next size; larger ones than any are not captured. */
    double graphNanos(int requests, long context) {
        for (int i = 0; i < BUCKETS.size(); i++) {
            int bucket = BUCKETS.get(i);
            if (requests <= bucket) {
                return graphs.get(i) * paged.nanos(bucket) + 1e3 * paged.microsPerToken() * context;
            }
        }
        return paged.nanos(requests, context);
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
