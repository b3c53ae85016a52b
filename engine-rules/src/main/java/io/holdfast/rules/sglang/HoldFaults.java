package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Model;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import java.util.random.RandomGenerator;

/** Faults that decide, each time anew, whether a hold that the engine accepted really takes effect. */
final class HoldFaults {
    private final Faults faults;
    private long asked;
    private final RandomGenerator random = () -> Model.mix(++asked);

    HoldFaults(Faults faults) {
        this.faults = faults;
    }

    /** Returns true if a session, a priority or a pinned prefix that was accepted now protects anything. */
    boolean keepsHold() {
        return faults.find(CacheFault.HoldLost.class)
                .filter(fault -> fault.strikes(random))
                .isEmpty();
    }

    /** Returns true if a pin that was accepted now locks anything. */
    boolean keepsPin() {
        return !faults.has(CacheFault.PinIgnored.class) && keepsHold();
    }
}
