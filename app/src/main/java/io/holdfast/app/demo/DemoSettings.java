package io.holdfast.app.demo;

import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.rules.fault.Fault;
import java.util.List;

/**
 * How the demo is run.
 *
 * @param warming whether the engine is slower until the first measured leg of each life is over: an order bias
 * @param faults what else the engine does to a benchmark
 */
public record DemoSettings(
        long seed, int rounds, int cycles, boolean warming, boolean burnIn, Statistic statistic, List<Fault> faults) {
    public DemoSettings {
        faults = List.copyOf(faults);
    }
}
