package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import java.time.Duration;

/**
 * Holds nothing and speaks to nobody: both arms are the same here, and what they differ in, if in anything, is the
 * server.
 *
 * @param name what the journal's header says of it
 */
record NoHold(String name) implements ArmSwitch {
    private static final String WHY = "nothing is held in this load test";

    @Override
    public boolean claimsHold() {
        return false;
    }

    @Override
    public void prepare() {}

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        return HoldReceipt.switched(WHY);
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        return HoldReceipt.sham(WHY);
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        return step.kind() == HoldReceipt.Kind.SHAM ? ReleaseReceipt.sham(WHY) : ReleaseReceipt.released(WHY);
    }

    @Override
    public void close() {}
}
