package io.holdfast.loadtest.run;

/**
 * Parts that a load test works with and does not own.
 *
 * @param arms what pinned and baseline legs differ in, with that engine
 * @param clock the engine's records are stamped by it
 * @param stop who may ask it to end
 * @param around what goes on beside legs
 */
public record RunEnvironment(EngineUnderTest engine, ArmSwitch arms, RunClock clock, RunStop stop, AroundLegs around) {
    /** Creates an environment with nothing beside its legs. */
    public RunEnvironment(EngineUnderTest engine, ArmSwitch arms, RunClock clock, RunStop stop) {
        this(engine, arms, clock, stop, AroundLegs.none());
    }

    /** Creates an environment for a run of this thread that nobody stops. */
    public RunEnvironment(EngineUnderTest engine, ArmSwitch arms, RunClock clock) {
        this(engine, arms, clock, new RunStop(Thread.currentThread()));
    }

    public RunEnvironment with(AroundLegs value) {
        return new RunEnvironment(engine, arms, clock, stop, value);
    }
}
