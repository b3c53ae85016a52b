package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import java.time.Duration;

/** Holds nothing and speaks to nobody: both arms are the same. */
final class NoHold implements ArmSwitch {
    /** What {@link #name} says, and the journal's header with it. */
    private static final String NAME = "nothing is held";

    private static final String WHY = "nothing is held in this load test";

    @Override
    public String name() {
        return NAME;
    }

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
