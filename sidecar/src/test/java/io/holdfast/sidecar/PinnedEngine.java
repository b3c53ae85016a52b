package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

/** An engine that pins, behind a gate, for sidecars that come and go. */
public final class PinnedEngine implements AutoCloseable {
    public static final int[] PREFIX = EngineClient.prompt(1, 512);

    public final Vertx vertx = Vertx.vertx();
    public final Emulator emulator;
    public final EngineClient engine;
    public final Gate gate;
    final Path state;
    /** How often sidecars that are started from now on read the engine's numbers. */
    int readingsMillis = 50;

    public PinnedEngine(Path state, EmulatorSettings settings) throws IOException {
        this(state, settings, there -> there);
    }

    /** @param between where the gate leads, made of where the engine is */
    PinnedEngine(Path state, EmulatorSettings settings, UnaryOperator<URI> between) throws IOException {
        this.state = state;
        emulator = Emulator.start(vertx, settings);
        engine = new EngineClient(emulator.uri());
        gate = new Gate(between.apply(emulator.uri()));
    }

    public static PinnedEngine start(Path state) throws IOException {
        return new PinnedEngine(state, TestBed.fast().withVariant(Variant.PIN_GPU));
    }

    /** A sidecar that reaches the engine's HTTP through the gate and its events past it. */
    public Sidecar sidecar(String engineKeys) {
        return sidecar(engineKeys, Seams.none());
    }

    Sidecar sidecar(String engineKeys, Seams seams) {
        String keys = "events: '" + emulator.eventsEndpoint() + "'"
                + emulator.replayEndpoint()
                        .map(where -> ", replay: '" + where + "'")
                        .orElse("")
                + (engineKeys.isEmpty() ? "" : ", " + engineKeys);
        String yaml = TestBed.yaml(state, gate.uri(), keys);
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(
                        yaml.replace("readingsMillis: 50,", "readingsMillis: " + readingsMillis + ","), "test"),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                seams);
    }

    /**
     * Has a sidecar hold the prefix and end without reaching the engine, as if it had been killed; the hold itself is
     * forgotten, so that nobody pins the prefix again.
     */
    public void leaveAPin() throws IOException {
        leaveAPin("");
        assertThat(engine.usedTokens()).as("nobody unpinned").isEqualTo(512);
    }

    /** The same by a sidecar with these keys. */
    void leaveAPin(String engineKeys) throws IOException {
        WatchedDisk disk = new WatchedDisk();
        try (Sidecar killed = sidecar(engineKeys, Seams.none().withFiles(disk));
                SidecarClient client = new SidecarClient(killed.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            client.held(PREFIX);
            Eventually.see("the pin is in the ledger", this::ledger, text -> text.contains("\"PINNED\""));
            // Whose process is gone writes nothing of a call that broke off.
            disk.trouble(WatchedDisk.failing(call -> true));
            gate.shut();
        }
        Files.delete(state.resolve("demo.holds"));
        gate.open();
        assertThat(outstanding()).hasSize(1);
    }

    public List<LedgerLine.Entry> outstanding() throws IOException {
        try (FileLedgerStore store = FileLedgerStore.open(state, "demo", LedgerFiles.SYSTEM)) {
            return new Ledger(store).outstanding();
        }
    }

    private String ledger() {
        try {
            return Files.readString(ledgerFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Path ledgerFile() {
        return state.resolve("demo.ledger");
    }

    void usedBecomes(long tokens) {
        Eventually.see("tokens used by pins", engine::usedTokens, used -> used == tokens);
    }

    @Override
    public void close() {
        engine.close();
        gate.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }
}
