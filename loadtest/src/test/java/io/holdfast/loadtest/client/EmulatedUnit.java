package io.holdfast.loadtest.client;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.vertx.core.Vertx;
import java.net.URI;

/** An emulated engine whose lives begin anew at the same ports. */
final class EmulatedUnit implements ServerUnit, AutoCloseable {
    private final Vertx vertx;
    private final EmulatorSettings settings;
    private Emulator emulator;
    private int lives;

    EmulatedUnit(Vertx vertx, EmulatorSettings wanted) {
        this.vertx = vertx;
        this.emulator = Emulator.start(vertx, wanted);
        this.settings = wanted.withHttpPort(emulator.uri().getPort())
                .withEventsPort(URI.create(emulator.eventsEndpoint()).getPort());
    }

    @Override
    public URI uri() {
        return emulator.uri();
    }

    @Override
    public void restart() {
        emulator.close();
        emulator = Emulator.start(vertx, settings);
        lives++;
    }

    int lives() {
        return lives;
    }

    @Override
    public void close() {
        emulator.close();
    }
}
