package io.holdfast.loadtest.client;

import java.net.URI;

/** An engine that somebody else runs and that stays up: its lives are separated by a flush only. */
public record ExistingServer(URI uri) implements ServerUnit {
    @Override
    public void restart() {
        // The load test flushes before every leg, no matter who runs the engine.
    }

    @Override
    public boolean givesFreshLives() {
        return false;
    }

    @Override
    public String name() {
        return "existing engine at " + uri + ", not restarted";
    }
}
