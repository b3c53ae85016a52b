package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.prefix.LearnedPrefix;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.store.LearnedFile;
import io.holdfast.sidecar.store.LearnedFile.Found;
import io.holdfast.sidecar.store.LearnedFile.Snapshot;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A sidecar's process is killed again and again amid traffic and snapshots: the next goes on from what the last wrote. */
class SnapshotKillTest {
    /*
     * One life after another, at one engine and in one state directory. Users send texts behind one system prompt, clients
     * hold prefixes for some seconds, a snapshot is taken each second, and after a number of calls and some time that the
     * seed says the process is killed.
     *
     * How much a snapshot must have is known from outside: what the API told before a snapshot began is in it. So the floor is
     * what was told before the last snapshot but one that was seen to be written. A lease's end is what was promised when the
     * hold was asked for, by the clock on the wall; the last life waits until nothing is pinned.
     */
    private static final int KILLS = Integer.getInteger(
            "holdfast.kill.count", System.getProperty("holdfast.scale", "slice").equals("deep") ? 200 : 3);
    private static final long FIRST_SEED = Long.getLong("holdfast.kill.seed", 1);
    private static final int SYSTEM_PROMPT = 320;
    private static final int PREFIXES = 6;
    private static final int CLIENTS = 2;
    private static final Duration SLACK = Duration.ofSeconds(1);

    @TempDir
    Path directory;

    private final Vertx vertx = Vertx.vertx();
    private final Map<String, Instant> promised = new ConcurrentHashMap<>();
    /** Requests over the system prompt that a snapshot must have. */
    private final AtomicLong floor = new AtomicLong();

