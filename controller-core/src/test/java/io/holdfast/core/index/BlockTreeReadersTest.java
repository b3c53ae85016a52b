package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.Script.Add;
import io.holdfast.core.index.Script.Batch;
import io.holdfast.core.index.Script.Block;
import io.holdfast.core.index.Script.Clear;
import io.holdfast.core.index.Script.Drop;
import io.holdfast.core.index.Script.Event;
import io.holdfast.core.index.Script.Form;
import io.holdfast.core.index.Script.Lost;
import io.holdfast.core.index.Script.Reload;
import io.holdfast.core.index.Script.Remove;
import io.holdfast.core.index.Script.Restart;
import io.holdfast.core.index.Script.Step;
import io.holdfast.core.index.Script.Store;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What readers are told while batches are applied at full speed: always what was true between two of them. */
final class BlockTreeReadersTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int RUNS = DEEP ? 30 : 3;
    private static final int STEPS = DEEP ? 5_000 : 1_500;

    /** Batches that change a path in several places at once. */
    @ParameterizedTest
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    @EnumSource(Naming.class)
    void match_batchesThatChangeAPathInSeveralPlaces_isNeverTorn(Naming naming) throws InterruptedException {
        long overlapping = 0;
        for (int seed = 1; seed <= RUNS; seed++) {
            Twins rehearsal = new Twins(naming);
            List<Step> steps = new Scenes(naming, new SplittableRandom(seed))
                    .script(STEPS).stream().map(rehearsal::play).toList();
            overlapping += neverTorn(seed, new Script(naming, steps), Scenes.paths(naming));
        }
        assertThat(overlapping).as("answers while a batch was applied").isPositive();
    }

    @ParameterizedTest
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    @EnumSource(Naming.class)
    void match_randomEvents_isNeverTorn(Naming naming) throws InterruptedException {
        long overlapping = 0;
        for (int seed = 1; seed <= RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int blocks = seed % 3 == 0 ? 40 : seed % 3 == 1 ? 400 : 3_000;
            // Where there is one tier, caches that hold a whole strip are told by bits.
            double tiered = seed % 2 == 0 ? 0.4 : 0;
            ScriptWriter.Temper temper = new ScriptWriter.Temper(
                    seed % 3 == 0 ? 24 : 3, blocks, 200, tiered, 0.03, 0.02, seed % 2 * 0.05, 5);
            Universe universe = new Universe(naming, blocks, temper.branching(), temper.rooting(), random.split());
            Twins rehearsal = new Twins(naming);
            ScriptWriter writer = new ScriptWriter(universe, temper, random.split(), rehearsal.naives());
            List<Step> steps = new ArrayList<>();
            List<long[]> paths = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                // A reload over nothing is two changes, between which readers may look.
                Step next = writer.next();
                steps.add(rehearsal.play(next instanceof Reload reload ? new Reload(reload.place(), false) : next));
                if (step % (STEPS / 16) == 0) {
                    paths.add(universe.names(writer.target()));
                }
            }
            overlapping += neverTorn(seed, new Script(naming, steps), paths);
        }
        assertThat(overlapping).as("answers while a batch was applied").isPositive();
    }

    private static long neverTorn(int seed, Script script, List<long[]> paths) throws InterruptedException {
        Readers readers = new Readers(script, paths);
        readers.play(1 + seed % 2);
        assertThat(readers.untrue()).as("seed " + seed).isEmpty();
        return readers.overlapping();
    }

    /** Invents batches around a few paths; each step is right whatever came before, since copies are not counted. */
    private static final class Scenes {
        private static final int[] COMMON = range(1, 21);
        private static final int[] TAIL = range(100, 140);
        private static final int[] OTHER_TAIL = range(200, 237);
        private static final int[] LONG = range(300, 420);
        private static final int[] LONGER = range(420, 450);
        private static final int[] OTHER_LONG = range(500, 610);
        private static final CacheTraits TOUCHES = new CacheTraits(false, false);

        private final Naming naming;
        private final SplittableRandom random;
        private int fresh = 10_000;

        Scenes(Naming naming, SplittableRandom random) {
            this.naming = naming;
            this.random = random;
        }

        static List<long[]> paths(Naming naming) {
            return List.of(
                    names(naming, join(COMMON, TAIL)),
                    names(naming, join(COMMON, OTHER_TAIL)),
                    names(naming, LONG),
                    names(naming, range(300, 364)),
                    names(naming, OTHER_LONG),
                    names(naming, join(LONG, LONGER)));
        }

        List<Step> script(int length) {
            List<Step> steps = new ArrayList<>();
            steps.add(new Add(0, TOUCHES));
            steps.add(new Add(1, TOUCHES));
            for (int place = 0; place < 2; place++) {
                steps.add(new Batch(
                        place,
                        List.of(store(place, 0, Tier.GPU, join(COMMON, TAIL)), store(place, 0, Tier.GPU, LONG))));
            }
            while (steps.size() < length) {
                next(random.nextInt(2), steps);
            }
            return steps;
        }

        private void next(int place, List<Step> steps) {
            boolean swapped = random.nextBoolean();
            int[] tail = swapped ? OTHER_TAIL : TAIL;
            int[] otherTail = swapped ? TAIL : OTHER_TAIL;
            boolean other = random.nextBoolean();
            int[] path = other ? OTHER_LONG : LONG;
            int[] otherPath = other ? LONG : OTHER_LONG;
            int last = COMMON[COMMON.length - 1];
            int hole = path[random.nextInt(1, 30)];
            int otherHole = path[random.nextInt(30, 100)];
            switch (random.nextInt(15)) {
                case 0, 1, 2 ->
                    batch(steps, place, remove(place, Tier.GPU, tail), store(place, last, Tier.GPU, otherTail));
                case 3 ->
                    batch(
                            steps,
                            place,
                            remove(place, Tier.GPU, hole, otherHole),
                            store(place, last, Tier.GPU, otherTail));
                case 4 -> {
                    batch(steps, place, remove(place, Tier.GPU, hole, otherHole));
                    batch(
                            steps,
                            place,
                            store(place, hole - 1, Tier.GPU, hole),
                            store(place, otherHole - 1, Tier.GPU, otherHole));
                }
                case 5 ->
                    batch(
                            steps,
                            place,
                            new Clear(),
                            store(place, 0, Tier.GPU, join(COMMON, tail)),
                            store(place, 0, Tier.GPU, path));
                case 6 -> {
                    batch(steps, place, store(place, 0, Tier.HOST, path), remove(place, Tier.GPU, path));
                    batch(steps, place, store(place, 0, Tier.GPU, path), remove(place, Tier.HOST, path));
                }
                case 7, 8 -> batch(steps, place, remove(place, Tier.GPU, path), store(place, 0, Tier.GPU, otherPath));
                case 9 -> {
                    // A child that waits for its parent, which comes when the rest of the path has changed.
                    batch(steps, place, remove(place, Tier.GPU, path));
                    batch(steps, place, store(place, path[0], Tier.GPU, range(path[1], path[0] + path.length)));
                    batch(steps, place, store(place, 0, Tier.GPU, path[0]), remove(place, Tier.GPU, otherHole));
                }
                case 10 -> {
                    int[] chain = range(fresh, fresh += 150);
                    batch(steps, place, store(place, last, Tier.GPU, chain));
                    batch(steps, place, remove(place, Tier.GPU, chain), store(place, 0, Tier.GPU, join(COMMON, tail)));
                }
                case 11 -> {
                    int[] longer = join(LONG, LONGER);
                    batch(steps, place, store(place, 0, Tier.GPU, longer));
                    batch(steps, place, remove(place, Tier.GPU, LONGER), remove(place, Tier.GPU, hole));
                }
                case 12 -> {
                    // Tables grow.
                    Event[] roots = new Event[40];
                    Arrays.setAll(roots, i -> store(place, 0, Tier.GPU, fresh++));
                    batch(steps, place, roots);
                }
                case 13 -> {
                    steps.add(random.nextBoolean() ? new Restart(place, 0) : new Lost(place, Gap.Cause.DROPPED));
                    batch(steps, place, store(place, 0, Tier.GPU, join(COMMON, tail)));
                }
                default -> {
                    steps.add(new Drop(place));
                    steps.add(new Add(place, TOUCHES));
                    batch(steps, place, store(place, 0, Tier.GPU, path));
                }
            }
        }

        private static void batch(List<Step> steps, int place, Event... events) {
            steps.add(new Batch(place, List.of(events)));
        }

        private Store store(int place, int parent, Tier tier, int... blocks) {
            List<Block> chain = new ArrayList<>();
            for (int block : blocks) {
                chain.add(new Block(hash(naming, place, block), name(block), block));
            }
            return new Store(
                    parent == 0 ? OptionalLong.empty() : OptionalLong.of(hash(naming, place, parent)),
                    chain,
                    tier,
                    0,
                    Form.NAMES);
        }

        private Remove remove(int place, Tier tier, int... blocks) {
            return new Remove(
                    IntStream.of(blocks)
                            .mapToObj(block -> hash(naming, place, block))
                            .toList(),
                    tier,
                    0);
        }

        private static long[] names(Naming naming, int[] blocks) {
            return IntStream.of(blocks)
                    .mapToLong(block -> naming == Naming.ENGINE_HASH ? hash(naming, 0, block) : name(block))
                    .toArray();
        }

        private static long hash(Naming naming, int place, int block) {
            return naming == Naming.ENGINE_HASH ? block : place + 7L * block;
        }

        private static long name(int block) {
            return block * 0x9E3779B97F4A7C15L;
        }

        private static int[] join(int[] path, int[] rest) {
            return IntStream.concat(IntStream.of(path), IntStream.of(rest)).toArray();
        }

        private static int[] range(int from, int to) {
            return IntStream.range(from, to).toArray();
        }
    }
}
