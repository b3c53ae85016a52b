package io.holdfast.storm;

import java.util.Arrays;

/** Tokens that nobody sent before. */
final class FreshTokens {
    private int next;

    FreshTokens() {
        this(1_000);
    }

    FreshTokens(int first) {
        this.next = first;
    }

    int[] take(int count) {
        int[] tokens = new int[count];
        for (int i = 0; i < count; i++) {
            tokens[i] = next++;
        }
        return tokens;
    }

    /** The same after others. */
    int[] after(int[] before, int count) {
        int[] joined = Arrays.copyOf(before, before.length + count);
        System.arraycopy(take(count), 0, joined, before.length, count);
        return joined;
    }
}
