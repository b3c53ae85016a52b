package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;

/**
 * The plainest view there is: how many copies of each block are in each tier, and whether that is all.
 *
 * <p>Uncertain, it holds no block that is not there, and may lack any.
 */
final class MirrorSink implements KvEventSink {
    private final Map<Tier, Map<Long, Integer>> copies = new EnumMap<>(Tier.class);
    private boolean certain;
    private boolean followed;
    private long heard = -1;

    boolean certain() {
        return certain;
    }

    /** The last batch of this life that it was told; -1 before there was one. */
    long heard() {
        return heard;
    }

    boolean holds(long block) {
        return copies.values().stream().anyMatch(tier -> tier.containsKey(block));
    }

    Map<Tier, Map<Long, Integer>> copies() {
        return copies;
    }

    /** Is what another one is, or was. */
    void become(MirrorSink other) {
        copies.clear();
        other.copies.forEach((tier, blocks) -> copies.put(tier, new HashMap<>(blocks)));
        certain = other.certain;
        followed = true;
    }

    /** Whether every copy here is among those. */
    boolean within(Map<Tier, Map<Long, Integer>> truth) {
        return copies.entrySet().stream()
                .allMatch(tier -> tier.getValue().entrySet().stream()
                        .allMatch(block -> block.getValue()
                                <= truth.getOrDefault(tier.getKey(), Map.of()).getOrDefault(block.getKey(), 0)));
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        heard = sequence;
        if (!followed) {
            followed = true;
            certain = true;
        }
    }

    @Override
    public void stored(StoredBlocks chain) {
        for (int i = 0; i < chain.count(); i++) {
            copies.computeIfAbsent(chain.tier(), tier -> new HashMap<>()).merge(chain.hash(i), 1, Integer::sum);
        }
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        Map<Long, Integer> blocks = copies.getOrDefault(tier, new HashMap<>());
        for (int i = from; i < to; i++) {
            blocks.computeIfPresent(hashes[i], (block, count) -> count == 1 ? null : count - 1);
        }
        copies.values().removeIf(Map::isEmpty);
    }

    @Override
    public void cleared() {
        copies.clear();
        certain = true;
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(Gap gap) {
        followed = true;
        certain = false;
        copies.clear();
    }

    @Override
    public void restarted(long seen) {
        heard = -1;
        followed = true;
        certain = seen == 0;
        copies.clear();
    }
}
