package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.HoldRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random events, compared with {@link NaiveBlocks} after every step. */
final class EngineBlocksModelTest {
    private static final int SEEDS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 2_000 : 60;
    private static final int STEPS = 300;
    private static final List<Gap.Cause> CAUSES = List.of(Gap.Cause.values());

    private final List<NaiveBlocks.ChainEnd> chainEnds = new ArrayList<>();
    private final List<Long> pinnedRemoved = new ArrayList<>();
    private SplittableRandom random = new SplittableRandom();
    private EngineBlocks tree = newTree(CacheTraits.sglang());
    private NaiveBlocks oracle = new NaiveBlocks(CacheTraits.sglang());
    private long[] hashes = {};
    private int[] parents = {};
    private final Set<Long> watched = new HashSet<>();
    private final List<Long> pins = new ArrayList<>();
    private final Matches matches = new Matches();
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

    private EngineBlocks newTree(CacheTraits traits) {
        return new EngineBlocks(traits, new TreeListener() {
            @Override
            public void parted(long above, long first) {}

            @Override
            public void insertionEnded(long lastBlock, int depth, boolean ended) {
                chainEnds.add(new NaiveBlocks.ChainEnd(lastBlock, depth, ended));
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
        watched.clear();
        CacheTraits traits = seed % 2 == 0 ? CacheTraits.sglang() : CacheTraits.vllm();
        tree = newTree(traits);
        oracle = new NaiveBlocks(traits);
        hashes = new long[random.nextInt(5, 60)];
        parents = new int[hashes.length];
        for (int i = 0; i < hashes.length; i++) {
            hashes[i] = i == 0 ? 0 : random.nextInt(8) == 0 ? -i : random.nextLong();
            parents[i] = i == 0 || random.nextInt(8) == 0 ? -1 : random.nextInt(Math.max(0, i - 6), i);
        }
        grain = 1;
        tree.now(grain << 26);
        tree.batchStarted(0, 0);
        oracle.batchStarted(grain << 26);
    }

    private String step(double nonsense) {
        int what = random.nextInt(100);
        if (what < 42) {
            return store(nonsense);
        } else if (what < 45) {
            return watch();
        } else if (what < 65) {
            return remove();
        } else if (what < 80) {
            nextBatch(() -> {});
            return "next batch at grain " + grain;
        } else if (what < 89) {
            return pin();
        } else if (what < 96) {
            return unpin();
        } else if (what < 97) {
            tree.cleared();
            oracle.cleared();
            pins.clear();
            return "clear";
        } else if (what < 98) {
            int seen = random.nextInt(2);
            nextBatch(() -> {
                tree.restarted(seen);
                oracle.restarted(seen);
                pins.clear();
            });
            return "restart at " + seen;
        }
        Gap gap = new Gap(CAUSES.get(random.nextInt(CAUSES.size())), 7, 9);
        nextBatch(() -> {
            tree.gap(gap);
            oracle.gap(gap);
        });
        return gap.toString();
    }

    private void nextBatch(Runnable between) {
        tree.batchEnded();
        oracle.batchEnded();
        comparePublished();
        between.run();
        grain += random.nextInt(3);
        tree.now((grain << 26) + random.nextInt(1 << 26));
        tree.batchStarted(0, 0);
        oracle.batchStarted(grain << 26);
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
        int group = random.nextInt(6) == 0 ? 1 : 0;
        chain.in(random.nextInt(8) == 0 ? Tier.HOST : Tier.GPU)
                .namespaced(random.nextInt(20) == 0)
                .group(group)
                .windowed(group == 1 && random.nextBoolean());
        if (oracle.forest.open(oracle.cache, chain)) {
            return "nothing whose outcome is open";
        }
        tree.stored(chain);
        oracle.stored(chain);
        return "store " + path.subList(from, to) + " in " + chain.tier() + " of group " + group
                + (strange ? " under nonsense" : "");
    }

    private String remove() {
        int count = random.nextInt(1, 5);
        long[] gone = new long[count + 2];
        Tier tier = random.nextInt(8) == 0 ? Tier.HOST : Tier.GPU;
        int group = random.nextInt(6) == 0 ? 1 : 0;
        int unknown = 0;
        for (int i = 0; i < count; i++) {
            gone[i] = hashes[random.nextInt(hashes.length)];
            unknown += oracle.removed(gone[i], tier, group) ? 1 : 0;
        }
        long before = tree.unknownRemovals();
        tree.removed(gone, 0, count, tier, group);
        assertThat(tree.unknownRemovals() - before).isEqualTo(unknown);
        return "remove " + count + " from " + tier + " of group " + group;
    }

    private String pin() {
        long block = hashes[random.nextInt(hashes.length)];
        if (oracle.forest.depth(block) == 0) {
            return "nothing to pin";
        }
        tree.pinPath(block);
        oracle.pinPath(block);
        pins.add(block);
        return "pin " + block;
    }

    private String watch() {
        long block = hashes[random.nextInt(hashes.length)];
        if (watched.remove(block)) {
            tree.unwatch(block);
            return "unwatch " + block;
        }
        watched.add(block);
        tree.watch(block);
        return "watch " + block;
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
        assertThat(pinnedRemoved)
                .as("removed though pinned, %s", where)
                .containsExactlyInAnyOrderElementsOf(oracle.pinnedRemoved);
        assertThat(tree.certain()).as("certain, %s", where).isEqualTo(oracle.cache.certain());
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

    /** Up to fifteen dead blocks may be remembered in a strip: where those lie is not compared. */
    private void compareBlock(long block, String where) {
        boolean lives = oracle.forest.lives(block);
        // Plain comparisons first: a description per block and step would cost more than the test.
        boolean same = tree.resident(block) == oracle.resident(block)
                && tree.endedInsertion(block) == oracle.ended(block)
                && tree.ambiguous(block) == oracle.ambiguous(block)
                && tree.pinned(block) == oracle.pinned(block)
                && (!lives || tree.depth(block) == oracle.forest.depth(block))
                && (!lives || tree.unpinnedBlocks(block) == oracle.unpinnedBlocks(block))
                && tree.timesLost(block) == oracle.timesLost(block)
                && oracle.mayBeTouched(block, tree.lastTouch(block));
        if (lives && oracle.forest.depth(block) > 0) {
            compareBelow(block, where);
        }
        if (!same) {
            assertThat("resident " + tree.resident(block) + " ended " + tree.endedInsertion(block) + " ambiguous "
                            + tree.ambiguous(block) + " pinned " + tree.pinned(block) + " depth " + tree.depth(block)
                            + " unpinned " + tree.unpinnedBlocks(block) + " lost " + tree.timesLost(block) + " touch "
                            + tree.lastTouch(block))
                    .as(where)
                    .isEqualTo("resident " + oracle.resident(block) + " ended " + oracle.ended(block) + " ambiguous "
                            + oracle.ambiguous(block) + " pinned " + oracle.pinned(block) + " depth "
                            + oracle.forest.depth(block) + " unpinned " + oracle.unpinnedBlocks(block) + " lost "
                            + oracle.timesLost(block) + " touch " + oracle.touches(block));
        }
    }

    private void compareBelow(long block, String where) {
        List<Long> path = new ArrayList<>(oracle.forest.path(block));
        List<Long> onPath = new ArrayList<>();
        tree.watchedOn(block, onPath::add);
        if (!onPath.equals(path.reversed().stream().filter(watched::contains).toList())) {
            assertThat(onPath)
                    .as("watched, %s", where)
                    .isEqualTo(
                            path.reversed().stream().filter(watched::contains).toList());
        }
        Set<Long> ends = new HashSet<>();
        tree.endsBelow(block, ends::add);
        for (long end : hashes) {
            boolean below = oracle.ended(end) && oracle.forest.path(end).contains(block);
            if (ends.contains(end) != below) {
                throw new AssertionError(
                        "ends below, " + where + ": of " + end + " the tree says " + ends.contains(end));
            }
        }
    }

    /** At the end of a batch, what readers are told. */
    private void comparePublished() {
        long[] path = pathOf(random.nextInt(hashes.length)).stream()
                .mapToLong(i -> hashes[i])
                .toArray();
        tree.match(path, 0, path.length, matches);
        int[] depths = oracle.forest.match(oracle.cache, path, 0, path.length);
        for (Tier tier : Tier.values()) {
            assertThat(matches.depthOf(0, tier)).as("%s", tier).isEqualTo(depths[NaiveForest.index(tier)]);
        }
    }
}
