package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.Tokens;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Requests with their times, shaped like the log's five workloads. Equal seeds give equal requests. */
record Workload(List<Arrival> arrivals) {
    record Arrival(double seconds, Tokens prompt, int answer) {}

    private static final int VOCABULARY = 30_000;

    Workload {
        arrivals = List.copyOf(arrivals);
    }

    /** So many of one kind, this far apart. */
    static Workload spaced(long seed, int requests, double seconds, int prompt, int answer) {
        Random random = new Random(seed);
        return new Workload(IntStream.range(0, requests)
                .mapToObj(i -> new Arrival(i * seconds, prompt(random, prompt), answer))
                .toList());
    }

    /** 10 requests of 256 tokens and 256 to answer, far enough apart that one is answered before the next comes. */
    static Workload baseline(long seed) {
        return spaced(seed, 10, 60, 256, 256);
    }

    /** 32 requests, 4 a second. */
    static Workload continuousBatching(long seed) {
        Random random = new Random(seed);
        return new Workload(IntStream.range(0, 32)
                .mapToObj(i -> new Arrival(i / 4.0, prompt(random, between(random, 64, 512)), between(random, 64, 256)))
                .toList());
    }

    /** 48 requests at once. */
    static Workload pagedAttention(long seed) {
        Random random = new Random(seed);
        return new Workload(IntStream.range(0, 48)
                .mapToObj(_ -> new Arrival(0, prompt(random, between(random, 128, 384)), between(random, 128, 256)))
                .toList());
    }

    /** 36 long prompts and 12 short ones in random order, 6 a second by Poisson. */
    static Workload chunkedPrefill(long seed) {
        Random random = new Random(seed);
        List<Integer> order = new ArrayList<>(IntStream.range(0, 48).boxed().toList());
        Collections.shuffle(order, random);
        List<Arrival> arrivals = new ArrayList<>();
        double now = 0;
        for (int each : order) {
            int prompt = each < 36 ? between(random, 1024, 2048) : between(random, 64, 128);
            arrivals.add(new Arrival(now, prompt(random, prompt), between(random, 64, 256)));
            now -= Math.log(1 - random.nextDouble()) / 6;
        }
        return new Workload(arrivals);
    }

    /** 48 requests that share 1,024 tokens and end in 32 to 128 of their own, 8 a second. */
    static Workload prefixCaching(long seed) {
        Random random = new Random(seed);
        int[] shared = tokens(random, 1024);
        return new Workload(IntStream.range(0, 48)
                .mapToObj(i ->
                        new Arrival(i / 8.0, Tokens.of(shared).and(prompt(random, between(random, 32, 128))), 256))
                .toList());
    }

    private static Tokens prompt(Random random, int count) {
        return Tokens.of(tokens(random, count));
    }

    static int[] tokens(Random random, int count) {
        return random.ints(count, 0, VOCABULARY).toArray();
    }

    static int[] joined(int[] head, int[] tail) {
        return IntStream.concat(IntStream.of(head), IntStream.of(tail)).toArray();
    }

    private static int between(Random random, int least, int most) {
        return least + random.nextInt(most - least + 1);
    }
}
