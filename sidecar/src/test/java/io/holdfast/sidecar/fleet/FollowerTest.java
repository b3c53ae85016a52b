package io.holdfast.sidecar.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.ChildSidecar;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.ledger.LedgerRelease;
import io.holdfast.sidecar.ledger.StateDirectory;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two sidecars at one engine, of which one ends: the other takes over, with what they share. */
class FollowerTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final int[] OTHER = EngineClient.prompt(2, 256);

    @TempDir
    Path directory;

    private final Vertx vertx = Vertx.vertx();
    private final Emulator emulator =
            Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU).withReplayPort(0));
    private final EngineClient engine = new EngineClient(emulator.uri());

    @AfterEach
    void stop() {
        engine.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Path config(String state) throws IOException {
        return Files.writeString(
                directory.resolve(state + ".yaml"), TestBed.yaml(directory.resolve(state), emulator.uri(), ""));
    }

    private Follower follower(Path config) {
        SidecarConfig read = SidecarConfig.load(config);
        return new Follower(
                read, () -> Sidecar.start(vertx, read, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT)));
    }

    /** As its process does. */
    private static Sidecar whenItTakesOver(Follower follower) {
        return Eventually.see("the follower takes over", follower::tryToStart, Optional::isPresent)
                .orElseThrow();
    }

    @Test
    void killedSidecar_isFollowedWithItsHolds_whereTheStateIsShared() throws IOException {
        Path config = config("shared");
        Follower follower = follower(config);
        String id;
        try (ChildSidecar first = ChildSidecar.start(config);
                SidecarClient client = new SidecarClient(first.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            id = client.held(PREFIX);
            assertThat(follower.tryToStart()).as("somebody is there").isEmpty();
            assertThat(follower.tryToStart()).isEmpty();
            assertThat(client.http.get("/readyz").status())
                    .as("and not disturbed")
                    .isEqualTo(200);
        }
        try (Sidecar next = whenItTakesOver(follower);
                SidecarClient client = new SidecarClient(next.uri())) {
            client.holdIn(id, "held");
            assertThat(engine.usedTokens()).as("pinned once").isEqualTo(512);
            assertThat(client.release(id).status()).isEqualTo(200);
            assertThat(engine.usedTokens()).isZero();
            client.ready();
        }
    }

    @Test
    void sidecarThatEnds_isFollowed_andLetGoBefore() throws IOException {
        Path config = config("shared");
        Follower follower = follower(config);
        String id;
        try (Sidecar first = Sidecar.start(vertx, SidecarConfig.load(config));
                SidecarClient client = new SidecarClient(first.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            id = client.held(PREFIX);
            assertThat(follower.tryToStart()).isEmpty();
        }
        assertThat(engine.usedTokens()).isZero();
        try (Sidecar next = whenItTakesOver(follower);
                SidecarClient client = new SidecarClient(next.uri())) {
            client.holdIn(id, "held");
        }
    }

    /** One that is suspended may go on at any moment, and would believe that its pins are its own. */
    @Test
    void suspendedSidecar_isNotFollowed_andGoesOn() throws IOException {
        Path config = config("shared");
        Follower follower = follower(config);
        try (ChildSidecar first = ChildSidecar.start(config);
                SidecarClient client = new SidecarClient(first.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            String id = client.held(PREFIX);
            first.suspend();
            engine.generate(OTHER);
            for (int look = 0; look < 20; look++) {
                assertThat(follower.tryToStart()).isEmpty();
            }
            assertThat(engine.usedTokens()).as("its pins stay").isEqualTo(512);
            first.goOn();

            assertThat(client.holdById(id).getString("state")).isEqualTo("held");
            Eventually.see(
                    "it has heard what happened",
                    client::engine,
                    seen -> seen.getBoolean("certain") && seen.getInteger("blocks") >= 48);
            assertThat(client.release(id).status()).isEqualTo(200);
            assertThat(engine.usedTokens()).isZero();
        }
    }

    /** Whose ledger is somewhere else, of those pins nobody knows but the engine. */
    @Test
    void killedSidecar_isFollowedWithoutItsHolds_whereTheStateIsNotShared() throws IOException {
        Path config = config("first");
        try (Sidecar second = Sidecar.start(
                        vertx,
                        TestBed.config(
                                directory.resolve("second"),
                                URI.create("http://localhost:" + emulator.uri().getPort()),
                                ""));
                SidecarClient other = new SidecarClient(second.uri())) {
            String waits;
            try (ChildSidecar first = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(first.uri())) {
                other.ready();
                client.meet(engine);
                engine.generate(PREFIX);
                engine.generate(OTHER);
                client.held(PREFIX);
                Http.Answer answer = other.hold(OTHER, 3600);
                assertThat(answer.text()).contains("this one follows, and holds when that one has ended");
                waits = answer.json().getString("id");
            }
            other.holdIn(waits, "held");
            assertThat(engine.usedTokens()).as("what the first pinned stays").isEqualTo(512 + 256);
            Eventually.see(
                    "it is said",
                    () -> other.http.get("/readyz").text(),
                    text -> text.contains("512 tokens are pinned that are not ours"));
            LedgerRelease released = StateDirectory.at(directory.resolve("first"))
                    .release(
                            "demo",
                            new StateDirectory.Told(
                                    Optional.empty(),
                                    Optional.empty(),
                                    Optional.empty(),
                                    Optional.empty(),
                                    Duration.ofSeconds(10)));
            assertThat(released.left()).isEmpty();
            assertThat(engine.usedTokens()).isEqualTo(256);
        }
    }

    @Test
    void ledgerThatIsTakenBetweenTheLookAndTheStart_isWaitedForOn() throws IOException {
        SidecarConfig read = SidecarConfig.load(config("shared"));
        List<Sidecar> sooner = new ArrayList<>();
        Follower follower = new Follower(read, () -> {
            sooner.add(Sidecar.start(vertx, read));
            return Sidecar.start(vertx, read);
        });
        try {
            assertThat(follower.tryToStart()).isEmpty();
        } finally {
            sooner.forEach(Sidecar::close);
        }
    }
}
