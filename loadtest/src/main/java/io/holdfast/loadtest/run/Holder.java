package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import java.time.Duration;
import java.util.Optional;

/**
 * Who holds the prefix in a pinned leg: the body of the one call in which the arms differ.
 *
 * <p>For each call that pins there is a sham that speaks to the same party and changes nothing. Called from one thread;
 * every call blocks and is bounded.
 */
public interface Holder {
    /** What it is, in a few words for the record. */
    String name();

    /** Whether it can do its work at all; throws a {@link LoadTestException} with one sentence if not. */
    void check();

    /** Flushes the engine's cache and waits until whoever acts on what is in it saw that. */
    FlushReceipt follow(Flush flush);

    /**
     * Holds a prefix that is in the cache.
     *
     * @param within the slot that the call should fit into; waiting any longer spoils the leg
     */
    HoldReceipt hold(int[] prefix, Duration within);

    /** Ends a hold; after it nothing of it is pinned. */
    ReleaseReceipt release(HoldReceipt hold);

    HoldReceipt sham();

    ReleaseReceipt shamRelease();

    /** Empties the engine's cache once. */
    @FunctionalInterface
    interface Flush {
        /** The reason why it did not work, if so. */
        Optional<String> flush();
    }
}
