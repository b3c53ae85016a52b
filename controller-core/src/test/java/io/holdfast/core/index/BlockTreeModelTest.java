package io.holdfast.core.index;

import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.ScriptWriter.Temper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random things that happen to engines, compared with {@link NaiveForest}; a difference is shown by the shortest script. */
final class BlockTreeModelTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    /** For each naming. */
    private static final int SEEDS = DEEP ? 35 : 7;

    private static final int STEPS = DEEP ? 3_000 : 300;
    private static final int MOST_ATTEMPTS = 4_000;

    @ParameterizedTest
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    @EnumSource(Naming.class)
    void tree_randomEvents_equalsOracle(Naming naming) {
        for (int seed = 1; seed <= SEEDS; seed++) {
            play(naming, seed, STEPS);
        }
    }

    /** So many blocks that every table and list is beyond its first shape. */
    @ParameterizedTest
    @EnumSource(Naming.class)
    void tree_manyBlocks_equalsOracle(Naming naming) {
        play(
                naming,
                0,
                DEEP ? 2_000 : 60,
                new Temper(2, 400_000, 4_000, 0.05, 0.002, 0.0005, 0, 1),
                new SplittableRandom(1));
    }

    private static Temper temper(int seed, SplittableRandom random) {
        double nonsense = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 0.02 : 0.2;
        double tiered = new double[] {0, 0.05, 0.4}[random.nextInt(3)];
        return switch (seed % 7) {
            case 0 -> new Temper(5, random.nextInt(3, 24), 24, tiered, 0.3, 0.2, nonsense, 60);
            case 1 -> new Temper(2, random.nextInt(24, 120), 60, tiered, 0.1, 0.05, nonsense, 30);
            case 2 -> new Temper(4, random.nextInt(100, 400), 400, tiered, 0.05, 0.01, nonsense, 10);
            case 3 -> new Temper(3, random.nextInt(400, 4_000), 100, tiered, 0.03, 0.02, nonsense, 4);
            case 4 -> new Temper(60, random.nextInt(50, 300), 20, tiered, 0.1, 0.02, nonsense, 30);
            // More caches than there are bits for, in one tier.
            case 5 -> new Temper(200, random.nextInt(50, 300), 20, 0, 0.1, 0.02, nonsense, 1);
            default -> new Temper(2, random.nextInt(20_000, 60_000), 700, tiered, 0.004, 0.004, nonsense, 1);
        };
    }

    private static void play(Naming naming, int seed, int steps) {
        SplittableRandom random = new SplittableRandom(seed);
        play(naming, seed, steps, temper(seed, random), random);
    }

    private static void play(Naming naming, int seed, int steps, Temper temper, SplittableRandom random) {
        Universe universe = new Universe(naming, temper.blocks(), temper.branching(), temper.rooting(), random.split());
        Twins twins = new Twins(naming);
        ScriptWriter writer = new ScriptWriter(universe, temper, random.split(), twins.naives());
        List<Script.Step> played = new ArrayList<>();
        long[] names = new long[universe.size()];
        for (int i = 0; i < names.length; i++) {
            names[i] = universe.name(i);
        }
        int seldom = temper.blocks() < 200 ? 50 : 500;
        for (int step = 1; step <= steps; step++) {
            played.add(writer.next());
            long now = step;
            boolean all = step % seldom == 0 || step == steps;
            Optional<String> difference = tried(() -> {
                twins.play(played.get(played.size() - 1));
                long[] path = universe.names(writer.target());
                return twins.differenceAround(path, names, 3, random)
                        .or(() -> twins.differenceInHashes(hashes(universe, writer.target(), twins.naives())))
                        .or(() -> all ? twins.difference(now, 60) : Optional.empty());
            });
            if (difference.isPresent()) {
                fail(new Script(naming, played), seed, difference.get());
            }
        }
        List.copyOf(twins.naives().keySet()).forEach(place -> twins.play(new Script.Drop(place)));
        if (twins.tree.blocks() != 0) {
            Assertions.fail("seed " + seed + ": " + twins.tree.blocks() + " blocks in a tree without a cache");
        }
    }

    private static long[] hashes(Universe universe, int last, Map<Integer, ?> places) {
        List<Long> hashes = new ArrayList<>();
        int[] path = universe.path(last);
        int tail = 1 + 200 / (1 + places.size() * places.size());
        for (int i = Math.max(0, path.length - tail); i < path.length; i++) {
            for (int place : places.keySet()) {
                hashes.add(universe.hash(place, path[i]));
            }
        }
        return Twins.hashes(hashes);
    }

    private static void fail(Script script, int seed, String difference) {
        int[] attempts = {0};
        Script shortest = script.shrunk(
                part -> attempts[0]++ < MOST_ATTEMPTS && differenceAfter(part).isPresent());
        Assertions.fail("seed " + seed + " after " + script.steps().size() + " steps: " + difference
                + "\nShortest script found: " + shortest + "\nThen: "
                + differenceAfter(shortest).orElse("no difference; only the whole script has one"));
    }

    /** Compares only at the end: a script that goes wrong earlier has a shorter part that ends there. */
    private static Optional<String> differenceAfter(Script script) {
        Twins twins = new Twins(script.naming());
        return tried(() -> {
            script.steps().forEach(twins::play);
            return twins.difference(1, 300);
        });
    }

    private interface Comparison {
        Optional<String> difference();
    }

    /** What the tree throws is a difference like any other. */
    private static Optional<String> tried(Comparison comparison) {
        try {
            return comparison.difference();
        } catch (RuntimeException | AssertionError thrown) {
            StackTraceElement[] trace = thrown.getStackTrace();
            return Optional.of(thrown + (trace.length == 0 ? "" : " at " + trace[0]));
        }
    }
}
