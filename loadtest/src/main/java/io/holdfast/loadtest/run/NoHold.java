package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import java.time.Duration;
import java.util.Optional;

/**
 * Holds nothing and speaks to nobody, for a load test of baseline legs alone.
 *
 * @param flushes whether the engine's cache is emptied before each leg; if not, a leg's texts need a salt
 */
public record NoHold(boolean flushes) implements Holder {
    /** What {@link #name} says, and the journal's header with it. */
    private static final String NAME = "nothing is held";

    private static final String WHY = "nothing is held in this load test";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public void check() {}

    @Override
    public FlushReceipt follow(Flush flush) {
        return flushes ? new FlushReceipt("", 1, flush.flush()) : new FlushReceipt("", 0, Optional.empty());
    }

    @Override
    public HoldReceipt hold(int[] prefix, Duration within) {
        return HoldReceipt.skipped(WHY);
    }

    @Override
    public ReleaseReceipt release(HoldReceipt hold) {
        return ReleaseReceipt.skipped(WHY);
    }

    @Override
    public HoldReceipt sham() {
        return HoldReceipt.sham(WHY);
    }

    @Override
    public ReleaseReceipt shamRelease() {
        return ReleaseReceipt.sham(WHY);
    }
}
