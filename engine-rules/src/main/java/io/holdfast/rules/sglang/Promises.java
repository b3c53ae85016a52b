package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Model;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import java.util.random.RandomGenerator;

/** Whether one who asked for protection, and was told that he has it, really has: faults decide, each time anew. */
final class Promises {
    private final Faults faults;
    private long asked;
    private final RandomGenerator random = () -> Model.mix(++asked);

    Promises(Faults faults) {
        this.faults = faults;
    }

    /** Of a hold of any kind. */
    boolean kept() {
        return faults.find(CacheFault.HoldLost.class)
                .filter(fault -> fault.strikes(random))
                .isEmpty();
    }

    /** Of a pin. */
    boolean pinKept() {
        return !faults.has(CacheFault.PinIgnored.class) && kept();
    }
}
