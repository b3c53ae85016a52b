package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.emulator.Emulator;
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
 * A sidecar that holds at an LMCache coordinator is killed at a random moment of a stream of holds and releases, and the next
 * start takes back exactly what was pinned: what the coordinator has is the measure.
 */
class LmcacheKillPointsTest {
    private static final int RUNS =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 200 : 3;
    private static final long FIRST_SEED = Long.getLong("holdfast.kill.seed", 1);
    private static final int PREFIXES = 8;
    private static final int TOKENS = 256;
    private static final int CLIENTS = 3;
    private static final int MOST_CALLS = 60;
    private static final int FASTER = 20;
    private static final String MODEL = "m";
    private static final int[] FOREIGN = EngineClient.prompt(90, TOKENS);

    @TempDir
    Path directory;

    private final Vertx vertx = Vertx.vertx();
    private final Map<String, Integer> found = new TreeMap<>();

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void killAtARandomPoint_leavesWhatTheNextStartTakesBack() throws IOException {
        for (long seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
            run(seed);
        }
        System.out.println("killed " + RUNS + " times beside a coordinator; in the ledger then: " + found);
        assertThat(found.keySet()).anyMatch(step -> step.equals("PINNED"));
    }

    private void run(long seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        Path state = directory.resolve("state-" + seed);
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast());
                EngineClient engine = new EngineClient(emulator.uri());
                LmcacheStandIn coordinator = new LmcacheStandIn()) {
            String yaml = TestBed.yaml(
                    state,
                    emulator.uri(),
                    "backend: lmcache, lmcache: {url: '" + coordinator.uri() + "', model: " + MODEL + "}");
            coordinator.pin(MODEL, FOREIGN);
            int foreign = coordinator.total();
            kill(Files.writeString(directory.resolve("killed.yaml"), yaml), engine, random);
            List<Entry> listed = outstanding(state);
            listed.stream()
                    .map(entry -> entry.step().name())
                    .distinct()
                    .forEach(step -> found.merge(step, 1, Integer::sum));
            for (int i = 0; i < PREFIXES; i++) {
                int[] prefix = prefix(i);
                assertThat(coordinator.pinned(MODEL, prefix))
                        .as("seed %s: prefix %s is pinned once at most", seed, i)
                        .isLessThan(2);
            }
            assertThat(coordinator.total() - foreign)
                    .as("seed %s: whatever is pinned is listed", seed)
                    .isLessThanOrEqualTo(listed.size() * TOKENS / LmcacheStandIn.CHUNK);
            Files.deleteIfExists(state.resolve("demo.holds"));

            try (Sidecar next = start(yaml);
                    SidecarClient client = new SidecarClient(next.uri())) {
                Eventually.see(
                        "seed " + seed + ": the ledger lists nothing",
                        () -> listed(state) + " " + client.http.get("/readyz").text(),
                        seen -> seen.startsWith("[] "));
            }
            assertThat(coordinator.total()).as("seed %s: theirs alone", seed).isEqualTo(foreign);
            assertThat(coordinator.pinned(MODEL, FOREIGN)).isEqualTo(1);
        }
    }

    private static void kill(Path config, EngineClient engine, SplittableRandom random) throws IOException {
        int calls = 4 + random.nextInt(MOST_CALLS - 4);
        long nanos = random.nextLong(4_000_000);
        try (ChildSidecar killed = ChildSidecar.start(config);
                SidecarClient client = new SidecarClient(killed.uri())) {
            client.meet(engine);
            for (int i = 0; i < PREFIXES; i++) {
                engine.generate(prefix(i));
            }
            int blocks = PREFIXES * TOKENS / TestBed.BLOCK;
            Eventually.see("all is known", client::engine, seen -> seen.getInteger("blocks") >= blocks);
            CountDownLatch due = new CountDownLatch(calls);
            ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
            try {
                for (int i = 0; i < CLIENTS; i++) {
                    SplittableRandom own = random.split();
                    clients.execute(() -> stream(client, own, due));
                }
                await(due);
                LockSupport.parkNanos(nanos);
            } finally {
                killed.kill();
                clients.shutdownNow();
            }
        }
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

    private static List<Entry> outstanding(Path state) throws IOException {
        return new Ledger(FileLedgerStore.toRead(state, "demo", LedgerFiles.SYSTEM)).outstanding();
    }

    private static String listed(Path state) {
        try {
            return outstanding(state).stream().map(Entry::step).toList().toString();
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
