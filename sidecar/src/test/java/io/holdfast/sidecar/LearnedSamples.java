package io.holdfast.sidecar;

import io.holdfast.core.Learned;
import io.holdfast.core.budget.LearnedSizes;
import io.holdfast.core.cost.LearnedCost;
import io.holdfast.core.prefix.LearnedPrefix;
import io.holdfast.core.rank.LearnedRank;
import io.holdfast.core.reuse.LearnedTimes;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** What could have been learned, by a seed: as much of it as there can be, with numbers as long as they can be. */
public final class LearnedSamples {
    private LearnedSamples() {}

    public static Learned most(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        List<LearnedPrefix> prefixes = IntStream.range(0, 1024)
                .mapToObj(i -> new LearnedPrefix(
                        random.nextLong(),
                        1 + random.nextInt(100_000),
                        9 + random.nextInt(1_000),
                        longs(random, 8, Long.MIN_VALUE, Long.MAX_VALUE),
                        random.nextLong(1L << 40),
                        random.nextLong(1L << 40),
                        random.nextLong(1L << 40),
                        random.nextLong(1L << 40),
                        random.nextDouble(1e6),
                        random.nextLong(1L << 60)))
                .toList();
        LearnedRank rank = new LearnedRank(
                1 + random.nextInt(1 << 20),
                doubles(random, 2400),
                doubles(random, 2400),
                doubles(random, 120),
                doubles(random, 120),
                longs(random, 40, 0, 1L << 40),
                random.nextLong(1L << 40),
                random.nextDouble(10),
                new LearnedRank.LearnedEvidence(
                        random.nextDouble(1e6),
                        random.nextDouble(1e6),
                        random.nextDouble(1e6),
                        random.nextDouble(1e6),
                        random.nextDouble(1e6)));
        return new Learned(
                16,
                random.nextLong(1L << 60),
                random.nextLong(1L << 40),
                prefixes,
                new LearnedTimes(
                        random.nextLong(1024, 1L << 40),
                        longs(random, 1024, 0, 1L << 60),
                        random.nextLong(1024, 1L << 40),
                        longs(random, 1024, 0, 1L << 60)),
                new LearnedCost(doubles(random, 512), doubles(random, 512), doubles(random, 512)),
                new LearnedSizes(
                        longs(random, 12, 0, 1L << 40),
                        random.ints(12, 0, 1_000_000).toArray(),
                        random.nextLong(1L << 40),
                        random.nextLong(1L << 40)),
                List.of(rank));
    }

    private static long[] longs(SplittableRandom random, int count, long from, long to) {
        return random.longs(count, from, to).toArray();
    }

    private static double[] doubles(SplittableRandom random, int count) {
        return random.doubles(count, 0, 1e6).toArray();
    }
}
