package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.SharedServices.Seams;
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
 * what was held: what the engine itself says is the measure.
 */
class KillPointsTest {
    /*
     * One run
     * -------
     * Two engines, each with a backend that never forgets: one that counts pins, one that keeps sessions. One sidecar holds
     * and releases at both, several requests at a time, until it is killed after a number of calls and some microseconds
     * more that the seed says. So one kill is a point of each backend's own stream. At both engines somebody else holds as
     * well, at the one by a pin, at the other by a session, and must not lose it.
     *
     * The next start names the same backend, or another one, or auto; with a dry run it leaves the ledger as it is, byte for
     * byte, says what to do, and the start after that releases. Its clock runs fast, so that a pin that may still arrive is
     * waited for within seconds. What it is asked to hold again is taken away before: this is about what was pinned.
     */

    private static final int RUNS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 200 : 3;
    private static final long FIRST_SEED = Long.getLong("holdfast.kill.seed", 1);
    private static final int PREFIXES = 8;
    private static final int TOKENS = 256;
    private static final int CLIENTS = 3;
    private static final int MOST_CALLS = 60;
    private static final int FASTER = 20;
    private static final int[] FOREIGN = EngineClient.prompt(90, TOKENS);
    private static final List<String> NEXT =
            List.of("pin_blocks", "session_hold", "auto", "keep_warm", "dry_run", "pin_blocks", "session_hold");

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

    private void run(long seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        Path state = directory.resolve("state-" + seed);
        try (Emulator pins = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                Emulator sessions =
                        Emulator.start(vertx, TestBed.fast().withSglang(engine -> engine.withSessions(true)));
                EngineClient pinning = new EngineClient(pins.uri());
                EngineClient keeping = new EngineClient(sessions.uri())) {
            kill(state, pins, sessions, pinning, keeping, random);
            count("pin_blocks", outstanding(state, "pins"));
            count("session_hold", outstanding(state, "sessions"));
            Files.deleteIfExists(state.resolve("pins.holds"));
            Files.deleteIfExists(state.resolve("sessions.holds"));

            String next = NEXT.get(random.nextInt(NEXT.size()));
            String told = "seed " + seed + ", next start with " + next;
            if (next.equals("dry_run")) {
                leavesAllAlone(told, state, pins, sessions);
                next = "auto";
            }
            releasesAll(told, state, config(state, pins, sessions, next, next));
            assertThat(pinning.usedTokens()).as(told).isEqualTo(TOKENS);
            // One after another: what runs together could fill the cache by itself, and sessions are soft.
            for (int i = 0; i < 24; i++) {
                keeping.generate(EngineClient.prompt(200 + i, 512));
            }
            assertThat(keeping.generate(FOREIGN))
                    .as("%s: somebody else's session", told)
                    .isGreaterThan(0);
            for (int i = 0; i < PREFIXES; i++) {
                assertThat(keeping.generate(prefix(i)))
                        .as("%s: prefix %s", told, i)
                        .isZero();
            }
        }
    }

    private void kill(
            Path state,
            Emulator pins,
            Emulator sessions,
            EngineClient pinning,
            EngineClient keeping,
            SplittableRandom random)
            throws IOException {
        Path config = Files.writeString(
                directory.resolve("killed.yaml"), config(state, pins, sessions, "pin_blocks", "session_hold"));
        int calls = 4 + random.nextInt(MOST_CALLS - 4);
        long nanos = random.nextLong(4_000_000);
        try (ChildSidecar killed = ChildSidecar.start(config);
                SidecarClient atPins = new SidecarClient(killed.uri(), "pins");
                SidecarClient atSessions = new SidecarClient(killed.uri(), "sessions")) {
            prepare(atPins, pinning);
            prepare(atSessions, keeping);
            pinning.pin(FOREIGN);
            keeping.open("somebody-else", FOREIGN);
            CountDownLatch due = new CountDownLatch(calls);
            ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
            try {
                for (int i = 0; i < CLIENTS; i++) {
                    SplittableRandom own = random.split();
                    clients.execute(() -> stream(atPins, own.split(), due));
                    clients.execute(() -> stream(atSessions, own.split(), due));
                }
                await(due);
                LockSupport.parkNanos(nanos);
            } finally {
                killed.kill();
                clients.shutdownNow();
            }
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

    private void leavesAllAlone(String told, Path state, Emulator pins, Emulator sessions) throws IOException {
        byte[] pinsBefore = Files.readAllBytes(state.resolve("pins.ledger"));
        byte[] sessionsBefore = Files.readAllBytes(state.resolve("sessions.ledger"));
        boolean some = !outstanding(state, "pins").isEmpty();
        try (Sidecar dry = start(config(state, pins, sessions, "dry_run", "dry_run"));
                SidecarClient client = new SidecarClient(dry.uri(), "pins")) {
            String said =
                    Eventually.see(told, () -> client.http.get("/readyz").text(), text -> !text.contains("not known"));
            if (some) {
                assertThat(said)
                        .as(told)
                        .contains("of pin_blocks of an earlier run are left alone by dry_run: start once with"
                                + " backend: pin_blocks");
            }
        }
        assertThat(Files.readAllBytes(state.resolve("pins.ledger"))).as(told).isEqualTo(pinsBefore);
        assertThat(Files.readAllBytes(state.resolve("sessions.ledger")))
                .as(told)
                .isEqualTo(sessionsBefore);
    }

    private void releasesAll(String told, Path state, String config) {
        try (Sidecar next = start(config);
                SidecarClient client = new SidecarClient(next.uri(), "pins")) {
            Eventually.see(
                    told + ": both ledgers list nothing",
                    () -> listed(state, "pins") + " " + listed(state, "sessions") + " "
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

    private static String config(Path state, Emulator pins, Emulator sessions, String one, String other) {
        return """
            listen: {port: 0}
            stateDirectory: '%s'
            engines:
              - {id: pins, type: sglang, url: '%s', backend: %s, priming: false, maxOutputTokens: 16,
                 largestPromptTokens: 1024, readingsMillis: 50, tickMillis: 10}
              - {id: sessions, type: sglang, url: '%s', backend: %s, priming: false, maxOutputTokens: 16,
                 largestPromptTokens: 1024, readingsMillis: 50, tickMillis: 10}
            """.formatted(state, pins.uri(), one, sessions.uri(), other);
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
