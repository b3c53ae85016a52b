package io.holdfast.rules.sglang;

import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A cache without a tree, to compare with: a flat list of blocks, each with its parent and the number of the run it belongs
 * to; everything else is found by looking at all of them. It knows no sizes, no leaf set and no order of eviction, and counts
 * a block's references as the session's leaves at or below it.
 */
final class FlatCache {
    static final class Block {
        final long name;
        final long parent;
        int run;
        int locks;
        long used;
        int hits;
        long priority;
        boolean onGpu = true;
        boolean onHost;

        Block(long name, long parent) {
            this.name = name;
            this.parent = parent;
        }
    }

    private final int page;
    private final int hostTokens;
    private final Eviction policy;
    private final boolean countsHits;
    final Map<Long, Block> blocks = new LinkedHashMap<>();
    final Map<Long, Integer> pins = new HashMap<>();
    /** The last block of each leaf. */
    final Map<String, Set<Long>> sessions = new HashMap<>();

    final List<String> events = new ArrayList<>();
    private int runs;
    private long uses;

    FlatCache(SglangSettings settings) {
        page = settings.pageTokens();
        hostTokens = settings.hostTokens();
        policy = settings.eviction();
        countsHits = settings.variant() != Variant.PIN_GPU;
    }

    /** Blocks at the beginning of the path that are there, in any tier. */
    int known(long[] path, int count) {
        int known = 0;
        while (known < count && blocks.containsKey(path[known])) {
            known++;
        }
        return known;
    }

    int onGpu(long[] path, int count) {
        int known = 0;
        while (known < count && blocks.containsKey(path[known]) && block(path[known]).onGpu) {
            known++;
        }
        return known;
    }

    int match(long[] path, int count) {
        int known = known(path, count);
        for (List<Block> run : runsAlong(path, known)) {
            use(run);
        }
        return known;
    }

    void insert(long[] path, long priority, int counted) {
        int at = 0;
        while (at < path.length && blocks.containsKey(path[at])) {
            List<Block> run = cutAfter(path, at);
            use(run);
            at += run.size();
            run.forEach(block -> block.priority = Math.max(block.priority, priority));
            if (!run.getFirst().onGpu) {
                run.forEach(block -> block.onGpu = true);
                told("stored", run, "GPU");
            }
            if (at > counted) {
                hit(run);
            }
        }
        if (at == path.length) {
            return;
        }
        List<Block> added = new ArrayList<>();
        runs++;
        uses++;
        for (int i = at; i < path.length; i++) {
            Block block = new Block(path[i], i == 0 ? 0 : path[i - 1]);
            block.run = runs;
            block.used = uses;
            block.priority = priority;
            blocks.put(path[i], block);
            added.add(block);
        }
        told("stored", added, "GPU");
        hit(added);
    }

    int evict(int wanted) {
        int freed = 0;
        while (freed < wanted) {
            Set<Integer> candidates = new HashSet<>();
            blocks.values().stream().filter(b -> b.onGpu && b.locks == 0).forEach(b -> candidates.add(b.run));
            for (Block block : blocks.values()) {
                Block above = blocks.get(block.parent);
                if (above != null && above.run != block.run && block.onGpu) {
                    candidates.remove(above.run);
                }
            }
            List<Block> victim = first(candidates);
            if (victim.isEmpty()) {
                break;
            }
            freed += victim.size() * page;
            victim.forEach(block -> block.onGpu = false);
            if (!victim.getFirst().onHost) {
                forget(victim);
            }
            told("removed", victim, "GPU");
        }
        return freed;
    }

    int hostUsed() {
        return page * (int) blocks.values().stream().filter(b -> b.onHost).count();
    }

    private void evictHost(int wanted) {
        int freed = 0;
        while (freed < wanted) {
            Set<Integer> candidates = new HashSet<>();
            blocks.values().stream().filter(b -> !b.onGpu && b.locks == 0).forEach(b -> candidates.add(b.run));
            for (Block block : blocks.values()) {
                Block above = blocks.get(block.parent);
                if (above != null && above.run != block.run) {
                    candidates.remove(above.run);
                }
            }
            List<Block> victim = first(candidates);
            if (victim.isEmpty()) {
                break;
            }
            freed += victim.size() * page;
            forget(victim);
            told("removed", victim, "HOST");
        }
    }

