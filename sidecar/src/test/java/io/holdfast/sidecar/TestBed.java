package io.holdfast.sidecar;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.net.URI;
import java.nio.file.Path;
import java.util.function.Function;

/** An emulated engine, a sidecar beside it, and a client of each. */
public final class TestBed implements AutoCloseable {
    public static final int BLOCK = 16;
    public static final int CAPACITY = 4096;

    final Vertx vertx = Vertx.vertx();
    public final Emulator emulator;
    public final EngineClient engine;
    public final Sidecar sidecar;
    public final SidecarClient client;
    /** What both had counted when the sidecar last knew all of the cache. */
    private long publishedWhenMet;

    private long handledWhenMet;

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
    public static TestBed pinning(Path state) {
        return with(fast().withVariant(Variant.PIN_GPU), state, "");
    }

    public static TestBed with(EmulatorSettings settings, Path state, String engineKeys) {
        TestBed bed = new TestBed(settings, state, engineKeys);
        bed.meet();
        return bed;
    }

    /** With the three keys that an engine needs, and this backend. */
    static TestBed withoutSizes(EmulatorSettings settings, Path state, String backend) {
        TestBed bed = new TestBed(
                settings,
                uri -> SidecarConfig.parse(
                        "{listen: {port: 0}, stateDirectory: '" + state + "', engines: {demo: {type: sglang, url: '"
                                + uri + "', backend: " + backend + "}}}",
                        "test.yaml"));
        bed.meet();
        return bed;
    }

    /** Waits until the sidecar knows all of the engine's cache, which is emptied for that. */
    void meet() {
        client.meet(engine);
        publishedWhenMet = emulator.publishedBatches();
        handledWhenMet = handled();
    }

    /**
     * Waits until the sidecar has handled the events of all that was answered before this call.
     *
     * <p>Answers and events are two ways, and neither waits for the other: whoever asserts what the sidecar knows, or
     * begins something that earlier requests are not to be part of, waits here first. Not for a stream that loses batches.
     */
    public void heard() {
        long published = emulator.publishedBatches() - publishedWhenMet;
        Eventually.see(
                "the sidecar has handled " + published + " batches",
                this::handled,
                handled -> handled - handledWhenMet >= published);
    }

    private long handled() {
        return client.engine().getJsonObject("events").getLong("batches");
    }

    /** An engine that answers as fast as it can. */
    public static EmulatorSettings fast() {
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
    public static SidecarConfig config(Path state, URI engine, String engineKeys) {
        return SidecarConfig.parse(yaml(state, engine, engineKeys), "test.yaml");
    }

    public static String yaml(Path state, URI engine, String engineKeys) {
        String keys = (engineKeys.contains("priming:") ? "" : "priming: false, ")
                + (engineKeys.contains("backend:") ? "" : "backend: pin_blocks, ")
                + engineKeys;
        return """
            listen: {port: 0}
            stateDirectory: '%s'
            engines:
              demo: {type: sglang, url: '%s', maxOutputTokens: 16, largestPromptTokens: 1024,
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
