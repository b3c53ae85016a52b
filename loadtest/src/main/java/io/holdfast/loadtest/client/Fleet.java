package io.holdfast.loadtest.client;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ServerLog;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Several engines behind the address of a router, as one server: the load goes to the router, and each engine is asked
 * itself what it is and has served, and to empty its cache.
 */
public record Fleet(ServerUnit router, List<URI> engines) implements ServerUnit {
    public Fleet {
        engines = List.copyOf(engines);
    }

    @Override
    public URI uri() {
        return router.uri();
    }

    @Override
    public void restart() {
        router.restart();
    }

    @Override
    public boolean givesFreshLegs() {
        return router.givesFreshLegs();
    }

    @Override
    public void restart(Arm arm) {
        router.restart(arm);
    }

    @Override
    public boolean givesFreshLives() {
        return router.givesFreshLives();
    }

    @Override
    public Duration lifeTakes() {
        return router.lifeTakes();
    }

    @Override
    public void used() {
        router.used();
    }

    @Override
    public Optional<String> ended() {
        return router.ended();
    }

    @Override
    public Optional<ServerLog> written() {
        return router.written();
    }

    @Override
    public void close() {
        router.close();
    }

    @Override
    public String name() {
        return router.name() + ", before " + engines.size() + (engines.size() == 1 ? " engine" : " engines");
    }
}
