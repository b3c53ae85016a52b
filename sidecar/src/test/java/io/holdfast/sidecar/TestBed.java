package io.holdfast.sidecar;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.Vertx;
import java.net.URI;
import java.nio.file.Path;
import java.util.function.Function;

/** An emulated engine, a sidecar beside it, and a client of each. */
final class TestBed implements AutoCloseable {
    static final int BLOCK = 16;
    static final int CAPACITY = 4096;

    final Vertx vertx = Vertx.vertx();
    final Emulator emulator;
    final EngineClient engine;
    final Sidecar sidecar;
    final SidecarClient client;

    private TestBed(EmulatorSettings settings, Path state, String engineKeys) {
        this(settings, uri -> config(state, uri, engineKeys));
    }

    private TestBed(EmulatorSettings settings, Function<URI, SidecarConfig> config) {
        emulator = Emulator.start(vertx, settings);
        engine = new EngineClient(emulator.uri());
        sidecar = Sidecar.start(vertx, config.apply(emulator.uri()));
        client = new SidecarClient(sidecar.uri());
    }

    /** With an engine that can pin. */
    static TestBed pinning(Path state) {
        return with(fast().withVariant(Variant.PIN_GPU), state, "");
    }

    static TestBed with(EmulatorSettings settings, Path state, String engineKeys) {
        TestBed bed = new TestBed(settings, state, engineKeys);
        bed.client.meet(bed.engine);
        return bed;
    }

    /** With the three keys that an engine needs, and this backend. */
    static TestBed withoutSizes(EmulatorSettings settings, Path state, String backend) {
        TestBed bed = new TestBed(
                settings,
                uri -> SidecarConfig.parse(
                        "{listen: {port: 0}, stateDirectory: '" + state + "', engines: [{id: demo, type: sglang, url: '"
                                + uri + "', backend: " + backend + "}]}",
                        "test.yaml"));
        bed.client.meet(bed.engine);
        return bed;
    }

    /** An engine that answers as fast as it can. */
    static EmulatorSettings fast() {
        return EmulatorSettings.defaults()
                .withCapacityTokens(CAPACITY)
                .withPageTokens(BLOCK)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(1);
    }

    /**
     * Small promises, so that the hard guard leaves most of a small cache to pins; pin_blocks, and no requests of the
     * sidecar's own, unless asked for, since most tests say themselves what is in the cache.
     */
    static SidecarConfig config(Path state, URI engine, String engineKeys) {
        return SidecarConfig.parse(yaml(state, engine, engineKeys), "test.yaml");
    }

    static String yaml(Path state, URI engine, String engineKeys) {
        String keys = (engineKeys.contains("priming:") ? "" : "priming: false, ")
                + (engineKeys.contains("backend:") ? "" : "backend: pin_blocks, ")
                + engineKeys;
        return """
            listen: {port: 0}
            stateDirectory: '%s'
            engines:
              - {id: demo, type: sglang, url: '%s', maxOutputTokens: 16, largestPromptTokens: 1024,
                 readingsMillis: 50, tickMillis: 10, %s}
            """.formatted(state, engine, keys);
    }

    @Override
    public void close() {
        client.close();
        engine.close();
        sidecar.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
