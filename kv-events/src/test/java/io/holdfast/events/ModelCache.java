package io.holdfast.events;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * The truth: a cache that changes by chance and says so in batches, of which it remembers the last ones, as engines do.
 *
 * <p>Numbers begin at 0 with each life. Every batch stores one block that no other ever stores, by which its arrival shows.
 */
final class ModelCache {
    /** A batch under its number. */
    record Batch(long sequence, List<byte[]> payload) {
        byte[] bytes() {
            return payload.getFirst();
        }
    }

    private static final Tier[] TIERS = {Tier.GPU, Tier.GPU, Tier.HOST, Tier.DISK};

    private final SplittableRandom random;
    private final KvEventEncoder encoder;
    private final int remembered;
    private final Deque<Batch> memory = new ArrayDeque<>();
    private final Map<Tier, Map<Long, Integer>> copies = new EnumMap<>(Tier.class);
    private long sequence;
    private long batches;

    ModelCache(SplittableRandom random, Dialect dialect, int remembered) {
        this.random = random;
        this.encoder = new KvEventEncoder(dialect);
        this.remembered = remembered;
    }

    Map<Tier, Map<Long, Integer>> copies() {
        return copies;
    }

    /** The block that only the last batch stored; none before the first batch. */
    Optional<Long> mark() {
        return batches == 0 ? Optional.empty() : Optional.of(1_000_000 + batches);
    }

    /** Nothing was said in this life yet, or nothing is ever remembered. */
    boolean remembersNothing() {
        return memory.isEmpty();
    }

    void restart() {
        copies.clear();
        memory.clear();
        sequence = 0;
    }

    Batch next() {
        batches++;
        int events = random.nextInt(3);
        for (int i = 0; i < events; i++) {
            switch (random.nextInt(20)) {
                case 0 -> {
                    encoder.cleared();
                    copies.clear();
                }
                case 1, 2, 3, 4, 5, 6, 7 -> remove();
                default -> {
                    long[] blocks = random.longs(random.nextInt(1, 4), 1, 30).toArray();
                    store(blocks, TIERS[random.nextInt(TIERS.length)]);
                }
            }
        }
        store(new long[] {1_000_000 + batches}, Tier.GPU);
        Batch batch = new Batch(sequence++, List.of(encoder.finish((double) batches, 0)));
        memory.addLast(batch);
        while (memory.size() > remembered) {
            memory.removeFirst();
        }
        return batch;
    }

    /** What an engine answers to who asks for the batches from this number on. */
    List<Batch> from(long first) {
        return memory.stream().filter(batch -> batch.sequence >= first).toList();
    }

    private void store(long[] blocks, Tier tier) {
        StoredBlocks chain = new StoredBlocks();
        chain.blockTokens(1).in(tier);
        for (long block : blocks) {
            chain.add(block).addToken((int) block);
            copies.computeIfAbsent(tier, none -> new HashMap<>()).merge(block, 1, Integer::sum);
        }
        encoder.stored(chain);
    }

    private void remove() {
        if (copies.isEmpty()) {
            return;
        }
        Map.Entry<Tier, Map<Long, Integer>> chosen = pick(copies);
        Tier tier = chosen.getKey();
        Map<Long, Integer> blocks = chosen.getValue();
        long block = pick(blocks).getKey();
        blocks.computeIfPresent(block, (same, count) -> count == 1 ? null : count - 1);
        copies.values().removeIf(Map::isEmpty);
        encoder.removed(new long[] {block}, 0, 1, tier, 0);
    }

    private <K, V> Map.Entry<K, V> pick(Map<K, V> among) {
        return among.entrySet().stream()
                .skip(random.nextInt(among.size()))
                .findFirst()
                .orElseThrow();
    }
}
