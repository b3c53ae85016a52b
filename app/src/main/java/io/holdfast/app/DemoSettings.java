package io.holdfast.app;

import io.holdfast.emulator.fault.Fault;
import io.holdfast.loadtest.Statistic;
import java.util.List;

/**
 * How the demo is played.
 *
 * @param warming whether the engine is slower until the first measured leg of each life is over: an order bias
 * @param faults what else the engine does to a benchmark
 */
record DemoSettings(
        long seed, int blocks, int cycles, boolean warming, boolean burnIn, Statistic statistic, List<Fault> faults) {
    DemoSettings {
        faults = List.copyOf(faults);
    }
}
