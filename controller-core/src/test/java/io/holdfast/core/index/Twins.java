package io.holdfast.core.index;

import io.holdfast.core.index.NaiveForest.NaiveCache;
import io.holdfast.core.index.Script.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** A {@link BlockTree} and a {@link NaiveForest} to which the same things happen. */
final class Twins {
    /** A cache of both. */
    record Pair(Cache cache, NaiveCache naive) {}

    private static final Tier[] TIERS = Tier.values();
    private static final int GROUPS = 3;
    private static final int STRANGER = 1_000_000;
    private static final long NOBODY = 0x5EED_0000_0000_0001L;

    final BlockTree tree;
    final NaiveForest forest;
    private final TreePlayer treePlayer;
    private final ForestPlayer forestPlayer;
    private final Matches matches = new Matches();

    Twins(BlockTree.Naming naming) {
        tree = new BlockTree(naming);
        forest = new NaiveForest(naming);
        treePlayer = new TreePlayer(tree);
        forestPlayer = new ForestPlayer(forest);
    }

    /** Answers what was played: the step without the events whose outcome is left open. */
    Step play(Step step) {
        Step played = forestPlayer.play(step);
        treePlayer.play(played);
        return played;
    }

    /** The caches by their places in the script. */
    Map<Integer, Pair> caches() {
        Map<Integer, Pair> pairs = new TreeMap<>();
        treePlayer.caches.forEach((place, cache) -> pairs.put(
                place,
                new Pair(
                        cache,
                        Optional.ofNullable(forestPlayer.caches.get(place)).orElseThrow())));
        return pairs;
    }

    Cache cache(int place) {
        return Optional.ofNullable(treePlayer.caches.get(place)).orElseThrow();
    }

    Map<Integer, NaiveCache> naives() {
        return forestPlayer.caches;
    }

    /** What the forest answers when asked for this path: by cache, its depth in each tier. */
    Map<Integer, int[]> expected(long[] path, int from, int blocks) {
        Map<Integer, int[]> expected = new TreeMap<>();
        for (Pair pair : caches().values()) {
            int[] depths = forest.match(pair.naive, path, from, blocks);
            if (depths[TIERS.length - 1] > 0) {
                expected.put(pair.cache.id(), depths);
            }
        }
        return expected;
    }

    Optional<String> differenceAt(long[] path, int from, int blocks) {
        tree.match(path, from, blocks, matches);
        int found = 0;
        boolean same = matches.depthOf(STRANGER, Tier.EXTERNAL) == 0;
        for (Map.Entry<Integer, NaiveCache> entry : naives().entrySet()) {
            int[] depths = forest.match(entry.getValue(), path, from, blocks);
            int id = cache(entry.getKey()).id();
            for (Tier tier : TIERS) {
                same &= matches.depthOf(id, tier) == depths[NaiveForest.index(tier)];
            }
            found += depths[TIERS.length - 1] > 0 ? 1 : 0;
        }
        if (same && matches.count() == found && answer(matches).size() == found) {
            return Optional.empty();
        }
        return Optional.of("match of " + Arrays.toString(Arrays.copyOfRange(path, from, from + blocks)) + ": "
                + text(answer(matches)) + " of " + matches.count() + " caches, expected "
                + text(expected(path, from, blocks)));
    }

    /** A match as the depths in each tier by the cache's id. */
    static Map<Integer, int[]> answer(Matches matches) {
        Map<Integer, int[]> answer = new TreeMap<>();
        for (int i = 0; i < matches.count(); i++) {
            int[] depths = new int[TIERS.length];
            for (Tier tier : TIERS) {
                depths[NaiveForest.index(tier)] = matches.depth(i, tier);
                if (matches.depthOf(matches.cache(i), tier) != matches.depth(i, tier)
                        || matches.depth(i) != matches.depth(i, Tier.GPU)) {
                    throw new AssertionError("cache " + matches.cache(i) + " has two depths in " + tier);
                }
            }
            answer.put(matches.cache(i), depths);
        }
        return answer;
    }

    static String text(Map<Integer, int[]> answer) {
        StringBuilder text = new StringBuilder("{");
        answer.forEach((id, depths) -> text.append(text.length() == 1 ? "" : ", ")
                .append("cache ")
                .append(id)
                .append(": ")
                .append(Arrays.toString(depths)));
        return text.append('}').toString();
    }

    /** What is counted, and the tiers of these hashes. */
    Optional<String> differenceInHashes(long[] hashes) {
        // Up to fifteen dead blocks may be remembered in each strip.
        if (tree.blocks() < forest.blocks() || tree.blocks() > 16 * forest.blocks()) {
            return Optional.of("the tree has " + tree.blocks() + " blocks, expected " + forest.blocks());
        }
        for (Map.Entry<Integer, Pair> entry : caches().entrySet()) {
            Optional<String> difference = differenceInHashes(entry.getValue(), hashes);
            if (difference.isPresent()) {
                return Optional.of("cache " + entry.getKey() + ": " + difference.get());
            }
        }
        return Optional.empty();
    }