    private boolean backUp(List<Block> run) {
        if (run.getFirst().onHost || hostTokens == 0) {
            return run.getFirst().onHost;
        }
        Block above = blocks.get(run.getFirst().parent);
        if (above != null && !backUp(runOf(above.run))) {
            return false;
        }
        int size = run.size() * page;
        if (size > hostTokens - hostUsed()) {
            evictHost(size - (hostTokens - hostUsed()));
        }
        if (size > hostTokens - hostUsed()) {
            return false;
        }
        run.forEach(block -> block.onHost = true);
        told("stored", run, "HOST");
        return true;
    }

    /** Brings the path back: every run of it that is on the host alone, from the root down. */
    void load(long[] path, int known) {
        for (List<Block> run : runsAlong(path, known)) {
            if (!run.getFirst().onGpu) {
                run.forEach(block -> block.onGpu = true);
                told("stored", run, "GPU");
            }
        }
    }

    void lock(long name, int change) {
        for (Block at = blocks.get(name); at != null; at = blocks.get(at.parent)) {
            at.locks += change;
        }
    }

    void finished(String session, long name) {
        Set<Long> leaves = sessions.computeIfAbsent(session, _ -> new HashSet<>());
        if (!leaves.contains(name)) {
            for (Block at = blocks.get(block(name).parent); at != null; at = blocks.get(at.parent)) {
                if (leaves.remove(at.name)) {
                    break;
                }
            }
            leaves.add(name);
        }
    }

    int references(Block block) {
        int references = 0;
        for (Set<Long> leaves : sessions.values()) {
            for (long leaf : leaves) {
                for (Block at = block(leaf); at != null; at = blocks.get(at.parent)) {
                    references += at == block ? 1 : 0;
                }
            }
        }
        return references;
    }

    int protectedTokens() {
        return page
                * (int) blocks.values().stream()
                        .filter(b -> b.onGpu && b.locks > 0)
                        .count();
    }

    int gpuTokens() {
        return page * (int) blocks.values().stream().filter(b -> b.onGpu).count();
    }

    private List<Block> first(Set<Integer> candidates) {
        Comparator<Block> order = Comparator.comparingInt(this::references);
        order = switch (policy) {
            case LRU -> order;
            case LFU -> order.thenComparingInt(block -> block.hits);
            case SLRU -> order.thenComparingInt(block -> block.hits < 2 ? 0 : 1);
            case PRIORITY -> order.thenComparingLong(block -> block.priority);
        };
        return candidates.stream()
                .map(this::runOf)
                .min(Comparator.comparing(List::getFirst, order.thenComparingLong(block -> block.used)))
                .orElse(List.of());
    }

    private void forget(List<Block> run) {
        Block last = run.getLast();
        for (Set<Long> leaves : sessions.values()) {
            if (leaves.remove(last.name) && blocks.containsKey(run.getFirst().parent)) {
                leaves.add(run.getFirst().parent);
            }
        }
        run.forEach(block -> blocks.remove(block.name));
    }

    private void hit(List<Block> run) {
        run.forEach(block -> block.hits += countsHits ? 1 : 0);
        backUp(run);
    }

    private List<List<Block>> runsAlong(long[] path, int known) {
        List<List<Block>> all = new ArrayList<>();
        for (int at = 0; at < known; at += all.getLast().size()) {
            all.add(cutAfter(path, at, known));
        }
        return all;
    }

    private List<Block> cutAfter(long[] path, int at) {
        return cutAfter(path, at, path.length);
    }

    /** The run that begins at this block of the path; where the path leaves it, it falls apart. */
    private List<Block> cutAfter(long[] path, int at, int count) {
        List<Block> run = runOf(block(path[at]).run);
        int shared = 0;
        while (shared < run.size() && at + shared < count && run.get(shared).name == path[at + shared]) {
            shared++;
        }
        if (shared == run.size()) {
            return run;
        }
        use(run);
        runs++;
        List<Block> upper = run.subList(0, shared);
        upper.forEach(block -> block.run = runs);
        return upper;
    }

    private void use(List<Block> run) {
        uses++;
        run.forEach(block -> block.used = uses);
    }

    private void told(String what, List<Block> run, String tier) {
        run.forEach(block -> events.add(what + " " + block.name + " " + tier));
    }

    private Block block(long name) {
        return Objects.requireNonNull(blocks.get(name));
    }

    private int depth(Block block) {
        int depth = 0;
        for (Block at = blocks.get(block.parent); at != null; at = blocks.get(at.parent)) {
            depth++;
        }
        return depth;
    }

    private List<Block> runOf(int run) {
        return new ArrayList<>(blocks.values().stream()
                .filter(block -> block.run == run)
                .sorted(Comparator.comparingInt(this::depth))
                .toList());
    }
}
