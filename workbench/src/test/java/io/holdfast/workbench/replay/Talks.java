package io.holdfast.workbench.replay;

import io.holdfast.loadtest.trace.Trace;
import java.util.Arrays;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/** Conversations that go on after a while with all that was said before, among prompts that come once; in an engine's blocks. */
final class Talks {
    private static final int BLOCK_TOKENS = 16;
    private static final double ONE_SHOTS = 0.6;
    private static final double GOES_ON = 0.8;
    private static final double SECONDS_BETWEEN = 0.5;
    private static final double THINK_SECONDS = 40;
    private static final double LONG = 0.05;
    private static final int LONG_TOKENS = 12_000;

    private static final class Turn {
        private final long nanos;
        private final long order;
        private final int[] said;

        Turn(long nanos, long order, int[] said) {
            this.nanos = nanos;
            this.order = order;
            this.said = said;
        }
    }

    private Talks() {}

    static Trace trace(long seed, int requests) {
        SplittableRandom random = new SplittableRandom(seed);
        PriorityQueue<Turn> turns = new PriorityQueue<>(
                (a, b) -> a.nanos != b.nanos ? Long.compare(a.nanos, b.nanos) : Long.compare(a.order, b.order));
        Trace.Builder builder = new Trace.Builder("talks", BLOCK_TOKENS);
        int block = 0;
        long order = 0;
        long next = 0;
        while (builder.requests() < requests) {
            boolean begins = turns.isEmpty() || turns.peek().nanos > next;
            Turn turn = begins ? new Turn(next, order++, new int[0]) : turns.remove();
            int more = begins && random.nextDouble() < LONG
                    ? LONG_TOKENS
                    : begins ? random.nextInt(600, 1_800) : random.nextInt(200, 500);
            int[] said = Arrays.copyOf(turn.said, turn.said.length + more / BLOCK_TOKENS);
            for (int depth = turn.said.length; depth < said.length; depth++) {
                said[depth] = block++;
            }
            builder.begin(
                    turn.nanos, said.length * BLOCK_TOKENS + random.nextInt(BLOCK_TOKENS), random.nextInt(40, 200));
            for (int each : said) {
                builder.block(each);
            }
            if (begins) {
                next += nanos(SECONDS_BETWEEN, random);
            }
            if (random.nextDouble() < (begins ? 1 - ONE_SHOTS : GOES_ON)) {
                turns.add(new Turn(turn.nanos + 10_000_000_000L + nanos(THINK_SECONDS, random), order++, said));
            }
        }
        return builder.build();
    }

    private static long nanos(double seconds, SplittableRandom random) {
        return (long) (-seconds * 1e9 * Math.log(1 - random.nextDouble()));
    }
}
