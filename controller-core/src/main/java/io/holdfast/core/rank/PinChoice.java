package io.holdfast.core.rank;

import java.util.Arrays;
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

    private int[] pinned = new int[16];
    private int pins;
    private long[] order = new long[1 << 10];
    private int[] chosen = new int[1 << 10];
    /** Choice that a block was last part of, by block. */
    private int[] choices = new int[1 << 10];

    /** Place in that choice, by block. */
    private int[] ranks = new int[1 << 10];
    /** Choice when a block below it was pinned last, by block. */
    private int[] inner = new int[1 << 10];

    private int choice;
    private boolean[] isPinned = new boolean[1 << 10];

    PinChoice(BlockHistory history, BlockSet candidates, Listener listener) {
        this.history = history;
        this.candidates = candidates;
        this.listener = listener;
    }

    int pins() {
        return pins;
    }

    boolean isPinned(int block) {
        return block < isPinned.length && isPinned[block];
    }

    /** Takes in that a pinned block left the cache all the same: nothing is to be released any more. */
    void lost(int block) {
        if (isPinned(block)) {
            isPinned[block] = false;
            for (int place = 0; place < pins; place++) {
                if (pinned[place] == block) {
                    pinned[place] = pinned[--pins];
                    return;
                }
            }
        }
    }

    void releaseAll() {
        choice++;
        pin(0);
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
        reach(history.reach());
        int ranked = budget > 0 ? rank(score, nowNanos) : 0;
        choice++;
        int count = 0;
        for (int block : first) {
            if (candidates.has(block)) {
                count += take(block, count, budget - count);
            }
        }
        for (int place = 0; place < ranked && count < budget; place++) {
            count += take((int) order[place], count, budget - count);
        }
        int stays = count;
        while (stays > 0 && !prompts.fit(room - stays, orders(stays))) {
            stays -= Math.max(1, count / CUTS);
        }
        for (int place = Math.max(0, stays); place < count; place++) {
            choices[chosen[place]] = 0;
        }
        pin(Math.max(0, stays));
    }

    /** Takes a block and what is not taken yet above it, if that is not too much; how many that were. */
    private int take(int block, int count, int most) {
        int missing = 0;
        for (int above = block; isMissing(above) && missing <= most; above = history.parents[above]) {
            missing++;
        }
        if (missing > most) {
            return 0;
        }
        int place = count + missing;
        for (int above = block; isMissing(above); above = history.parents[above]) {
            choices[above] = choice;
            chosen[--place] = above;
            ranks[above] = place;
        }
        return missing;
    }

    private boolean isMissing(int block) {
        return block != BlockHistory.NONE && choices[block] != choice;
    }

    /** Returns how much of a path is among the first so many that were chosen. */
    private RecentPrompts.Cover orders(int count) {
        return path -> {
            // Along a path each comes later in the order than what lies above it.
            int from = 0;
            int to = path.length;
            while (from < to) {
                int middle = (from + to) >>> 1;
                int block = path[middle];
                if (block < choices.length && choices[block] == choice && ranks[block] < count) {
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
        for (int place = 0; place < pins; place++) {
            int above = history.parents[pinned[place]];
            if (above != BlockHistory.NONE) {
                inner[above] = choice;
            }
        }
        for (int place = 0; place < pins; place++) {
            if (inner[pinned[place]] != choice) {
                visitor.accept(pinned[place]);
            }
        }
    }

    private int rank(Score score, long nowNanos) {
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

    private void pin(int count) {
        for (int place = 0; place < pins; place++) {
            int block = pinned[place];
            if (choices[block] != choice) {
                isPinned[block] = false;
                listener.changed(block, false);
            }
        }
        for (int place = 0; place < count; place++) {
            int block = chosen[place];
            if (!isPinned[block]) {
                isPinned[block] = true;
                listener.changed(block, true);
            }
        }
        if (pinned.length < count) {
            pinned = new int[chosen.length];
        }
        System.arraycopy(chosen, 0, pinned, 0, count);
        pins = count;
    }

    private void reach(int blocks) {
        if (order.length < blocks) {
            int length = Math.max(blocks, 2 * order.length);
            order = new long[length];
            chosen = new int[length];
            choices = Arrays.copyOf(choices, length);
            ranks = Arrays.copyOf(ranks, length);
            inner = Arrays.copyOf(inner, length);
            isPinned = Arrays.copyOf(isPinned, length);
        }
    }
}
