package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.sidecar.LedgerState.Pin;
import io.holdfast.sidecar.StateDirectory.Told;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds at the coordinator of an LMCache behind the engine; a stand-in, since no real one was tried. */
final class LmcacheTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final int[] OTHER = EngineClient.prompt(2, 256);
    private static final String MODEL = "m";
    private static final Told TOLD =
            new Told(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Duration.ofSeconds(5));

    @TempDir
    Path state;

    private final LmcacheStandIn coordinator = new LmcacheStandIn();

    @AfterEach
    void close() {
        coordinator.close();
    }

    private String keys() {
        return "backend: lmcache, lmcache: {url: '" + coordinator.uri() + "', model: " + MODEL + "}";
    }

    @Test
    void hold_isAPinAtTheCoordinator_whateverTheEngineEvicts() {
        try (TestBed bed = TestBed.with(TestBed.fast(), state, keys())) {
            bed.engine.generate(PREFIX);
            String id = bed.client.held(PREFIX);
            assertThat(bed.client.holdById(id).getString("reason"))
                    .isEqualTo("asked for; the whole prefix is in the cache. The LMCache coordinator pinned 8 chunks of"
                            + " its 512 tokens; whether they are stored there it does not say (this way to hold is"
                            + " unproven).");
            assertThat(bed.client.engine().getJsonObject("backend").getString("why"))
                    .isEqualTo("Unproven, since it was tried by LMCache's documentation only: the coordinator at "
                            + coordinator.uri()
                            + " keeps what is pinned of m (world size 1) in LMCache's shared storage, and not in the"
                            + " engine's cache.");
            assertThat(coordinator.pinned(MODEL, PREFIX)).isEqualTo(1);
            assertThat(bed.client.engine().getJsonObject("budget").getInteger("pinnedTokens"))
                    .isZero();
            assertThat(bed.engine.flush()).isEqualTo(200);
            for (int i = 0; i < 12; i++) {
                bed.engine.generate(EngineClient.prompt(100 + i, 512));
            }
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("held");
            assertThat(bed.client.release(id).status()).isEqualTo(200);
            assertThat(coordinator.total()).isZero();
        }
    }

    @Test
    void prefixShorterThanAChunk_isRefused() {
        try (TestBed bed = TestBed.with(TestBed.fast(), state, keys())) {
            int[] tiny = EngineClient.prompt(3, 48);
            bed.engine.generate(tiny);
            Http.Answer answer = bed.client.hold(tiny, 3600);
            assertThat(answer.text())
                    .contains("refused: The LMCache coordinator pinned nothing: the prefix has 48 tokens, which is less"
                            + " than one of its chunks (its --chunk-size, 256 unless it says otherwise).");
        }
    }

    @Test
    void auto_neverChoosesIt_andReleasesWhatItLeft() {
        try (TestBed bed = TestBed.with(TestBed.fast(), state, keys().replace("backend: lmcache", "backend: auto"))) {
            assertThat(bed.client.engine().getJsonObject("backend").getString("why"))
                    .startsWith("Chosen: keep_warm.")
                    .doesNotContain("lmcache")
                    .doesNotContain("pin_prefix");
        }
    }

    @Test
    void killedSidecar_leavesWhatTheLedgerLists_andTheNextStartTakesBackJustThat() throws IOException {
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            bed.engine.generate(PREFIX);
            bed.engine.generate(OTHER);
            Path config = config(bed.emulator);
            kill(config, bed.engine);
            assertThat(coordinator.pinned(MODEL, PREFIX)).as("theirs and ours").isEqualTo(2);
            assertThat(coordinator.pinned(MODEL, OTHER)).isEqualTo(1);
            Files.delete(state.resolve("kept").resolve("demo.holds"));
            try (ChildSidecar next = ChildSidecar.start(config);
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                Eventually.see("ours are gone", coordinator::total, total -> total == 8);
                assertThat(coordinator.pinned(MODEL, PREFIX)).as("theirs").isEqualTo(1);
                assertThat(coordinator.pinned(MODEL, OTHER)).isZero();
            }
            assertThat(StateDirectory.at(state.resolve("kept")).ledger("demo").pins())
                    .isEmpty();
        }
    }

    @Test
    void ledgerOfADeadSidecarAndADeadEngine_isReleasedAtTheCoordinator() throws IOException {
        Path config;
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            bed.engine.generate(PREFIX);
            bed.engine.generate(OTHER);
            config = config(bed.emulator);
            kill(config, bed.engine);
        }
        StateDirectory alone = StateDirectory.at(state.resolve("kept"));
        assertThat(alone.ledger("demo").pins()).hasSize(2).allMatch(Pin::releasable);
        LedgerRelease nowhere = alone.release("demo", TOLD);
        assertThat(nowhere.released()).isEmpty();
        assertThat(nowhere.left())
                .allSatisfy(left -> assertThat(left.why())
                        .isEqualTo("It was pinned at the LMCache coordinator at " + coordinator.uri()
                                + ", and the configuration names none: name it again (lmcache: {url: "
                                + coordinator.uri() + "}), so that it is released."));
        LedgerRelease done = StateDirectory.of(SidecarConfig.load(config)).release("demo", TOLD);
        assertThat(done.released()).hasSize(2);
        assertThat(done.left()).isEmpty();
        assertThat(coordinator.total()).as("theirs").isEqualTo(8);
    }

    @Test
    void pinThatMayStillArrive_isNotUnpinnedBeforeItCannot() throws IOException {
        Path config;
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            config = config(bed.emulator);
            kill(config, bed.engine);
        }
        Path ledger = state.resolve("kept").resolve("demo.ledger");
        List<String> about = Files.readAllLines(ledger).stream()
                .filter(line -> !line.contains("\"PINNED\""))
                .toList();
        Files.write(ledger, about);
        int before = coordinator.total();
        Told soon = new Told(
                Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Duration.ofMillis(300));
        LedgerRelease none = StateDirectory.of(SidecarConfig.load(config)).release("demo", soon);
        assertThat(none.left())
                .hasSize(2)
                .allSatisfy(left -> assertThat(left.why()).isEqualTo("its pin may still arrive"));
        assertThat(coordinator.total()).as("an unpin now would be the only one").isEqualTo(before);
    }

    private Path config(Emulator emulator) throws IOException {
        return Files.writeString(
                state.resolve("holdfast.yaml"), TestBed.yaml(state.resolve("kept"), emulator.uri(), keys()));
    }

    /** Somebody else has pinned the one prefix as well; both are held when the process is killed. */
    private void kill(Path config, EngineClient engine) throws IOException {
        try (ChildSidecar killed = ChildSidecar.start(config);
                SidecarClient client = new SidecarClient(killed.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            engine.generate(OTHER);
            coordinator.pin(MODEL, PREFIX);
            client.held(PREFIX);
            client.held(OTHER);
            killed.kill();
        }
    }
}