    /** Compares everything that can be asked; with a seed for what to ask where not all of it can be. */
    Optional<String> difference(long seed, int paths) {
        SplittableRandom random = new SplittableRandom(seed);
        for (Map.Entry<Integer, Pair> entry : caches().entrySet()) {
            Map<Long, Integer> visited = new TreeMap<>();
            List<Long> twice = new ArrayList<>();
            entry.getValue().cache.forEachHash((hash, tiers) -> {
                if (visited.put(hash, tiers) != null) {
                    twice.add(hash);
                }
            });
            Map<Long, Integer> expected = entry.getValue().naive.tiers();
            if (!twice.isEmpty() || !visited.equals(expected)) {
                return Optional.of("cache " + entry.getKey() + " holds " + onlyIn(visited, expected) + ", expected "
                        + onlyIn(expected, visited) + ", visited twice " + twice);
            }
            Optional<String> difference = differenceInHashes(hashes(expected.keySet()));
            if (difference.isPresent()) {
                return difference;
            }
        }
        long[] names = hashes(forest.names());
        Optional<String> difference = differenceInHashes(names.length > 512 ? Arrays.copyOf(names, 512) : names);
        for (int i = 0; i < Math.min(paths, names.length) && difference.isEmpty(); i++) {
            long name = names[names.length <= paths ? i : random.nextInt(names.length)];
            difference = differenceAround(hashes(forest.path(name)), names, 24, random);
        }
        return difference;
    }

    /** Compares the answers for a path and for paths that begin, go on, end or go astray elsewhere. */
    Optional<String> differenceAround(long[] path, long[] names, int offsets, SplittableRandom random) {
        int length = path.length;
        long[] wide = new long[length + 3];
        System.arraycopy(path, 0, wide, 1, length);
        wide[0] = wide[length + 1] = names.length == 0 ? 1 : names[random.nextInt(names.length)];
        wide[length + 2] = NOBODY;
        Optional<String> difference = differenceAt(wide, 1, length)
                .or(() -> differenceAt(wide, 1, 0))
                .or(() -> differenceAt(wide, 1, length + 1))
                .or(() -> differenceAt(wide, 0, length + 3))
                .or(() -> differenceAt(wide, 1, random.nextInt(length + 1)))
                .or(() -> differenceAt(wide, 1 + random.nextInt(length + 1), 1));
        int step = Math.max(1, length / offsets);
        for (int at = random.nextInt(step); at < length && difference.isEmpty(); at += step) {
            long[] astray = path.clone();
            astray[at] = random.nextBoolean() || names.length == 0 ? NOBODY : names[random.nextInt(names.length)];
            int from = at;
            difference = differenceAt(astray, 0, length).or(() -> differenceAt(path, from, length - from));
        }
        return difference;
    }

    static long[] hashes(Iterable<Long> boxed) {
        List<Long> list = new ArrayList<>();
        boxed.forEach(list::add);
        return list.stream().mapToLong(Long::longValue).toArray();
    }

    private Optional<String> differenceInHashes(Pair pair, long[] hashes) {
        Cache cache = pair.cache;
        NaiveCache naive = pair.naive;
        if (cache.blocks() != naive.blocks()
                || cache.unplaced() != naive.unplaced()
                || cache.unknownRemovals() != naive.unknownRemovals()
                || cache.certain() != naive.certain()) {
            return Optional.of(cache.blocks() + " blocks, " + cache.unplaced() + " unplaced, " + cache.unknownRemovals()
                    + " unknown removals, certain " + cache.certain() + "; expected " + naive.blocks() + ", "
                    + naive.unplaced() + ", " + naive.unknownRemovals() + ", " + naive.certain());
        }
        for (long hash : hashes) {
            for (Tier tier : TIERS) {
                if (cache.holds(hash, tier) != naive.holds(hash, tier)) {
                    return Optional.of("holds " + hash + " in " + tier + ": " + cache.holds(hash, tier));
                }
                for (int group = 0; group < GROUPS; group++) {
                    if (cache.holds(hash, tier, group) != naive.holds(hash, tier, group)) {
                        return Optional.of("holds " + hash + " in " + tier + " in group " + group + ": "
                                + cache.holds(hash, tier, group));
                    }
                }
            }
        }
        return Optional.empty();
    }

    private static Map<Long, Integer> onlyIn(Map<Long, Integer> some, Map<Long, Integer> others) {
        Map<Long, Integer> rest = new TreeMap<>(some);
        rest.entrySet().removeAll(others.entrySet());
        return rest;
    }
}
