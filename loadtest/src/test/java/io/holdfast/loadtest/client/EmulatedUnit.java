package io.holdfast.loadtest.client;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import java.net.URI;

/** An emulated engine whose lives begin anew at the same ports. */
final class EmulatedUnit implements ServerUnit, AutoCloseable {
    static final int PREFIX = 256;

    /** A load that this engine's cache is too small for. */
    static final FloodShape SHAPE = FloodShape.of(PREFIX, 32, 8, 320, 1).withOutputTokens(1, 2);

    /** One whose pins work. */
    static final EmulatorSettings ENGINE = EmulatorSettings.defaults()
            .withCapacityTokens(2048)
            .withContextTokens(1024)
            .withPrefillMicrosPerToken(25)
            .withFirstTokenMicros(1_000)
            .withDecodeMillis(1)
            .withVariant(SglangSettings.Variant.PIN_GPU);

    private final Vertx vertx;
    private final EmulatorSettings settings;
    private final EngineClock clock;
    private Emulator emulator;
    private int lives;

    EmulatedUnit(Vertx vertx, EmulatorSettings wanted) {
        this(vertx, wanted, new MachineClock());
    }

    /** @param clock that each of its lives goes by */
    EmulatedUnit(Vertx vertx, EmulatorSettings wanted, EngineClock clock) {
        this.vertx = vertx;
        this.clock = clock;
        this.emulator = Emulator.start(vertx, wanted, clock);
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
        emulator = Emulator.start(vertx, settings, clock);
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
