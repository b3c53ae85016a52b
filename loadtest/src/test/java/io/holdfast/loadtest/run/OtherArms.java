package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import java.time.Duration;

/** Arms that do what other arms do, but for what a test overrides. */
abstract class OtherArms implements ArmSwitch {
    final ArmSwitch arms;

    OtherArms(ArmSwitch arms) {
        this.arms = arms;
    }

    @Override
    public String name() {
        return arms.name();
    }

    @Override
    public boolean claimsHold() {
        return arms.claimsHold();
    }

    @Override
    public void prepare() {
        arms.prepare();
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        return arms.on(prefixes, within);
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        return arms.off(prefixes, within);
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        return arms.release(step);
    }

    @Override
    public void close() {
        arms.close();
    }
}
