package io.holdfast.core.rank;

import java.util.Arrays;

/** Ghosts in the order in which they were removed, so that the oldest is forgotten first. */
final class GhostQueue {
    private static final int NONE = BlockHistory.NONE;
    /** Link of an end of the queue; that of a block is its number and one. */
    private static final int END = 0;

    /* Links to the next older and the next newer ghost; those of the end lead to the newest and to the oldest. */
    private int[] older = new int[1 << 4];
    private int[] newer = new int[1 << 4];
    private int count;

    int size() {
        return count;
    }

    /** Adds a block as the newest, also where it is a ghost. */
    void add(int block) {
        returned(block);
        int link = block + 1;
        if (link >= older.length) {
            int length = BlockHistory.longer(older.length, link + 1);
            older = Arrays.copyOf(older, length);
            newer = Arrays.copyOf(newer, length);
        }
        older[link] = older[0];
        newer[link] = END;
        newer[older[0]] = link;
        older[0] = link;
        count++;
    }

    /** Takes out a block that is in the cache again. */
    void returned(int block) {
        int link = block + 1;
        if (link < older.length && isLinked(link)) {
            newer[older[link]] = newer[link];
            older[newer[link]] = older[link];
            older[link] = END;
            newer[link] = END;
            count--;
        }
    }

    /** Takes out and returns the one that was removed first; none while there are no more than so many. */
    int oldestAbove(long most) {
        if (count <= most) {
            return NONE;
        }
        int block = newer[0] - 1;
        returned(block);
        return block;
    }

    private boolean isLinked(int link) {
        return older[link] != END || newer[0] == link;
    }
}
