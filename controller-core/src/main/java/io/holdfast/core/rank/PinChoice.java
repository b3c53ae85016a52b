package io.holdfast.core.rank;

import java.util.Arrays;

/** Pins the best blocks of one cache, each with all that lies above it, and lets go of the rest. */
final class PinChoice {
    /** Hears of what is pinned and let go of. */
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
    /** By block: the choice that it was last part of. */
    private int[] choices = new int[1 << 10];

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

    /** A pinned block that left the cache all the same: nothing is to be let go of any more. */
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
        choose((block, now) -> 0, 0, 0);
    }

    void choose(Score score, int budget, long nowNanos) {
        reach(history.reach());
        int ranked = budget > 0 ? rank(score, nowNanos) : 0;
        choice++;
        int count = 0;
        for (int place = 0; place < ranked && count < budget; place++) {
            int block = (int) order[place];
            int missing = 0;
            for (int above = block;
                    above != BlockHistory.NONE && choices[above] != choice;
                    above = history.parents[above]) {
                missing++;
            }
            if (count + missing <= budget) {
                for (int above = block;
                        above != BlockHistory.NONE && choices[above] != choice;
                        above = history.parents[above]) {
                    choices[above] = choice;
                    chosen[count++] = above;
                }
            }
        }
        pin(count);
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
            isPinned = Arrays.copyOf(isPinned, length);
        }
    }
}
