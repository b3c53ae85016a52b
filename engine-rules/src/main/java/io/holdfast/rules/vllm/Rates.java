package io.holdfast.rules.vllm;

import java.util.List;
import java.util.Locale;

/**
 * Speed of a model in each kind of pass, and size of the server that it was given.
 *
 * <p>The first three are fitted to what the log tells: times to the first token of 256-token prompts, decode steps at
 * batch 1 and at full batches with short and with long contexts, steps of a decode profile. The last is fitted to a
 * report on one 12B model: seconds for 4,096 tokens, and what two answers took beyond that.
 */
@SuppressWarnings("ImmutableEnumChecker") // Its parts are records of numbers and lists that nobody changes.
public enum Rates {
    /** Gemma 3 12B, four bits, on a machine with shared memory: the server that restores caches. */
    RESTORING(
            "gemma3-12b",
            new Size(2, 4096, 0),
            new Prefill(5_000, 4_100, 100, Long.MAX_VALUE, 1),
            new Decode(40_000, 4_000, 0.5),
            new Decode(40_000, 4_000, 0.5),
            new Decode(40_000, 4_000, 0.5),
            List.of(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
    /** Llama 3.2 3B. */
    LLAMA(
            "llama",
            new Size(24, 2048, 32),
            new Prefill(4_000, 121, 0, 7_500_000, 12),
            new Decode(10_150, 450, 0.9),
            new Decode(10_000, 950, 0.9),
            new Decode(9_586, 414, 1.8),
            List.of(1.79, 1.907, 2.115, 2.4496, 1.4, 0.9)),
    /** Qwen3 4B: the slowest prefill of the three, and the least memory to spare. */
    QWEN3(
            "qwen3",
            new Size(16, 1024, 128),
            new Prefill(2_000, 160, 0, 2_500_000, 8),
            new Decode(13_200, 900, 1.3),
            new Decode(13_200, 1_500, 1.3),
            new Decode(14_500, 600, 2.6),
            List.of(1.53, 1.7, 1.9, 2.2, 2.2, 2.2)),
    /** Gemma 3 1B: prefill costs next to nothing, requests in a batch do. */
    GEMMA3(
            "gemma3",
            new Size(24, 2048, 32),
            new Prefill(18_000, 27, 0, Long.MAX_VALUE, 1),
            new Decode(9_400, 1_750, 0.1),
            new Decode(9_400, 2_250, 0.1),
            new Decode(9_300, 2_200, 0.3),
            List.of(1.75, 1.7, 1.6, 1.35, 1.05, 0.72));

    /** Sizes of batches that are captured. A smaller batch is filled up. */
    static final List<Integer> BUCKETS = List.of(1, 2, 4, 8, 16, 32);

    /**
     * Size of the server where its cache is blocks.
     *
     * @param running requests at once
     * @param blocks in the cache
     * @param graphBlocks that capturing takes from the cache
     */
    record Size(int running, int blocks, int graphBlocks) {}

    /**
     * Time of a pass that prefills.
     *
     * @param micros of any such pass
     * @param microsPerToken for each of its tokens, padding included
     * @param restoreMicrosPerToken for what comes back from outside the GPU
     * @param headroomScores attention scores (requests times the square of the longest) that memory has room for when
     *     a padded prefill works over blocks; beyond, it is over-committed until nobody runs or waits
     * @param overcommit how many times longer passes take then
     */
    record Prefill(
            double micros,
            double microsPerToken,
            double restoreMicrosPerToken,
            long headroomScores,
            double overcommit) {
        double nanos(long tokens, long restored) {
            return 1e3 * (micros + microsPerToken * tokens + restoreMicrosPerToken * restored);
        }
    }

    /**
     * Time that a decode step takes.
     *
     * @param micros of any step
     * @param microsPerRequest for each request in it
     * @param microsPerToken for each token of their contexts
     */
    record Decode(double micros, double microsPerRequest, double microsPerToken) {
        /** @param factor by which a captured step differs in all but its contexts */
        double nanos(int requests, long context, double factor) {
            return 1e3 * (factor * (micros + microsPerRequest * requests) + microsPerToken * context);
        }
    }

    private final String text;
    private final Size size;
    private final Prefill prefill;
    private final Decode gathered;
    private final Decode slotted;
    private final Decode paged;
    private final List<Double> graphs;

    /**
     * @param gathered decode steps of a batch that was gathered once
     * @param slotted decode steps of a batch that changes, in slots
     * @param paged decode steps over blocks
     * @param graphs by how much a captured step differs, for each of {@link #BUCKETS}
     */
    Rates(String text, Size size, Prefill prefill, Decode gathered, Decode slotted, Decode paged, List<Double> graphs) {
        this.text = text;
        this.size = size;
        this.prefill = prefill;
        this.gathered = gathered;
        this.slotted = slotted;
        this.paged = paged;
        this.graphs = graphs;
    }

    /**
     * Returns the rates of the model that a name means: the first that the name contains, so that
     * "meta-llama/Llama-3.2-3B-Instruct" is found.
     *
     * @throws IllegalArgumentException for a name that contains none
     */
    public static Rates of(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        for (Rates known : values()) {
            if (lower.contains(known.text) || lower.contains(known.text.replaceFirst("(?<=[a-z])(?=\\d)", "-"))) {
                return known;
            }
        }
        throw new IllegalArgumentException(
                "There are no rates for the model \"" + name + "\"; use llama, qwen3, gemma3 or gemma3-12b.");
    }

    /** Name as it is written in commands. */
    public String text() {
        return text;
    }

    Size size() {
        return size;
    }

    Prefill prefill() {
        return prefill;
    }

    double decodeNanos(Profile profile, int requests, long context) {
        return switch (profile) {
            case STATIC -> gathered.nanos(requests, context, 1);
            case CONTINUOUS -> slotted.nanos(requests, context, 1);
            case GRAPH -> graphNanos(requests, context);
            case PAGED, CHUNKED, PREFIX, RESTORE -> paged.nanos(requests, context, 1);
        };
    }

    /** Returns the time of a captured step, of a batch that is filled up to the next size; larger ones are not captured. */
    private double graphNanos(int requests, long context) {
        for (int i = 0; i < BUCKETS.size(); i++) {
            if (requests <= BUCKETS.get(i)) {
                return paged.nanos(BUCKETS.get(i), context, graphs.get(i));
            }
        }
        return paged.nanos(requests, context, 1);
    }
}
