package io.holdfast.core.rank;

import java.util.Arrays;
import java.util.BitSet;
import java.util.function.IntConsumer;

/** Pins the best blocks of one cache, each with all that lies above it, and releases the rest. */
final class PinChoice {
    /*
     * How many
     * --------
     * At most a share of the room, and no more than leaves room for so many long prompts. What a prompt needs depends
     * on what is pinned of it, so neither can be said before the other: blocks are taken in their order as far as the
     * share reaches, and then the longest run of that order that leaves room stays. Each block comes after those above
     * it, so a run is a tree at wherever it is cut.
     */
    private static final int CUTS = 32;

    /** Hears of what is pinned and released. */
    interface Listener {
        void changed(int block, boolean pinned);
    }

    private final BlockHistory history;
    private final BlockSet candidates;
    private final Listener listener;

    private BlockSet pinned = new BlockSet();
    /** Blocks in the order in which they were taken. */
    private BlockSet chosen = new BlockSet();

    /** Blocks above one that is pinned. */
    private final BitSet inner = new BitSet();

    private long[] order = new long[1 << 4];
    private int[] missing = new int[1 << 4];

    PinChoice(BlockHistory history, BlockSet candidates, Listener listener) {
        this.history = history;
        this.candidates = candidates;
        this.listener = listener;
    }

    int pins() {
        return pinned.size();
    }

    boolean isPinned(int block) {
        return pinned.has(block);
    }

    /** Takes in that a pinned block left the cache all the same: nothing is to be released any more. */
    void lost(int block) {
        pinned.remove(block);
    }

    void releaseAll() {
        chosen.clear();
        pin();
    }

    /**
     * Chooses anew.
     *
     * @param budget the most that may be chosen
     * @param room for pins and prompts together
     * @param prompts what has to fit beside
     * @param first blocks that come before all others, whatever their score
     */
    void choose(Score score, int budget, double room, RecentPrompts prompts, int[] first, long nowNanos) {
        int ranked = budget > 0 ? rank(score, nowNanos) : 0;
        chosen.clear();
        for (int block : first) {
            if (candidates.has(block)) {
                take(block, budget - chosen.size());
            }
        }
        for (int place = 0; place < ranked && chosen.size() < budget; place++) {
            take((int) order[place], budget - chosen.size());
        }
        int count = chosen.size();
        int stays = count;
        while (stays > 0 && !prompts.fit(room - stays, orders(stays))) {
            stays -= Math.max(1, count / CUTS);
        }
        chosen.cut(Math.max(0, stays));
        pin();
    }

    /** Takes a block and what is not taken yet above it, if that is not too much. */
    private void take(int block, int most) {
        int count = 0;
        for (int above = block; above != BlockHistory.NONE && !chosen.has(above); above = history.parents[above]) {
            if (count >= most) {
                return;
            }
            if (count == missing.length) {
                missing = Arrays.copyOf(missing, 2 * count);
            }
            missing[count++] = above;
        }
        while (count > 0) {
            chosen.add(missing[--count]);
        }
    }

    /** Returns how much of a path is among the first so many that were chosen. */
    private RecentPrompts.Cover orders(int count) {
        return path -> {
            // Along a path each comes later in the order than what lies above it.
            int from = 0;
            int to = path.length;
            while (from < to) {
                int middle = (from + to) >>> 1;
                int place = chosen.place(path[middle]);
                if (place != BlockSet.NONE && place < count) {
                    from = middle + 1;
                } else {
                    to = middle;
                }
            }
            return from;
        };
    }

    /** Shows the pinned blocks below which none is pinned. */
    void ends(IntConsumer visitor) {
        inner.clear();
        for (int place = 0; place < pinned.size(); place++) {
            int above = history.parents[pinned.at(place)];
            if (above != BlockHistory.NONE) {
                inner.set(above);
            }
        }
        for (int place = 0; place < pinned.size(); place++) {
            if (!inner.get(pinned.at(place))) {
                visitor.accept(pinned.at(place));
            }
        }
    }

    private int rank(Score score, long nowNanos) {
        if (order.length < candidates.size()) {
            order = new long[BlockHistory.longer(order.length, candidates.size())];
        }
        int ranked = 0;
        for (int place = 0; place < candidates.size(); place++) {
            int block = candidates.at(place);
            float value = score.of(block, nowNanos);
            if (value > 0) {
                // Best first, and of equals the one that was remembered first.
                order[ranked++] = ((long) -Float.floatToIntBits(value) << 32) | block;
            }
        }
        Arrays.sort(order, 0, ranked);
        return ranked;
    }

    private void pin() {
        BlockSet before = pinned;
        pinned = chosen;
        chosen = before;
        for (int place = 0; place < before.size(); place++) {
            if (!pinned.has(before.at(place))) {
                listener.changed(before.at(place), false);
            }
        }
        for (int place = 0; place < pinned.size(); place++) {
            if (!before.has(pinned.at(place))) {
                listener.changed(pinned.at(place), true);
            }
        }
    }
}
