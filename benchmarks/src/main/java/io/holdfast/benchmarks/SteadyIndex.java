package io.holdfast.benchmarks;

import io.holdfast.core.hold.HoldRequest;
import java.time.Duration;
import java.util.Arrays;

/**
 * An index under {@link Churn} that has grown to its final size.
 *
 * <p>That takes longer than filling it: a tree remembers up to 16 lost blocks for each resident one, 2 Mi at most, and
 * its arrays grow until then.
 */
final class SteadyIndex {
    private static final int LOST_PER_RESIDENT = 16;
    private static final int MOST_LOST = 1 << 21;

    private final PrefixIndex index;
    private final Churn churn;

    /** The churn must be new, and the index empty. */
    SteadyIndex(PrefixIndex index, Churn churn) {
        this.index = index;
        this.churn = churn;
        churn.fill(index);
        long lost = 0;
        long enough = Math.min(MOST_LOST, (long) LOST_PER_RESIDENT * churn.resident()) + churn.resident();
        while (lost < enough) {
            turn(churn.period());
            lost += (long) churn.period() * Churn.BLOCKS_PER_BATCH;
        }
        if (index.size() != churn.resident()) {
            throw new IllegalStateException(
                    "The index has " + index.size() + " blocks where " + churn.resident() + " are resident.");
        }
    }

    /** Applies this many batches. */
    void turn(int batches) {
        for (int i = 0; i < batches; i++) {
            churn.next(index);
        }
    }

    /** Returns so many resident prefixes, spread over all places; they stay until the next {@link #turn}. */
    HoldRequest[] paths(int count, int blocks) {
        HoldRequest[] paths = new HoldRequest[count];
        Arrays.setAll(
                paths,
                i -> new HoldRequest(
                        churn.path((int) ((long) i * churn.places() / count), blocks), Duration.ofMinutes(1)));
        return paths;
    }

    int match(HoldRequest path) {
        return index.match(path);
    }

    int size() {
        return index.size();
    }
}
