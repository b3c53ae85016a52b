package io.holdfast.loadtest.trace;

import io.holdfast.core.head.UnstableHead;
import io.holdfast.loadtest.LoadTestException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;

/** Requests as they came: when, how long, and by which blocks; blocks are numbers from 0 on, each with one parent. */
public final class Trace {
    private static final int ENGINE_BLOCK_TOKENS = 16;
    /** Limit of the array of blocks, which doubles once on its way to it. */
    private static final int MOST_BLOCKS = 1 << 30;

    private final String name;
    private final int blockTokens;
    private final long[] nanos;
    private final int[] inputTokens;
    private final int[] outputTokens;
    private final int[] firsts;
    private final int[] blocks;
    private final int unique;
    private final Optional<Recorded> recorded;

    /**
     * Facts that only a recording of an engine's events tells, since it has tokens.
     *
     * @param headless requests that are left out, since how they begin is not recorded
     * @param heads requests that share most of their tokens but differ early, those first that cost the most
     */
    public record Recorded(int headless, List<UnstableHead> heads) {
        public Recorded {
            heads = List.copyOf(heads);
        }
    }

    private Trace(
            String name,
            int blockTokens,
            long[] nanos,
            int[] inputTokens,
            int[] outputTokens,
            int[] firsts,
            int[] blocks,
            int unique,
            Optional<Recorded> recorded) {
        this.name = name;
        this.blockTokens = blockTokens;
        this.nanos = nanos;
        this.inputTokens = inputTokens;
        this.outputTokens = outputTokens;
        this.firsts = firsts;
        this.blocks = blocks;
        this.unique = unique;
        this.recorded = recorded;
    }

    public String name() {
        return name;
    }

    /**
     * Returns the facts of the whole recording, even where requests were left out since; absent where it was no
     * recording.
     */
    public Optional<Recorded> recorded() {
        return recorded;
    }

    public int requests() {
        return nanos.length;
    }

    /** Tokens in a full block. */
    public int blockTokens() {
        return blockTokens;
    }

    /** Blocks that differ. */
    public int uniqueBlocks() {
        return unique;
    }

    /** Blocks of all requests together. */
    public int references() {
        return blocks.length;
    }

    public long nanos(int request) {
        return nanos[request];
    }

    public int inputTokens(int request) {
        return inputTokens[request];
    }

    public int outputTokens(int request) {
        return outputTokens[request];
    }

    /** Returns the number of blocks of a request's path. */
    public int length(int request) {
        return firsts[request + 1] - firsts[request];
    }

    public int block(int request, int depth) {
        return blocks[firsts[request] + depth];
    }

    /** Blocks of its path that are full: the last may be a part of one. */
    public int fullBlocks(int request) {
        return Math.min(length(request), inputTokens[request] / blockTokens);
    }

    public void copyPath(int request, int[] to) {
        System.arraycopy(blocks, firsts[request], to, 0, length(request));
    }

    public int longest() {
        int longest = 0;
        for (int request = 0; request < requests(); request++) {
            longest = Math.max(longest, length(request));
        }
        return longest;
    }

    /** Returns the trace as an engine keeps it: in full blocks, of 16 tokens where these divide its own blocks. */
    public Trace asKeptByEngines() {
        return inBlocksOf(blockTokens % ENGINE_BLOCK_TOKENS == 0 ? ENGINE_BLOCK_TOKENS : blockTokens);
    }

    /**
     * Returns the trace in smaller blocks, and in full ones only, as engines keep them. A block that is part of one is
     * cut as far as its request fills it.
     *
     * @param tokens in each, of which these blocks hold a whole number
     */
    Trace inBlocksOf(int tokens) {
        if (tokens < 1 || blockTokens % tokens != 0) {
            throw new IllegalArgumentException("Blocks of " + blockTokens + " tokens do not fall into " + tokens + ".");
        }
        int parts = blockTokens / tokens;
        long smaller = (long) Math.max(unique, references()) * parts;
        if (smaller > MOST_BLOCKS) {
            throw new LoadTestException(String.format(
                    Locale.ROOT,
                    "The trace %s has %,d blocks of %,d tokens, %,d of them different, and a replay in an engine's"
                            + " blocks of %d tokens has room for %,d of those; leave out requests by --thin, or write"
                            + " --emit plain and --rules plain.",
                    name,
                    references(),
                    blockTokens,
                    unique,
                    tokens,
                    MOST_BLOCKS));
        }
        Builder builder = new Builder(name, tokens);
        int[] numbers = new int[unique * parts];
        int given = 0;
        for (int request = 0; request < requests(); request++) {
            int full = Math.min(length(request) * parts, inputTokens[request] / tokens);
            builder.begin(nanos[request], inputTokens[request], outputTokens[request]);
            for (int depth = 0; depth < full; depth++) {
                int part = block(request, depth / parts) * parts + depth % parts;
                if (numbers[part] == 0) {
                    numbers[part] = ++given;
                }
                builder.block(numbers[part] - 1);
            }
        }
        return builder.build();
    }

    /** Returns the trace without some of its requests, drawn by chance. */
    public Trace thinned(double probability, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Builder builder = new Builder(name, blockTokens);
        builder.recorded = recorded;
        int[] numbers = new int[unique];
        int given = 0;
        for (int request = 0; request < requests(); request++) {
            if (random.nextDouble() >= probability) {
                builder.begin(nanos[request], inputTokens[request], outputTokens[request]);
                for (int depth = 0; depth < length(request); depth++) {
                    int block = block(request, depth);
                    if (numbers[block] == 0) {
                        numbers[block] = ++given;
                    }
                    builder.block(numbers[block] - 1);
                }
            }
        }
        return builder.build();
    }

    /** A trace in the making. */
    public static final class Builder {
        private final String name;
        private final int blockTokens;
        private long[] nanos = new long[1 << 10];
        private int[] inputTokens = new int[1 << 10];
        private int[] outputTokens = new int[1 << 10];
        private int[] firsts = new int[(1 << 10) + 1];
        private int[] blocks = new int[1 << 12];
        private int requests;
        private int references;
        private Optional<Recorded> recorded = Optional.empty();

        public Builder(String name, int blockTokens) {
            this.name = name;
            this.blockTokens = blockTokens;
        }

        public int requests() {
            return requests;
        }

        public void begin(long at, int input, int output) {
            if (requests == nanos.length) {
                nanos = Arrays.copyOf(nanos, 2 * requests);
                inputTokens = Arrays.copyOf(inputTokens, 2 * requests);
                outputTokens = Arrays.copyOf(outputTokens, 2 * requests);
                firsts = Arrays.copyOf(firsts, 2 * requests + 1);
            }
            nanos[requests] = at;
            inputTokens[requests] = input;
            outputTokens[requests] = output;
            firsts[requests++] = references;
        }

        public void block(int block) {
            if (references == blocks.length) {
                blocks = Arrays.copyOf(blocks, 2 * references);
            }
            blocks[references++] = block;
        }

        public void recorded(Recorded facts) {
            recorded = Optional.of(facts);
        }

        public Trace build() {
            int[] path = Arrays.copyOf(blocks, references);
            int[] begins = Arrays.copyOf(firsts, requests + 1);
            begins[requests] = references;
            return new Trace(
                    name,
                    blockTokens,
                    Arrays.copyOf(nanos, requests),
                    Arrays.copyOf(inputTokens, requests),
                    Arrays.copyOf(outputTokens, requests),
                    begins,
                    path,
                    (int) Arrays.stream(path).distinct().count(),
                    recorded);
        }
    }
}
