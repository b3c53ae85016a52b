package io.holdfast.rules.phases;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.CacheEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The tree against a list of prefixes that is searched anew for each question. */
final class PrefixTreeModelTest {
    private static final int STEPS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 50_000 : 1_000;
    private static final int BLOCK = 4;

    private static final class Entry {
        private final long name;
        private final List<Integer> prefix;
        private int lastUse;

        Entry(long name, List<Integer> prefix) {
            this.name = name;
            this.prefix = prefix;
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void tree_keepsWhatTheListKeeps(long seed) {
        Random random = new Random(seed);
        PrefixTree tree = new PrefixTree(BLOCK);
        Map<List<Integer>, Entry> list = new HashMap<>();
        List<List<Integer>> locks = new ArrayList<>();
        List<PrefixTree.Node> locked = new ArrayList<>();
        Set<Long> heard = new HashSet<>();
        int uses = 0;
        for (int step = 0; step < STEPS; step++) {
            int[] tokens = random.ints(BLOCK * (1L + random.nextInt(7)), 0, 2).toArray();
            long[] names = SglangBlockNames.of(tokens, BLOCK);
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    int present = tree.insert(names, names.length, tokens);
                    int found = 0;
                    for (int i = 1; i <= names.length; i++) {
                        List<Integer> prefix = prefix(tokens, i);
                        found += list.containsKey(prefix) ? 1 : 0;
                        long name = names[i - 1];
                        list.computeIfAbsent(prefix, key -> new Entry(name, key)).lastUse = ++uses;
                    }
                    assertThat(present).isEqualTo(found);
                }
                case 2 -> {
                    int found = 0;
                    while (found < names.length && list.containsKey(prefix(tokens, found + 1))) {
                        found++;
                        Optional.ofNullable(list.get(prefix(tokens, found))).orElseThrow().lastUse = ++uses;
                    }
                    assertThat(tree.match(names, names.length)).isEqualTo(found);
                    if (found > 0 && random.nextBoolean()) {
                        locks.add(prefix(tokens, found));
                        locked.add(tree.at(names, found));
                        tree.lock(locked.getLast());
                    }
                }
                case 3 -> {
                    if (!locked.isEmpty()) {
                        int which = random.nextInt(locked.size());
                        tree.unlock(locked.remove(which));
                        locks.remove(which);
                    }
                }
                default -> {
                    int wanted = random.nextInt(6);
                    int gone = 0;
                    while (gone < wanted && evict(list, locks)) {
                        gone++;
                    }
                    assertThat(tree.evict(wanted)).isEqualTo(gone);
                }
            }
            for (CacheEvent event : tree.drainEvents()) {
                hear(event, heard);
            }
            assertThat(tree.blocks()).isEqualTo(list.size());
            assertThat(tree.lockedBlocks()).isEqualTo((int) list.keySet().stream()
                    .filter(prefix -> locks.stream().anyMatch(lock -> begins(lock, prefix)))
                    .count());
        }
        Long[] names = list.values().stream().map(entry -> entry.name).toArray(Long[]::new);
        assertThat(Arrays.stream(tree.names()).boxed()).containsExactlyInAnyOrder(names);
        assertThat(heard).containsExactlyInAnyOrder(names);
    }

    private static boolean evict(Map<List<Integer>, Entry> list, List<List<Integer>> locks) {
        Optional<Entry> oldest = list.values().stream()
                .filter(entry -> locks.stream().noneMatch(lock -> begins(lock, entry.prefix)))
                .filter(entry -> list.keySet().stream()
                        .noneMatch(other -> other.size() > entry.prefix.size() && begins(other, entry.prefix)))
                .min(Comparator.comparingInt(entry -> entry.lastUse));
        oldest.ifPresent(entry -> list.remove(entry.prefix));
        return oldest.isPresent();
    }

    private static void hear(CacheEvent event, Set<Long> heard) {
        switch (event) {
            case CacheEvent.Stored stored -> {
                stored.parent().ifPresent(parent -> assertThat(heard).contains(parent.hash()));
                stored.blocks()
                        .forEach(block -> assertThat(heard.add(block.hash())).isTrue());
                assertThat(stored.tokens().size())
                        .isEqualTo(BLOCK * stored.blocks().size());
            }
            case CacheEvent.Removed removed ->
                removed.blocks()
                        .forEach(block -> assertThat(heard.remove(block.hash())).isTrue());
            case CacheEvent.Cleared _ -> heard.clear();
        }
    }

    private static List<Integer> prefix(int[] tokens, int blocks) {
        return Arrays.stream(tokens, 0, BLOCK * blocks).boxed().toList();
    }

    private static boolean begins(List<Integer> whole, List<Integer> prefix) {
        return prefix.size() <= whole.size() && whole.subList(0, prefix.size()).equals(prefix);
    }
}
