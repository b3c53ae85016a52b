package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes.Way;
import io.holdfast.loadtest.run.RunClock;
import java.time.Duration;
import java.util.List;

/** The load test's own arms, which need nobody between it and the engine. */
public final class Arms {
    private static final Duration COMMAND_LIMIT = Duration.ofMinutes(2);

    private Arms() {}

    /** Both arms are the same. */
    public static ArmSwitch none() {
        return new NoHold("nothing is held");
    }

    /** Nothing is held; in pinned legs another command starts the server. */
    public static ArmSwitch anotherServer(String command) {
        return new NoHold("a server that was started by: " + command);
    }

    /**
     * A session of SGLang's own.
     *
     * @param nonce tells the sessions of this run from those of any other
     */
    public static ArmSwitch session(EngineUnderTest engine, long nonce) {
        return new SessionHold(engine, nonce);
    }

    /**
     * Touches during floods.
     *
     * @param every requests of a flood that end from one touch to the next
     */
    public static ArmSwitch keepWarm(EngineUnderTest engine, int every) {
        return new KeepWarm(engine, every);
    }

    /**
     * Two commands of the user's, which the shell runs.
     *
     * @param off bears being run again
     * @param claimsHold whether {@code on} is said to keep the prefix, so that the cache has to show it
     */
    public static ArmSwitch command(String on, String off, boolean claimsHold) {
        return new ArmCommand(on, off, claimsHold, COMMAND_LIMIT);
    }

    /**
     * The prefix and all texts that began with it before the hold step, by sessions where the engine has them, else by
     * its pin routes.
     *
     * @param nonce tells the sessions of this run from those of any other
     */
    public static ArmSwitch everything(EngineUnderTest engine, long nonce) {
        return new HoldEverything(engine, nonce);
    }

    /** One of the sidecar's ways to hold, without a sidecar. */
    public static ArmSwitch way(EngineUnderTest engine, RunClock clock, Way way) {
        return new BackendHold(engine, clock, List.of(way), new BackendHold.Subject.Prefix());
    }

    /**
     * A context that nobody asks for again, given back before the load in pinned legs.
     *
     * @param ways of which the first is taken that the engine has
     */
    public static ArmSwitch release(EngineUnderTest engine, RunClock clock, List<Way> ways, ArmPlan.Release plan) {
        return new BackendHold(engine, clock, ways, new BackendHold.Subject.Finished(plan));
    }

    /** The pin routes of SGLang's branches. */
    public static ArmSwitch pinRoute(EngineUnderTest engine) {
        return new PinRoute(engine);
    }

    /** Pins by those routes all blocks that the engine's events tell of, as the pin benchmark did. */
    public static ArmSwitch pinTold(EngineUnderTest engine) {
        return new PinTold(engine);
    }
}
