package io.holdfast.workbench.replay;

import java.util.Arrays;
import java.util.PriorityQueue;

/** Running requests and their ends, where each stores its whole path as it comes. */
final class ReplayEngine {
    /*
     * With `held` a request holds its path, and as many blocks of its own as its answer fills, for as long as it would
     * take: a fixed part, its missing tokens at a rate, its answer at a rate.
     */
    private static final double FIXED_SECONDS = 0.2;
    private static final double PREFILL_TOKENS_PER_SECOND = 20_000;
    private static final double SECONDS_PER_OUTPUT_TOKEN = 0.03;
    private static final double NANOS = 1e9;

    /** One that runs until its end. */
    private static final class Running {
        private final long endNanos;
        private final int[] path;
        private final int own;

        Running(long endNanos, int[] path, int own) {
            this.endNanos = endNanos;
            this.path = path;
            this.own = own;
        }
    }

    private final boolean held;
    private final int blockTokens;
    private final EngineMemory memory;
    private final PriorityQueue<Running> running = new PriorityQueue<>((a, b) -> Long.compare(a.endNanos, b.endNanos));

    /** @param held whether running requests hold their blocks */
    ReplayEngine(int blockTokens, boolean held, EngineMemory memory) {
        this.held = held;
        this.blockTokens = blockTokens;
        this.memory = memory;
    }

    /** Ends what is over by now. */
    void advance(long nanos) {
        for (Running first = running.peek(); first != null && first.endNanos <= nanos; first = running.peek()) {
            running.remove();
            memory.letGo(first.path, first.path.length);
            memory.take(-first.own);
        }
    }

    /**
     * Runs a request.
     *
     * @return how much of its path is in the cache now
     */
    int run(int[] path, int length, int hits, int inputTokens, int outputTokens, long nanos) {
        if (!held) {
            return memory.use(path, length, nanos);
        }
        memory.hold(path, 0, hits);
        int answer = (outputTokens + blockTokens - 1) / blockTokens;
        memory.take(answer);
        int stored = memory.store(path, length, nanos);
        memory.hold(path, hits, stored);
        double missing = Math.max(0, inputTokens - (double) hits * blockTokens);
        double seconds = FIXED_SECONDS + missing / PREFILL_TOKENS_PER_SECOND + SECONDS_PER_OUTPUT_TOKEN * outputTokens;
        running.add(new Running(nanos + (long) (seconds * NANOS), Arrays.copyOf(path, stored), answer));
        return stored;
    }
}
