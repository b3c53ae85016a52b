package io.holdfast.loadtest.run;

/**
 * What a load test works with and does not own.
 *
 * @param holder holds prefixes in that engine
 * @param clock the engine's records are stamped by it
 */
public record RunEnvironment(EngineUnderTest engine, Holder holder, RunClock clock) {}
