package io.holdfast.examples.router;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Conversations that share system prompts and take turns in a seeded order: the same requests each time it is played. */
record Session(int systemPrompts, int systemTokens, int conversations, int turns, int userTokens, long seed) {
    private static final int VOCABULARY = 30_000;

    /** Plays it, one request after the other, and sums up what the answers say was cached. */
    long cachedTokens(Function<int[], TwoEngines.Answer> send) {
        Random random = new Random(seed);
        List<int[]> systems = IntStream.range(0, systemPrompts)
                .mapToObj(i -> tokens(random, systemTokens))
                .toList();
        int[][] said = new int[conversations][];
        Arrays.setAll(said, i -> systems.get(i % systemPrompts));
        List<Integer> order = new ArrayList<>();
        for (int turn = 0; turn < turns; turn++) {
            IntStream.range(0, conversations).forEach(order::add);
        }
        Collections.shuffle(order, random);
        long cached = 0;
        for (int conversation : order) {
            int[] prompt = joined(said[conversation], tokens(random, userTokens));
            TwoEngines.Answer answer = send.apply(prompt);
            cached += answer.cachedTokens();
            said[conversation] = joined(prompt, answer.said());
        }
        return cached;
    }

    static int[] joined(int[] first, int[] second) {
        int[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    private static int[] tokens(Random random, int count) {
        return random.ints(count, 0, VOCABULARY).toArray();
    }
}
