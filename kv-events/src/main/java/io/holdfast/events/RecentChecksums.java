package io.holdfast.events;

import java.util.Arrays;

/** The checksums of the last batches that were applied, by which a second copy of one is known. */
final class RecentChecksums {
    private static final int KEPT = 1 << 12;

    private final long[] checksums = new long[KEPT];
    private final long[] sequences = new long[KEPT];

    RecentChecksums() {
        forget();
    }

    void remember(Message batch) {
        int at = (int) batch.sequence & KEPT - 1;
        checksums[at] = batch.checksum;
        sequences[at] = batch.sequence;
    }

    /** Returns true if this very batch was applied; one that was applied too long ago is not known. */
    boolean has(Message batch) {
        int at = (int) batch.sequence & KEPT - 1;
        return sequences[at] == batch.sequence && checksums[at] == batch.checksum;
    }

    /** Returns true if a batch of this number was applied, as far as is known. */
    boolean knows(long sequence) {
        return sequences[(int) sequence & KEPT - 1] == sequence;
    }

    void forget() {
        Arrays.fill(sequences, -1);
    }
}
