package io.holdfast.loadtest.session;

import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.run.EngineUnderTest;
import java.util.Optional;

/** Way to the engines of load tests: over HTTP, or to engines that a program hands in. */
public interface EngineDoor {
    /** Opens the engine of a session, once it was asked for all that the user left to it. */
    Opened open(LoadTestSession.Host host, ServerUnit unit, Asking asking, ArmPlan arm);

    /** Warms a client, so that its first leg is like the others; returns what that took, in a sentence. */
    Optional<String> warm(HttpEngine engine);

    /**
     * Engine that is open, and how it is asked.
     *
     * @param engine closed by the session
     */
    record Opened(EngineUnderTest engine, HttpSettings asked) {}

    /** Returns the way over HTTP. */
    static EngineDoor overHttp() {
        return new EngineDoor() {
            @Override
            public Opened open(LoadTestSession.Host host, ServerUnit unit, Asking asking, ArmPlan arm) {
                HttpSettings asked = asking.at(unit, arm, host.clock());
                return new Opened(new HttpEngine(host.vertx(), unit, asked, host.clock(), host.told()), asked);
            }

            @Override
            public Optional<String> warm(HttpEngine engine) {
                return Optional.of(engine.warm());
            }
        };
    }
}
