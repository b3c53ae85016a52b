package io.holdfast.loadtest.run;

import io.holdfast.core.backend.Backend;
import io.holdfast.http.EngineHttp;
import io.holdfast.loadtest.LoadTestException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;

/** An engine's own routes to keep a prefix, for arms that need nobody else. Blocks, and is bounded. */
public interface HoldRoutes {
    /** Returns why requests that name a session would protect nothing, if so: a sentence with its mend. */
    Optional<String> whyNoSessions();

    /**
     * Closes a session, or one that never was, and asks again a few times where that is not answered.
     *
     * @return the reason why it may still be open, if so
     */
    Optional<String> closeSession(String session);

    /** Returns why the engine can pin no blocks, if so: a sentence with its mend. */
    Optional<String> whyNoPins();

    PinCount pin(List<Long> blocks);

    PinCount unpin(List<Long> blocks);

    /** Makes one of the sidecar's ways to hold at this engine. */
    default Backend way(Way way) {
        throw new LoadTestException("The engine is asked without HTTP, and the sidecar's ways to hold need it.");
    }

    /** Maker of one of the sidecar's ways to hold. */
    @FunctionalInterface
    interface Way {
        /**
         * Makes it for one engine.
         *
         * @param timer paces its probes
         */
        Backend at(EngineHttp http, ScheduledExecutorService timer);
    }

    /**
     * Result of pinning or unpinning.
     *
     * @param blocks how many the engine says it pinned, or unpinned
     * @param said the call and its answer, in the engine's words
     */
    record PinCount(int blocks, String said) {}

    /** Returns the routes of an engine that has none. */
    static HoldRoutes none(String why) {
        return new HoldRoutes() {
            @Override
            public Optional<String> whyNoSessions() {
                return Optional.of(why);
            }

            @Override
            public Optional<String> closeSession(String session) {
                return Optional.of(why);
            }

            @Override
            public Optional<String> whyNoPins() {
                return Optional.of(why);
            }

            @Override
            public PinCount pin(List<Long> blocks) {
                return new PinCount(0, why);
            }

            @Override
            public PinCount unpin(List<Long> blocks) {
                return new PinCount(0, why);
            }
        };
    }
}
