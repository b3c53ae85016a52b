package io.holdfast.loadtest.run;

import java.util.Map;

/**
 * Parts that a load test works with and does not own.
 *
 * @param arms what pinned and baseline legs differ in, with that engine
 * @param clock the engine's records are stamped by it
 * @param stop who may ask it to end
 * @param around what goes on beside legs
 * @param measuredOn machine, GPUs and versions for the record, by name
 */
public record RunEnvironment(
        EngineUnderTest engine,
        ArmSwitch arms,
        RunClock clock,
        RunStop stop,
        AroundLegs around,
        Map<String, String> measuredOn) {
    /** Creates an environment with nothing beside its legs. */
    public RunEnvironment(EngineUnderTest engine, ArmSwitch arms, RunClock clock, RunStop stop) {
        this(engine, arms, clock, stop, AroundLegs.none(), Map.of());
    }

    /** Creates an environment for a run of this thread that nobody stops. */
    public RunEnvironment(EngineUnderTest engine, ArmSwitch arms, RunClock clock) {
        this(engine, arms, clock, new RunStop(Thread.currentThread()));
    }

    /** Returns the environment with something beside its legs, and with what the run is measured on. */
    public RunEnvironment with(AroundLegs beside, Map<String, String> machine) {
        return new RunEnvironment(engine, arms, clock, stop, beside, machine);
    }
}
