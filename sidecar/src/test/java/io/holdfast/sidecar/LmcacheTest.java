package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.emulator.Emulator;
import io.holdfast.sidecar.LedgerState.Pin;
import io.holdfast.sidecar.SharedServices.Seams;
import io.holdfast.sidecar.StateDirectory.Told;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
            bed.heard();
            Http.Answer answer = bed.client.hold(tiny, 3600);
            assertThat(answer.text())
                    .contains("Refused: The prefix has 48 tokens, which is less than one of the LMCache coordinator's"
                            + " chunks of 64 (its --chunk-size).");
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
    void engineWithAnotherModel_doesNotKeepThePinsOfTheEarlierOne() throws IOException {
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            kill(config(bed.emulator), bed.engine);
        }
        Files.delete(state.resolve("kept").resolve("demo.holds"));
        try (TestBed bed = TestBed.with(TestBed.fast().withModel("another/model"), state.resolve("kept"), keys())) {
            Eventually.see("ours are gone", coordinator::total, total -> total == 8);
            assertThat(coordinator.pinned(MODEL, PREFIX)).as("theirs").isEqualTo(1);
            bed.engine.generate(OTHER);
            String id = bed.client.held(OTHER);
            assertThat(coordinator.pinned(MODEL, OTHER)).isEqualTo(1);
            assertThat(bed.client.release(id).status()).isEqualTo(200);
        }
        assertThat(coordinator.total()).isEqualTo(8);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void unpinWithoutAnAnswer_isSettled_andTakesNoPinOfOthers(boolean carriedOut) throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast());
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = hurried(vertx, emulator);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            coordinator.pin(MODEL, PREFIX);
            String id = client.held(PREFIX);
            coordinator.losesAnUnpin(carriedOut);
            Http.Answer answer = client.release(id);
            assertThat(answer.error())
                    .contains("no clear answer to the unpin, which may still be carried out; in a minute it is looked"
                            + " whether the pin is there, and unpinned if it is");
            client.holdIn(id, "released");
            assertThat(coordinator.pinned(MODEL, PREFIX)).as("theirs").isEqualTo(1);
            assertThat(coordinator.total()).isEqualTo(8);
            String again = client.held(PREFIX);
            assertThat(coordinator.pinned(MODEL, PREFIX)).isEqualTo(2);
            assertThat(client.release(again).status()).isEqualTo(200);
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
        assertThat(coordinator.total()).isEqualTo(8);
    }

    /** By its clock a minute is three seconds. */
    private Sidecar hurried(Vertx vertx, Emulator emulator) {
        long origin = System.nanoTime();
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(TestBed.yaml(state, emulator.uri(), keys()), "test.yaml"),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                Seams.none()
                        .withHangLimit(Duration.ofMinutes(5))
                        .withClock(() -> origin + (System.nanoTime() - origin) * 20));
    }

    @Test
    void ledgerWithPinsOfADeadEngineToo_isReleasedAtTheCoordinator() throws IOException {
        Path config;
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            config = config(bed.emulator);
            kill(config, bed.engine);
        }
        appendAPinInTheEngine();
        LedgerRelease done = StateDirectory.of(SidecarConfig.load(config)).release("demo", TOLD);
        assertThat(done.released()).hasSize(2);
        assertThat(done.left()).singleElement().satisfies(left -> {
            assertThat(left.pin().backend()).isEqualTo("pin_blocks");
            assertThat(left.why()).startsWith("the engine does not answer: Nothing listens at");
        });
        assertThat(done.mend().orElseThrow()).startsWith("Start the engine and try again;");
        assertThat(coordinator.total()).as("theirs").isEqualTo(8);
    }

    @Test
    void ledgerWithPinsOfAnotherEngineToo_isReleasedAtTheCoordinator() throws IOException {
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            kill(config(bed.emulator), bed.engine);
        }
        appendAPinInTheEngine();
        Path ledger = state.resolve("kept").resolve("demo.ledger");
        Files.delete(state.resolve("kept").resolve("demo.holds"));
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withModel("another/model"));
                Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state.resolve("kept"), emulator.uri(), keys()));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Eventually.see("ours are gone", coordinator::total, total -> total == 8);
            String said = Eventually.see(
                    "one is left", () -> client.http.get("/readyz").text(), text -> text.contains("lists 1 pins"));
            assertThat(said)
                    .contains("so none of them is released and nothing is pinned; put that url back and start once, or,"
                            + " where that engine was restarted or is gone, delete " + ledger);
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
        assertThat(StateDirectory.at(state.resolve("kept")).ledger("demo").pins())
                .singleElement()
                .satisfies(pin -> assertThat(pin.backend()).isEqualTo("pin_blocks"));
    }

    /** As one that was held there by another backend before. */
    private void appendAPinInTheEngine() throws IOException {
        Path ledger = state.resolve("kept").resolve("demo.ledger");
        String pinned = Files.readAllLines(ledger).stream()
                .filter(line -> line.contains("\"PINNED\""))
                .findFirst()
                .orElseThrow();
        Files.writeString(
                ledger,
                pinned.replace("\"lmcache\"", "\"pin_blocks\"").replaceFirst("\"http[^\"]* [^\"]*\"", "\"17\"") + "\n",
                StandardOpenOption.APPEND);
    }

    @Test
    void releaseWithoutAnAnswer_isLeftUnsure_andNotAskedAgainAtOnce() throws IOException {
        Path config;
        try (TestBed bed = TestBed.with(TestBed.fast(), state.resolve("unused"), "backend: dry_run")) {
            config = config(bed.emulator);
            kill(config, bed.engine);
        }
        coordinator.losesAnUnpin(false);
        Told soon =
                new Told(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Duration.ofSeconds(2));
        int before = coordinator.total();
        for (String why : List.of("broke off without an answer", "its last unpin had no clear answer")) {
            LedgerRelease some = StateDirectory.of(SidecarConfig.load(config)).release("demo", soon);
            assertThat(some.left()).singleElement().satisfies(left -> {
                assertThat(left.pin().step()).isEqualTo(Step.UNSURE);
                assertThat(left.why()).contains(why);
            });
            assertThat(some.mend().orElseThrow()).startsWith("Try again, or start the sidecar, which goes on asking;");
        }
        assertThat(coordinator.total()).as("one of the two, and its marker").isIn(before - 5, before - 9);
        assertThat(coordinator.pinned(MODEL, PREFIX)).isGreaterThanOrEqualTo(1);
    }

    @Test
    void pinThatMayStillArrive_isLookedForAgainWhenItCannot() throws IOException {
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
        coordinator.forgets();
        coordinator.pin(MODEL, PREFIX);
        Told soon = new Told(
                Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Duration.ofMillis(300));
        LedgerRelease none = StateDirectory.of(SidecarConfig.load(config)).release("demo", soon);
        assertThat(none.left())
                .hasSize(2)
                .allSatisfy(left -> assertThat(left.why()).isEqualTo("its pin may still arrive"));
        assertThat(coordinator.total()).as("theirs").isEqualTo(8);
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
