package io.holdfast.benchmarks;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.embed.Engine;
import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import io.holdfast.embed.PrefixMatch;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/**
 * Cost of {@code Fleet.match} for a long prompt of which each engine has another share: processor time by tokens and by
 * names, in turns. Each prompt ends otherwise, so that none was asked before.
 */
public final class MatchLoad {
    private static final int BLOCK = 16;
    private static final int PROMPTS = 40;
    private static final int ROUNDS = 12;
    private static final int MATCHES = 200;

    private MatchLoad() {}

    /** Takes the number of tokens (100,000) and of engines (8). */
    public static void main(String[] args) {
        int tokens = args.length > 0 ? Integer.parseInt(args[0]) : 100_000;
        int engines = args.length > 1 ? Integer.parseInt(args[1]) : 8;
        SplittableRandom random = new SplittableRandom(1);
        int[] prompt = random.ints(tokens, 0, 150_000).toArray();
        int held = tokens / BLOCK * 3 / 4;
        try (Fleet fleet = new Fleet(BLOCK)) {
            for (int i = 0; i < engines; i++) {
                store(fleet, "e" + i, prompt, held * (i + 1) / engines, i + 1L);
            }
            int[][] prompts = new int[PROMPTS][];
            long[][] names = new long[PROMPTS][tokens / BLOCK];
            for (int i = 0; i < PROMPTS; i++) {
                prompts[i] = prompt.clone();
                for (int at = held * BLOCK; at < tokens; at++) {
                    prompts[i][at] = random.nextInt(150_000);
                }
                ContentNames.names(prompts[i], 0, tokens, BLOCK, ContentNames.NO_NAMESPACE, names[i]);
            }
            measure(fleet, prompts, names);
        }
    }

    private static void store(Fleet fleet, String id, int[] prompt, int blocks, long salt) {
        Engine engine = fleet.add(EngineOptions.sglang(id));
        fleet.doWork();
        KvEventSink events = engine.events();
        long[] hashes =
                LongStream.range(1, blocks + 1L).map(i -> salt << 32 | i).toArray();
        StoredBlocks stored =
                new StoredBlocks().blockTokens(BLOCK).hashes(hashes, 0, blocks).tokens(prompt, 0, blocks * BLOCK);
        events.batchStarted(0, 0);
        events.stored(stored);
        events.batchEnded();
    }

    private static void measure(Fleet fleet, int[][] prompts, long[][] names) {
        ThreadMXBean processor = ManagementFactory.getThreadMXBean();
        PrefixMatch into = new PrefixMatch();
        double[] byTokens = new double[ROUNDS];
        double[] byNames = new double[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long start = processor.getCurrentThreadCpuTime();
            for (int i = 0; i < MATCHES; i++) {
                fleet.match(prompts[i % PROMPTS], into);
            }
            byTokens[round] = (processor.getCurrentThreadCpuTime() - start) / 1e3 / MATCHES;
            start = processor.getCurrentThreadCpuTime();
            for (int i = 0; i < MATCHES; i++) {
                fleet.matchNames(names[i % PROMPTS], 0, names[0].length, into);
            }
            byNames[round] = (processor.getCurrentThreadCpuTime() - start) / 1e3 / MATCHES;
        }
        into.longest()
                .ifPresent(longest -> System.out.println(
                        longest + " has " + into.tokens(longest) + " tokens of " + into.blocks() * BLOCK));
        print("by tokens", byTokens);
        print("by names", byNames);
    }

    /** The first rounds are those of code that is not compiled yet. */
    private static void print(String what, double[] micros) {
        double[] warm = Arrays.copyOfRange(micros, 2, micros.length);
        Arrays.sort(warm);
        System.out.printf(
                Locale.ROOT,
                "%s: %.1f us of processor time [%.1f-%.1f]%n",
                what,
                warm[warm.length / 2],
                warm[0],
                warm[warm.length - 1]);
    }
}
