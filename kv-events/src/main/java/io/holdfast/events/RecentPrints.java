package io.holdfast.events;

import java.util.Arrays;

/** The prints of the last batches that were applied, by which a second copy of one is known. */
final class RecentPrints {
    private static final int KEPT = 1 << 12;

    private final long[] prints = new long[KEPT];
    private final long[] sequences = new long[KEPT];

    RecentPrints() {
        forget();
    }

    void remember(Message batch) {
        int at = (int) batch.sequence & KEPT - 1;
        prints[at] = batch.print;
        sequences[at] = batch.sequence;
    }

    /** Whether this very batch was applied; one that was applied too long ago is not known. */
    boolean has(Message batch) {
        int at = (int) batch.sequence & KEPT - 1;
        return sequences[at] == batch.sequence && prints[at] == batch.print;
    }

    /** Whether a batch of this number was applied, as far as is known. */
    boolean knows(long sequence) {
        return sequences[(int) sequence & KEPT - 1] == sequence;
    }

    void forget() {
        Arrays.fill(sequences, -1);
    }
}
