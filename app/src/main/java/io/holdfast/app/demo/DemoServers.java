package io.holdfast.app.demo;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The servers of one scenario: an emulated engine whose lives can be begun anew at the same address, and a sidecar beside it
 * that sees the restarts as it would see those of a real engine.
 */
public final class DemoServers implements ServerUnit, AutoCloseable {
    public static final String ENGINE = "demo";

    private final Vertx vertx;
    private final EmulatorSettings settings;
    private final Path state;
    private final Sidecar sidecar;
    private Emulator emulator;

    private DemoServers(Vertx vertx, EmulatorSettings settings, Emulator emulator, Path state, Sidecar sidecar) {
        this.vertx = vertx;
        this.settings = settings;
        this.emulator = emulator;
        this.state = state;
        this.sidecar = sidecar;
    }

    public static DemoServers start(Vertx vertx, EmulatorSettings wanted, boolean automaticHolds) {
        Emulator emulator = Emulator.start(vertx, wanted);
        try {
            Path state = Files.createTempDirectory("holdfast-demo-");
            Sidecar sidecar = Sidecar.start(vertx, config(emulator, state, automaticHolds));
            EmulatorSettings settings = wanted.withHttpPort(emulator.uri().getPort())
                    .withEventsPort(URI.create(emulator.eventsEndpoint()).getPort());
            return new DemoServers(vertx, settings, emulator, state, sidecar);
        } catch (IOException e) {
            emulator.close();
            throw new UncheckedIOException(e);
        } catch (RuntimeException e) {
            emulator.close();
            throw e;
        }
    }

    /** The same text that an operator would write to a file. */
    private static SidecarConfig config(Emulator emulator, Path state, boolean automaticHolds) {
        return SidecarConfig.parse(
                """
                listen:
                  port: 0
                stateDirectory: "%s"
                engines:
                  %s:
                    type: sglang
                    url: %s
                    events: %s
                    backend: pin_blocks
                    automaticHolds: %s
                    readingsMillis: 100
                    tickMillis: 20
                """.formatted(state, ENGINE, emulator.uri(), emulator.eventsEndpoint(), automaticHolds),
                "the demo's configuration");
    }

    public URI sidecar() {
        return sidecar.uri();
    }

    @Override
    public URI uri() {
        return emulator.uri();
    }

    @Override
    public void restart() {
        emulator.close();
        emulator = Emulator.start(vertx, settings);
    }

    @Override
    public String name() {
        return "emulated SGLang with pin_blocks";
    }

    @Override
    public void close() {
        sidecar.close();
        emulator.close();
        try (Stream<Path> files = Files.walk(state)) {
            List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
            for (Path file : deepestFirst) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
