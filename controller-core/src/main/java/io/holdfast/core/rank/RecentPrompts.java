package io.holdfast.core.rank;

import java.util.Arrays;

/** The paths of the last requests, and whether the next ones would find room. */
final class RecentPrompts {
    /** Tells how much of a path, from its root on, is pinned. */
    interface Cover {
        int of(int[] path);
    }

    private static final int MOST = 500;
    private static final double LONG = 0.9;

    private int prompts;
    private final int[][] paths = new int[MOST][];
    private long requests;

    /** Room means: for so many long prompts, where nine of ten are shorter. */
    RecentPrompts(int prompts) {
        this.prompts = prompts;
    }

    /** Room means: for so many from now on. */
    void atOnce(int longPrompts) {
        prompts = longPrompts;
    }

    /** One request more; the number by which it is known. */
    long add(int[] path, int length) {
        paths[(int) (requests % MOST)] = Arrays.copyOf(path, length);
        return requests++;
    }

    /** One of them turned out to be longer. */
    void grew(long request, int[] path, int length) {
        if (request > requests - MOST) {
            paths[(int) (request % MOST)] = Arrays.copyOf(path, length);
        }
    }

    /** Returns true if what a long prompt needs beyond what is pinned of it fits often enough. */
    boolean fit(double room, Cover pinned) {
        int known = (int) Math.min(requests, MOST);
        int mayBeLonger = known - (int) Math.ceil(LONG * known);
        for (int at = 0; at < known; at++) {
            if (prompts * (double) (paths[at].length - pinned.of(paths[at])) > room && --mayBeLonger < 0) {
                return false;
            }
        }
        return true;
    }
}
