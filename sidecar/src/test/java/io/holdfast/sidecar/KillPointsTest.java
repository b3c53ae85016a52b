package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A sidecar's process is killed at a random moment of a stream of holds and releases, and the next start releases exactly
 * what was held: what the engines themselves say is the measure.
 */
class KillPointsTest {
    /*
     * One run
     * -------
     * Two engines, each with a backend that never forgets: one that counts pins, one that keeps sessions. One sidecar holds
     * and releases at both, several requests at a time, until it is killed after a number of calls and some microseconds more
     * that the seed says. So one kill is a point of each backend's own stream. At both somebody else holds as well, by a pin
     * or a session, and must not lose it.
     *
     * The next start names the same backend, or another one, or auto; with a dry run it leaves the ledgers as they are, byte
     * for byte, says what to do, and the start after that releases. Its clock runs fast, so that a pin that may still arrive
     * is waited for within seconds. What it is asked to hold again is taken away before: this is about what was pinned.
     */

    private static final int RUNS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 200 : 3;
    private static final long FIRST_SEED = Long.getLong("holdfast.kill.seed", 1);
    private static final int PREFIXES = 8;
    private static final int TOKENS = 256;
    private static final int CLIENTS = 3;
    private static final int MOST_CALLS = 90;
    private static final int FASTER = 20;
    private static final int[] FOREIGN = EngineClient.prompt(90, TOKENS);
    private static final List<String> SAME = List.of();
    private static final List<List<String>> NEXT = List.of(
            SAME,
            List.of("pin_blocks"),
            List.of("session_hold"),
            List.of("auto"),
            List.of("keep_warm"),
            List.of("dry_run"));

    @TempDir
    Path directory;

    private final Vertx vertx = Vertx.vertx();
    private final Map<String, Integer> found = new TreeMap<>();

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void killAtARandomPoint_leavesWhatTheNextStartReleases() throws IOException {
        for (long seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
            run(seed);
        }
        System.out.println("killed " + RUNS + " times at each of two backends; in the ledger then: " + found);
        assertThat(found.keySet()).anyMatch(what -> what.contains("PINNED"));
    }

    /** An engine, and who keeps what is held there. */
    private abstract static class Place implements AutoCloseable {
        final String backend;
        final Emulator emulator;
        final EngineClient engine;

        Place(String backend, Emulator emulator) {
            this.backend = backend;
            this.emulator = emulator;
            this.engine = new EngineClient(emulator.uri());
        }

        abstract void holdForSomebodyElse();

        abstract void hasNothingButTheirs(String told);

        @Override
        public void close() {
            engine.close();
            emulator.close();
        }
    }