    private int users;
    private long restored;
    private Duration oldest = Duration.ZERO;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void killAmidSnapshots_leavesAWholeOne_andNoHoldPastItsLease() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            Path state = directory.resolve("state");
            Path config = Files.writeString(
                    directory.resolve("killed.yaml"),
                    TestBed.yaml(state, emulator.uri(), "").replace("engines:", "snapshotSeconds: 1\nengines:"));
            LearnedFile file = new LearnedFile(state, "demo", LedgerFiles.SYSTEM);
            Optional<Instant> since = Optional.empty();
            for (long seed = FIRST_SEED; seed < FIRST_SEED + KILLS; seed++) {
                String told = "kill " + seed;
                live(told, config, engine, new SplittableRandom(seed));
                Snapshot left = whole(told, file, emulator);
                assertThat(requests(left))
                        .as("%s: what the API told is in it", told)
                        .isGreaterThanOrEqualTo(floor.get());
                assertThat(left.since())
                        .as("%s: learned since the first life", told)
                        .isEqualTo(since.orElse(left.since()));
                since = Optional.of(left.since());
                restored = requests(left);
                long kills = seed - FIRST_SEED + 1;
                if (kills % 10 == 0 || kills == KILLS) {
                    say(kills);
                }
            }
            endsWithNothing(config, engine);
        }
    }

    private void say(long kills) {
        System.out.println("killed " + kills + " times; the oldest snapshot was " + oldest.toMillis()
                + " ms old at the kill, and the last had " + restored + " requests of all lives");
    }

    private Snapshot whole(String told, LearnedFile file, Emulator emulator) {
        Found found = file.read(EngineAddress.identity(emulator.uri(), Optional.empty()));
        assertThat(found).as(told).isInstanceOf(Found.Whole.class);
        return ((Found.Whole) found).snapshot();
    }

    private static long requests(Snapshot snapshot) {
        return snapshot.learned().prefixes().stream()
                .filter(prefix -> prefix.blocks() == SYSTEM_PROMPT / TestBed.BLOCK)
                .mapToLong(LearnedPrefix::requests)
                .sum();
    }

    private void live(String told, Path config, EngineClient engine, SplittableRandom random) throws IOException {
        int calls = 4 + random.nextInt(20);
        long nanos = random.nextLong(1_200_000_000);
        ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
        try (ChildSidecar killed = ChildSidecar.start(config);
                SidecarClient client = new SidecarClient(killed.uri())) {
            client.meet(engine);
            goesOnFromTheLast(told, client);
            for (int i = 0; i < PREFIXES; i++) {
                engine.generate(prefix(i));
            }
            CountDownLatch due = new CountDownLatch(calls);
            for (int i = 0; i < CLIENTS; i++) {
                SplittableRandom own = random.split();
                clients.execute(() -> holdAndRelease(client, own, due));
            }
            do {
                engine.generate(text(users++));
                raiseTheFloor(client);
            } while (due.getCount() > 0);
            LockSupport.parkNanos(nanos);
            Instant at = Instant.now();
            killed.kill();
            Instant taken = Files.getLastModifiedTime(directory.resolve("state/demo.learned"))
                    .toInstant();
            Duration age = Duration.between(taken, at);
            oldest = age.compareTo(oldest) > 0 ? age : oldest;
        } finally {
            clients.shutdownNow();
        }
    }

    private void goesOnFromTheLast(String told, SidecarClient client) {
        Eventually.see(told + ": knows what the last knew", () -> known(client), known -> known >= restored);
        assertThat(client.engine().getJsonObject("learned").containsKey("notTakenUp"))
                .as(told)
                .isFalse();
        noneIsPastItsLease(told, client);
    }

    private void noneIsPastItsLease(String told, SidecarClient client) {
        Instant now = Instant.now();
        for (JsonObject hold : client.holds()) {
            Instant end = promised.get(hold.getString("id"));
            if (end != null && !hold.getString("state").equals("released")) {
                assertThat(now.plusMillis((long) (1_000 * hold.getDouble("leaseSeconds"))))
                        .as("%s: %s", told, hold)
                        .isBeforeOrEqualTo(end.plus(SLACK));
            }
        }
    }

    /** Two more snapshots than when this was told, so one was begun after it. */
    private void raiseTheFloor(SidecarClient client) {
        long before = known(client);
        int seen = written(client);
        Eventually.see("two more snapshots", () -> written(client), count -> count >= seen + 2);
        floor.accumulateAndGet(before, Math::max);
    }

    private static int written(SidecarClient client) {
        return client.engine().getJsonObject("learned").getInteger("snapshots");
    }

    private static long known(SidecarClient client) {
        JsonArray prefixes =
                client.http.get("/api/v1/engines/demo/prefixes").json().getJsonArray("prefixes");
        for (int i = 0; i < prefixes.size(); i++) {
            if (prefixes.getJsonObject(i).getInteger("blocks") == SYSTEM_PROMPT / TestBed.BLOCK) {
                return prefixes.getJsonObject(i).getLong("requests");
            }
        }
        return 0;
    }

    private static int[] prefix(int number) {
        return EngineClient.prompt(10 + number, 128);
    }

    private static int[] text(int user) {
        int[] text = EngineClient.prompt(10_000 + user, SYSTEM_PROMPT + 64);
        System.arraycopy(EngineClient.prompt(600, SYSTEM_PROMPT), 0, text, 0, SYSTEM_PROMPT);
        return text;
    }

    /** Until the other side is gone. */
    private void holdAndRelease(SidecarClient client, SplittableRandom random, CountDownLatch due) {
        try {
            while (true) {
                int lease = 1 + random.nextInt(8);
                Http.Answer answer = client.hold(prefix(random.nextInt(PREFIXES)), lease);
                if (answer.status() == 201) {
                    String id = answer.json().getString("id");
                    promised.put(id, Instant.now().plusSeconds(lease));
                    if (random.nextInt(4) == 0) {
                        client.release(id);
                    }
                }
                due.countDown();
                LockSupport.parkNanos(random.nextLong(300_000_000));
            }
        } catch (RuntimeException | AssertionError gone) {
            // As was to come.
        } finally {
            while (due.getCount() > 0) {
                due.countDown();
            }
        }
    }

    private void endsWithNothing(Path config, EngineClient engine) throws IOException {
        try (ChildSidecar last = ChildSidecar.start(config);
                SidecarClient client = new SidecarClient(last.uri())) {
            client.ready();
            goesOnFromTheLast("the last life", client);
            Eventually.see("nothing is pinned", engine::usedTokens, used -> used == 0);
            Eventually.see(
                    "no hold is left",
                    () -> client.holds().stream()
                            .filter(hold -> !hold.getString("state").equals("released"))
                            .toList(),
                    holds -> holds.isEmpty());
            assertThat(directory.resolve("state/demo.learned.aside")).doesNotExist();
        }
    }
}
