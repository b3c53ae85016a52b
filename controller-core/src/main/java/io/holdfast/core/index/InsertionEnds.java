package io.holdfast.core.index;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Ends of the insertions that stored certain blocks.
 *
 * <p>An engine that locks what an insertion created finds it by any of its blocks, and it is alive for as long as its
 * last block is there. A pin that went to a block in the middle of it can be taken back until then, and never
 * afterwards.
 */
final class InsertionEnds {
    private static final long NONE = 0;

    private final LongToLongMap watched = new LongToLongMap();
    /** Ends by watched block; NONE once the end has left. */
    private final Map<Long, Long> ends = new HashMap<>();

    private final List<Long> open = new ArrayList<>();

    void watch(long block) {
        watched.add(block, 1);
    }

    void unwatch(long block) {
        if (watched.take(block) && watched.get(block) == 0) {
            ends.remove(block);
        }
    }

    boolean watching() {
        return watched.size() > 0;
    }

    /** These belong to the insertion that is open. */
    void stored(StoredBlocks stores) {
        for (int i = 0; i < stores.count(); i++) {
            if (watched.get(stores.hash(i)) > 0) {
                open.add(stores.hash(i));
            }
        }
    }

    void ended(long last) {
        if (open.isEmpty()) {
            return;
        }
        open.forEach(block -> ends.put(block, last));
        open.clear();
    }

    void removed(long block) {
        ends.remove(block);
        ends.replaceAll((watchedBlock, last) -> last == block ? NONE : last);
    }

    void forget() {
        ends.clear();
        open.clear();
    }

    /** Returns true if the end of the insertion that stored this block is known and still there. */
    boolean isThere(long block) {
        return ends.getOrDefault(block, NONE) != NONE;
    }
}