    private static final class Pins extends Place {
        Pins(Vertx vertx) {
            super("pin_blocks", Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU)));
        }

        @Override
        void holdForSomebodyElse() {
            engine.pin(FOREIGN);
        }

        @Override
        void hasNothingButTheirs(String told) {
            assertThat(engine.usedTokens()).as(told).isEqualTo(TOKENS);
        }
    }

    private static final class Sessions extends Place {
        Sessions(Vertx vertx) {
            super(
                    "session_hold",
                    Emulator.start(vertx, TestBed.fast().withSglang(engine -> engine.withSessions(true))));
        }

        @Override
        void holdForSomebodyElse() {
            engine.open("somebody-else", FOREIGN);
        }

        @Override
        void hasNothingButTheirs(String told) {
            // One after another: what runs together could fill the cache by itself, and sessions are soft.
            for (int i = 0; i < 24; i++) {
                engine.generate(EngineClient.prompt(200 + i, 512));
            }
            assertThat(engine.generate(FOREIGN))
                    .as("%s: somebody else's session", told)
                    .isGreaterThan(0);
            for (int i = 0; i < PREFIXES; i++) {
                assertThat(engine.generate(prefix(i)))
                        .as("%s: prefix %s", told, i)
                        .isZero();
            }
        }
    }

    private void run(long seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        Path state = directory.resolve("state-" + seed);
        try (Pins pins = new Pins(vertx);
                Sessions sessions = new Sessions(vertx)) {
            List<Place> places = List.of(pins, sessions);
            kill(state, places, random);
            List<String> next = NEXT.get(random.nextInt(NEXT.size()));
            String told = "seed " + seed + ", next start with " + (next.equals(SAME) ? "the same" : next.getFirst());
            for (Place place : places) {
                count(place.backend, outstanding(state, place.backend));
                Files.deleteIfExists(state.resolve(place.backend + ".holds"));
            }
            if (next.equals(List.of("dry_run"))) {
                leavesAllAlone(told, state, places);
                next = List.of("auto");
            }
            releasesAll(told, state, config(state, places, next));
            places.forEach(place -> place.hasNothingButTheirs(told));
        }
    }

    private void kill(Path state, List<Place> places, SplittableRandom random) throws IOException {
        Path config = Files.writeString(directory.resolve("killed.yaml"), config(state, places, SAME));
        int calls = 6 + random.nextInt(MOST_CALLS - 6);
        long nanos = random.nextLong(4_000_000);
        List<SidecarClient> sidecars = new ArrayList<>();
        try (ChildSidecar killed = ChildSidecar.start(config)) {
            for (Place place : places) {
                SidecarClient sidecar = new SidecarClient(killed.uri(), place.backend);
                sidecars.add(sidecar);
                prepare(sidecar, place.engine);
                place.holdForSomebodyElse();
            }
            CountDownLatch due = new CountDownLatch(calls);
            ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
            try {
                for (int i = 0; i < CLIENTS; i++) {
                    for (SidecarClient sidecar : sidecars) {
                        SplittableRandom own = random.split();
                        clients.execute(() -> stream(sidecar, own, due));
                    }
                }
                await(due);
                LockSupport.parkNanos(nanos);
            } finally {
                killed.kill();
                clients.shutdownNow();
            }
        } finally {
            sidecars.forEach(SidecarClient::close);
        }
    }

    /** Has all prefixes in the cache, and known to the sidecar to be there. */
    private static void prepare(SidecarClient sidecar, EngineClient engine) {
        sidecar.meet(engine);
        engine.generate(FOREIGN);
        for (int i = 0; i < PREFIXES; i++) {
            engine.generate(prefix(i));
        }
        int blocks = (PREFIXES + 1) * TOKENS / TestBed.BLOCK;
        Eventually.see("all is known", sidecar::engine, seen -> seen.getInteger("blocks") >= blocks);
    }

    private static int[] prefix(int number) {
        return EngineClient.prompt(10 + number, TOKENS);
    }

    /** Holds and releases until the other side is gone. */
    private static void stream(SidecarClient sidecar, SplittableRandom random, CountDownLatch due) {
        List<String> held = new ArrayList<>();
        try {
            while (true) {
                if (held.isEmpty() || (held.size() < PREFIXES && random.nextInt(5) < 3)) {
                    Http.Answer answer = sidecar.hold(prefix(random.nextInt(PREFIXES)), 3600);
                    if (answer.status() == 201) {
                        held.add(answer.json().getString("id"));
                    }
                } else {
                    sidecar.release(held.remove(random.nextInt(held.size())));
                }
                due.countDown();
            }
        } catch (RuntimeException | AssertionError gone) {
            // As was to come.
        } finally {
            IntStream.range(0, MOST_CALLS).forEach(i -> due.countDown());
        }
    }

    private void leavesAllAlone(String told, Path state, List<Place> places) throws IOException {
        Map<Path, byte[]> before = new TreeMap<>();
        for (Place place : places) {
            Path ledger = state.resolve(place.backend + ".ledger");
            before.put(ledger, Files.readAllBytes(ledger));
        }
        try (Sidecar dry = start(config(state, places, List.of("dry_run")));
                SidecarClient client = new SidecarClient(dry.uri(), "pin_blocks")) {
            String said =
                    Eventually.see(told, () -> client.http.get("/readyz").text(), text -> !text.contains("not known"));
            for (Place place : places) {
                if (!outstanding(state, place.backend).isEmpty()) {
                    assertThat(said)
                            .as(told)
                            .contains("of " + place.backend
                                    + " of an earlier run are left alone by dry_run: start once with backend: "
                                    + place.backend);
                }
            }
        }
        for (Map.Entry<Path, byte[]> ledger : before.entrySet()) {
            assertThat(Files.readAllBytes(ledger.getKey())).as(told).isEqualTo(ledger.getValue());
        }
    }

    private void releasesAll(String told, Path state, String config) {
        try (Sidecar next = start(config);
                SidecarClient client = new SidecarClient(next.uri(), "pin_blocks")) {
            Eventually.see(
                    told + ": no ledger lists anything",
                    () -> listed(state, "pin_blocks") + " " + listed(state, "session_hold") + " "
                            + client.http.get("/readyz").text(),
                    seen -> seen.startsWith("[] [] "));
        }
    }

    private Sidecar start(String config) {
        long origin = System.nanoTime();
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(config, "test.yaml"),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                Seams.none()
                        .withHangLimit(Duration.ofSeconds(10L * FASTER))
                        .withClock(() -> origin + (System.nanoTime() - origin) * FASTER));
    }

    /** Of these places, with one backend for all; where none is named, each with its own. */
    private static String config(Path state, List<Place> places, List<String> backend) {
        StringBuilder config = new StringBuilder("""
            listen: {port: 0}
            stateDirectory: '%s'
            engines:
            """.formatted(state));
        for (Place place : places) {
            config.append("""
                \s %s: {type: sglang, url: '%s', backend: %s, priming: false, maxOutputTokens: 16,
                      largestPromptTokens: 1024, readingsMillis: 50, tickMillis: 10}
                """.formatted(
                    place.backend, place.emulator.uri(), backend.isEmpty() ? place.backend : backend.getFirst()));
        }
        return config.toString();
    }

    private void count(String backend, List<Entry> entries) {
        found.merge(backend + (entries.isEmpty() ? " nothing" : " something"), 1, Integer::sum);
        for (Step step : Step.values()) {
            if (entries.stream().anyMatch(entry -> entry.step() == step)) {
                found.merge(backend + " some " + step, 1, Integer::sum);
            }
        }
    }

    private static List<Entry> outstanding(Path state, String id) throws IOException {
        return new Ledger(FileLedgerStore.toRead(state, id, LedgerFiles.SYSTEM)).outstanding();
    }

    private static String listed(Path state, String id) {
        try {
            return outstanding(state, id).stream().map(Entry::step).toList().toString();
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}
