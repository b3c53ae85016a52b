package io.holdfast.sidecar.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two sidecars at one engine, each with a ledger of its own. */
final class EngineLockTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    Path state;

    @AfterEach
    void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void secondSidecar_followsAndPinsNothing_untilTheFirstHasEnded() {
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar second = Sidecar.start(
                        vertx,
                        TestBed.config(
                                state.resolve("second"),
                                URI.create("http://LOCALHOST:" + emulator.uri().getPort() + "/"),
                                ""));
                SidecarClient other = new SidecarClient(second.uri())) {
            String waits;
            try (Sidecar first = Sidecar.start(vertx, TestBed.config(state.resolve("first"), emulator.uri(), ""));
                    SidecarClient client = new SidecarClient(first.uri())) {
                other.ready();
                client.meet(engine);
                engine.generate(PREFIX);
                client.held(PREFIX);

                Http.Answer answer = other.hold(PREFIX, 3600);

                assertThat(answer.text()).contains("another sidecar of this machine holds prefixes at this engine");
                assertThat(engine.usedTokens()).isEqualTo(512);
                waits = answer.json().getString("id");
                assertThat(waits).isNotNull();
            }
            other.holdIn(waits, "held");
            assertThat(engine.usedTokens()).isEqualTo(512);
        }
    }

    /** As when its name leads to another machine: there another sidecar may hold. */
    @Test
    void nameThatLeadsElsewhere_isLockedThere() throws IOException {
        AtomicReference<EngineIdentity> here = new AtomicReference<>(at("10.0.0.1"));
        try (EngineLock first = lock(here::get);
                EngineLock second = lock(() -> at("10.0.0.1"));
                EngineLock third = lock(() -> at("10.0.0.2"))) {
            assertThat(first.refusal()).isEmpty();
            assertThat(second.refusal()).isPresent();
            here.set(at("10.0.0.2"));
            assertThat(first.refusal()).isEmpty();
            assertThat(third.refusal()).isPresent();
            assertThat(second.refusal()).as("nobody holds there any more").isEmpty();
            here.set(at("10.0.0.1"));
            assertThat(first.refusal()).as("back, where another one holds").isPresent();
            assertThat(third.refusal()).as("what it had is free").isEmpty();
        }
    }

    /** As by what clears old files away: who has the file now holds, and nobody else by a file that has no name any more. */
    @Test
    void fileThatWasRemoved_isTakenAnewByWhoeverComesFirst() throws IOException {
        Supplier<EngineIdentity> here = () -> at("10.0.0.1");
        try (EngineLock first = lock(here);
                EngineLock second = lock(here)) {
            assertThat(first.refusal()).isEmpty();
            removeLocks();
            assertThat(first.refusal()).as("nobody else came").isEmpty();
            assertThat(second.refusal()).isPresent();
            removeLocks();
            assertThat(second.refusal()).isEmpty();
            assertThat(first.refusal()).isPresent();
        }
    }

    private void removeLocks() throws IOException {
        try (Stream<Path> files = Files.list(state)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
    }

    private EngineLock lock(Supplier<EngineIdentity> engine) {
        return new EngineLock(state, () -> Optional.of(engine.get()), System::nanoTime);
    }

    private static EngineIdentity at(String address) {
        return new EngineIdentity("http://engine:1", "http://" + address + ":1", Optional.empty());
    }
}
