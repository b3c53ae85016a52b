package io.holdfast.benchmarks;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.HashMap;
import java.util.Map;

/**
 * The index that one writes first: a map from a block to its parent.
 *
 * <p>It knows less than a tree does (no touches, ghosts, holes, tiers or pins), so that a comparison flatters it.
 */
final class MapIndex implements PrefixIndex {
    private record Block(long parent, boolean root) {}

    private final Map<Long, Block> blocks = new HashMap<>();

    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        long above = chain.parent();
        for (int i = 0; i < chain.count(); i++) {
            blocks.put(chain.hash(i), new Block(above, i == 0 && chain.rooted()));
            above = chain.hash(i);
        }
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        for (int i = from; i < to; i++) {
            blocks.remove(hashes[i]);
        }
    }

    @Override
    public void batchEnded() {}

    @Override
    public int match(HoldRequest path) {
        for (int i = 0; i < path.blocks(); i++) {
            Block block = blocks.get(path.block(i));
            if (block == null || (i == 0 ? !block.root() : block.parent() != path.block(i - 1))) {
                return i;
            }
        }
        return path.blocks();
    }

    @Override
    public int size() {
        return blocks.size();
    }
}
