package io.holdfast.core.index;

import io.holdfast.core.HoldRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The block tree's rules over hash maps, with full walks and no thought of speed. */
final class NaiveTree {
    private static final class Node {
        Optional<Long> parent = Optional.empty();
        boolean root;
        final Set<Tier> tiers = EnumSet.noneOf(Tier.class);
        int copies;
        boolean ended;
        boolean ambiguous;
        int pins;
        long touch;
    }

    record ChainEnd(long block, int depth, boolean returned) {}

    final List<ChainEnd> chainEnds = new ArrayList<>();
    final List<Long> pinnedRemoved = new ArrayList<>();
    private final Map<Long, Node> nodes = new HashMap<>();
    private final Map<Long, Integer> lost = new HashMap<>();
    private final Map<Long, Long> ghostTouch = new HashMap<>();
    private Optional<Long> chainEnd = Optional.empty();
    private boolean chainHoldable;
    private boolean chainReturned;
    private long now;

    void batchStarted(long nanos) {
        now = nanos;
    }

    void stored(StoredBlocks chain) {
        boolean gpu = chain.tier() == Tier.GPU;
        if (gpu && (chain.rooted() || !chainEnd.equals(Optional.of(chain.parent())))) {
            endChain();
        }
        Optional<Long> above = chain.rooted() ? Optional.empty() : Optional.of(chain.parent());
        above.ifPresent(hash -> nodes.computeIfAbsent(hash, h -> new Node()));
        if (gpu) {
            above.ifPresent(hash -> touchPath(hash, now));
        }
        for (int i = 0; i < chain.count(); i++) {
            long hash = chain.hash(i);
            Node node = nodes.computeIfAbsent(hash, h -> new Node());
            link(hash, node, above);
            boolean twice = gpu && node.tiers.contains(Tier.GPU);
            if (twice || chain.namespaced()) {
                node.ambiguous = true;
                node.ended = false;
            }
            node.tiers.add(chain.tier());
            if (gpu) {
                node.copies++;
                touchPath(hash, now);
                chainHoldable = !twice && !chain.namespaced();
                chainReturned = lost.containsKey(hash);
            }
            above = Optional.of(hash);
        }
        if (gpu) {
            chainEnd = above;
        }
        sweep();
    }

    int removed(long hash, Tier tier) {
        Node node = nodes.get(hash);
        if (node == null || !node.tiers.contains(tier)) {
            return 1;
        }
        if (tier == Tier.GPU && --node.copies > 0) {
            return 0;
        }
        node.tiers.remove(tier);
        if (tier == Tier.GPU) {
            node.ended = false;
            node.ambiguous = false;
            lost.merge(hash, 1, Integer::sum);
            ghostTouch.put(hash, node.touch);
            if (node.pins > 0) {
                pinnedRemoved.add(hash);
            }
        }
        sweep();
        return 0;
    }

    void batchEnded() {
        endChain();
    }

    void clear() {
        nodes.clear();
        chainEnd = Optional.empty();
    }

    void forgetUnpinned() {
        nodes.values().removeIf(node -> node.pins == 0);
        chainEnd = Optional.empty();
    }

    void pinPath(long block) {
        walk(block).forEach(hash -> node(hash).pins++);
    }

    void unpinPath(long block) {
        walk(block).forEach(hash -> node(hash).pins--);
        sweep();
    }

    int size() {
        return (int) nodes.values().stream()
                .filter(node -> node.tiers.contains(Tier.GPU))
                .count();
    }

    int ghosts() {
        return lost.size();
    }

    int timesLost(long block) {
        return lost.getOrDefault(block, 0);
    }

    long lastTouch(long block) {
        Node node = nodes.get(block);
        return node == null ? ghostTouch.getOrDefault(block, 0L) : node.touch;
    }

    boolean resident(long block) {
        Node node = nodes.get(block);
        return node != null && node.tiers.contains(Tier.GPU);
    }

    boolean ended(long block) {
        Node node = nodes.get(block);
        return node != null && node.ended;
    }

    boolean ambiguous(long block) {
        Node node = nodes.get(block);
        return node != null && node.ambiguous;
    }

    int depth(long block) {
        if (!nodes.containsKey(block)) {
            return 0;
        }
        List<Long> path = walk(block);
        return node(path.get(path.size() - 1)).root ? path.size() : 0;
    }

    int match(HoldRequest path) {
        for (int i = 0; i < path.blocks(); i++) {
            Node node = nodes.get(path.block(i));
            if (node == null
                    || !node.tiers.contains(Tier.GPU)
                    || (i == 0 ? !node.root : !node.parent.equals(Optional.of(path.block(i - 1))))) {
                return i;
            }
        }
        return path.blocks();
    }

    int insertionEnd(HoldRequest path, int matched) {
        for (int i = matched; i > 0; i--) {
            if (ended(path.block(i - 1))) {
                return i;
            }
        }
        return 0;
    }

    int pinnedBlocks() {
        return (int) nodes.values().stream().filter(node -> node.pins > 0).count();
    }

    boolean pinned(long block) {
        Node node = nodes.get(block);
        return node != null && node.pins > 0;
    }

    int unpinnedBlocks(long block) {
        return nodes.containsKey(block)
                ? (int) walk(block).stream().filter(h -> node(h).pins == 0).count()
                : 0;
    }

    int pinnedBlocksWithout(long[] blocks) {
        Map<Long, Integer> left = new HashMap<>();
        nodes.forEach((hash, node) -> left.put(hash, node.pins));
        for (long block : blocks) {
            walk(block).forEach(hash -> left.merge(hash, -1, Integer::sum));
        }
        return (int) left.values().stream().filter(pins -> pins > 0).count();
    }

    int pathsToUnpin(long[] blocks, int least, long most) {
        for (int count = least; count < blocks.length; count++) {
            if (pinnedBlocksWithout(Arrays.copyOf(blocks, count)) <= most) {
                return count;
            }
        }
        return blocks.length;
    }

    private Node node(long hash) {
        Node node = nodes.get(hash);
        if (node == null) {
            throw new AssertionError("the oracle has no block " + hash);
        }
        return node;
    }

    private List<Long> walk(long block) {
        List<Long> path = new ArrayList<>();
        for (Optional<Long> at = Optional.of(block); at.isPresent(); at = node(at.get()).parent) {
            path.add(at.get());
        }
        return path;
    }

    private void link(long hash, Node node, Optional<Long> above) {
        if (node.root || node.parent.isPresent()) {
            return;
        }
        if (above.isEmpty()) {
            node.root = true;
        } else if (!walk(above.get()).contains(hash)) {
            node.parent = above;
            touchPath(above.get(), node.touch);
        }
    }

    private void touchPath(long block, long time) {
        walk(block).forEach(hash -> node(hash).touch = Math.max(node(hash).touch, time));
    }

    private void endChain() {
        chainEnd.ifPresent(block -> {
            boolean ended = resident(block) && chainHoldable && !ambiguous(block);
            if (ended) {
                node(block).ended = true;
            }
            chainEnds.add(new ChainEnd(block, depth(block), ended && chainReturned));
        });
        chainEnd = Optional.empty();
    }

    private void sweep() {
        boolean swept;
        do {
            Set<Long> parents = new HashSet<>();
            nodes.values().forEach(node -> node.parent.ifPresent(parents::add));
            swept = nodes.entrySet()
                    .removeIf(entry -> entry.getValue().tiers.isEmpty()
                            && entry.getValue().pins == 0
                            && !parents.contains(entry.getKey()));
        } while (swept);
    }
}
