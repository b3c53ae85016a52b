package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.HoldRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random events, compared with {@link NaiveTree} after every step. */
final class EngineTreeModelTest {
    private static final int SEEDS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 2_000 : 60;
    private static final int STEPS = 300;

    private final List<NaiveTree.ChainEnd> chainEnds = new ArrayList<>();
    private final List<Long> pinnedRemoved = new ArrayList<>();
    private SplittableRandom random = new SplittableRandom();
    private EngineTree tree = newTree();
    private NaiveTree oracle = new NaiveTree();
    private long[] hashes = {};
    private int[] parents = {};
    private final List<Long> pins = new ArrayList<>();
    private long grain;

    /** How strange the peer is: its share of stores under a parent that makes no sense. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 0.1})
    void tree_randomEvents_equalsOracleAfterEveryStep(double nonsense) {
        for (int seed = 1; seed <= SEEDS; seed++) {
            start(seed);
            for (int step = 0; step < STEPS; step++) {
                String happened = step(nonsense);
                compare("seed " + seed + " step " + step + ": " + happened);
            }
        }
    }

    private EngineTree newTree() {
        return new EngineTree(new TreeListener() {
            @Override
            public void chainEnded(long lastBlock, int depth, boolean returned) {
                chainEnds.add(new NaiveTree.ChainEnd(lastBlock, depth, returned));
            }

            @Override
            public void pinnedBlockRemoved(long block) {
                pinnedRemoved.add(block);
            }
        });
    }

    private void start(int seed) {
        random = new SplittableRandom(seed);
        chainEnds.clear();
        pinnedRemoved.clear();
        pins.clear();
        tree = newTree();
        oracle = new NaiveTree();
        hashes = new long[random.nextInt(5, 60)];
        parents = new int[hashes.length];
        for (int i = 0; i < hashes.length; i++) {
            hashes[i] = i == 0 ? 0 : random.nextInt(8) == 0 ? -i : random.nextLong();
            parents[i] = i == 0 || random.nextInt(8) == 0 ? -1 : random.nextInt(Math.max(0, i - 6), i);
        }
        grain = 1;
        tree.batchStarted(grain << 26);
        oracle.batchStarted(grain << 26);
    }

    private String step(double nonsense) {
        int what = random.nextInt(100);
        if (what < 45) {
            return store(nonsense);
        } else if (what < 65) {
            return remove();
        } else if (what < 80) {
            tree.batchEnded();
            oracle.batchEnded();
            grain += random.nextInt(3);
            long time = (grain << 26) + random.nextInt(1 << 26);
            tree.batchStarted(time);
            oracle.batchStarted(grain << 26);
            return "next batch at grain " + grain;
        } else if (what < 90) {
            return pin();
        } else if (what < 97) {
            return unpin();
        } else if (what < 98) {
            tree.clear();
            oracle.clear();
            pins.clear();
            return "clear";
        }
        tree.forgetUnpinned();
        oracle.forgetUnpinned();
        return "gap";
    }

    private String store(double nonsense) {
        List<Integer> path = pathOf(random.nextInt(hashes.length));
        int from = random.nextInt(path.size());
        int to = random.nextInt(from, path.size()) + 1;
        StoredBlocks chain = new StoredBlocks().reset();
        boolean strange = random.nextDouble() < nonsense;
        if (strange) {
            chain.under(hashes[random.nextInt(hashes.length)]);
        } else if (from > 0) {
            chain.under(hashes[path.get(from - 1)]);
        }
        for (int i = from; i < to; i++) {
            chain.add(hashes[path.get(i)]);
        }
        chain.in(random.nextInt(8) == 0 ? Tier.HOST : Tier.GPU).namespaced(random.nextInt(20) == 0);
        tree.stored(chain);
        oracle.stored(chain);
        return "store " + path.subList(from, to) + " in " + chain.tier() + (strange ? " under nonsense" : "");
    }

    private String remove() {
        int count = random.nextInt(1, 5);
        long[] gone = new long[count + 2];
        Tier tier = random.nextInt(8) == 0 ? Tier.HOST : Tier.GPU;
        int unknown = 0;
        for (int i = 0; i < count; i++) {
            gone[i] = hashes[random.nextInt(hashes.length)];
            unknown += oracle.removed(gone[i], tier);
        }
        assertThat(tree.removed(gone, 0, count, tier)).isEqualTo(unknown);
        return "remove " + count + " from " + tier;
    }

    private String pin() {
        long block = hashes[random.nextInt(hashes.length)];
        if (oracle.depth(block) == 0) {
            return "nothing to pin";
        }
        tree.pinPath(block);
        oracle.pinPath(block);
        pins.add(block);
        return "pin " + block;
    }

    private String unpin() {
        if (pins.isEmpty()) {
            return "nothing to unpin";
        }
        long block = pins.remove(random.nextInt(pins.size()));
        tree.unpinPath(block);
        oracle.unpinPath(block);
        return "unpin " + block;
    }

    private List<Integer> pathOf(int block) {
        List<Integer> path = new ArrayList<>();
        for (int at = block; at >= 0; at = parents[at]) {
            path.add(0, at);
        }
        return path;
    }

    private void compare(String where) {
        assertThat(tree.size()).as("size, %s", where).isEqualTo(oracle.size());
        assertThat(tree.ghosts()).as("ghosts, %s", where).isEqualTo(oracle.ghosts());
        assertThat(tree.pinnedBlocks()).as("pinned blocks, %s", where).isEqualTo(oracle.pinnedBlocks());
        assertThat(chainEnds).as("chain ends, %s", where).isEqualTo(oracle.chainEnds);
        assertThat(pinnedRemoved).as("removed though pinned, %s", where).isEqualTo(oracle.pinnedRemoved);
        long[] some = pins.stream()
                .filter(pin -> random.nextBoolean())
                .mapToLong(Long::longValue)
                .toArray();
        int least = random.nextInt(some.length + 1);
        long most = random.nextInt(oracle.pinnedBlocks() + 1);
        assertThat(tree.pathsToUnpin(some, least, most))
                .as("paths to unpin, %s", where)
                .isEqualTo(oracle.pathsToUnpin(some, least, most));
        for (int i = 0; i < hashes.length; i++) {
            compareBlock(hashes[i], where + ", block " + i);
        }
        HoldRequest path = new HoldRequest(
                pathOf(random.nextInt(hashes.length)).stream()
                        .mapToLong(i -> hashes[i])
                        .toArray(),
                Duration.ofSeconds(1));
        int matched = oracle.match(path);
        assertThat(tree.match(path)).as("match, %s", where).isEqualTo(matched);
        assertThat(tree.insertionEnd(path, matched)).as("end, %s", where).isEqualTo(oracle.insertionEnd(path, matched));
    }

    private void compareBlock(long block, String where) {
        // Plain comparisons first: a description per block and step would cost more than the test.
        boolean same = tree.resident(block) == oracle.resident(block)
                && tree.endedInsertion(block) == oracle.ended(block)
                && tree.ambiguous(block) == oracle.ambiguous(block)
                && tree.pinned(block) == oracle.pinned(block)
                && tree.depth(block) == oracle.depth(block)
                && tree.unpinnedBlocks(block) == oracle.unpinnedBlocks(block)
                && tree.timesLost(block) == oracle.timesLost(block)
                && tree.lastTouch(block) == oracle.lastTouch(block);
        if (!same) {
            assertThat(describe(
                            tree.resident(block),
                            tree.endedInsertion(block),
                            tree.ambiguous(block),
                            tree.pinned(block),
                            tree.depth(block),
                            tree.unpinnedBlocks(block),
                            tree.timesLost(block),
                            tree.lastTouch(block) >> 26))
                    .as(where)
                    .isEqualTo(describe(
                            oracle.resident(block),
                            oracle.ended(block),
                            oracle.ambiguous(block),
                            oracle.pinned(block),
                            oracle.depth(block),
                            oracle.unpinnedBlocks(block),
                            oracle.timesLost(block),
                            oracle.lastTouch(block) >> 26));
        }
    }

    private static String describe(
            boolean resident,
            boolean ended,
            boolean ambiguous,
            boolean pinned,
            int depth,
            int unpinned,
            int lost,
            long touch) {
        return "resident " + resident + " ended " + ended + " ambiguous " + ambiguous + " pinned " + pinned + " depth "
                + depth + " unpinned " + unpinned + " lost " + lost + " touch " + touch;
    }
}
