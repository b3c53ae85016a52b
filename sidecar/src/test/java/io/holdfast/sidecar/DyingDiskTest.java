package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.ledger.StateDirectory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A sidecar that dies as it does something to its files, at each point of a script of holds and releases: from then on it
 * writes nothing and reaches nobody. The next start releases what is held, whatever was written.
 */
class DyingDiskTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final int STEP = DEEP ? 1 : 9;
    private static final int FASTER = 20;
    private static final int[] ONE = EngineClient.prompt(11, 256);
    private static final int[] OTHER = EngineClient.prompt(12, 256);

    @TempDir
    Path state;

    @Test
    void deathAtAnyWrite_leavesWhatTheNextStartReleases() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            int points = 0;
            for (int at = 1; diesAt(at, bed); at += STEP) {
                points++;
                bed.gate.open();
                Files.deleteIfExists(state.resolve("demo.holds"));
                releases(at, bed);
            }
            System.out.println("died at " + points + " points, each " + STEP + " apart");
            assertThat(points).isGreaterThan(20 / STEP);
        }
    }

    /** Whether the script was not over before. */
    private static boolean diesAt(int at, PinnedEngine bed) {
        AtomicInteger calls = new AtomicInteger();
        WatchedDisk disk = new WatchedDisk();
        disk.trouble(call -> {
            int number = calls.incrementAndGet();
            if (number == at) {
                bed.gate.shut();
            }
            if (number >= at) {
                throw new IOException("dead");
            }
        });
        try (Sidecar sidecar = bed.sidecar("", Seams.none().withFiles(disk));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            script(bed, client, () -> calls.get() >= at);
            if (calls.get() < at) {
                return false;
            }
        } catch (SidecarException dead) {
            // It did not even start.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return true;
    }

    private interface Dead {
        boolean now();
    }

    private static void script(PinnedEngine bed, SidecarClient client, Dead dead) throws IOException {
        if (!dead.now()) {
            client.meet(bed.engine);
            bed.engine.generate(ONE);
            bed.engine.generate(OTHER);
            Eventually.see("both are known", client::engine, seen -> seen.getInteger("blocks") >= 32);
        }
        for (int round = 0; round < 2; round++) {
            for (int[] prefix : List.of(ONE, OTHER)) {
                Http.Answer answer = client.hold(prefix, 600);
                if (answer.status() == 201) {
                    String id = answer.json().getString("id");
                    Eventually.see(
                            "it is held, or all is over",
                            () -> client.holdById(id).getString("state"),
                            state -> state.equals("held") || dead.now());
                    if (round == 0 && !dead.now()) {
                        client.release(id);
                    }
                }
                if (dead.now()) {
                    return;
                }
            }
        }
    }

    private static void releases(int at, PinnedEngine bed) throws IOException {
        long origin = System.nanoTime();
        try (Sidecar next = bed.sidecar(
                        "",
                        Seams.none()
                                .withHangLimit(Duration.ofSeconds(10L * FASTER))
                                .withClock(() -> origin + (System.nanoTime() - origin) * FASTER));
                SidecarClient client = new SidecarClient(next.uri())) {
            client.ready();
            bed.usedBecomes(0);
            Eventually.see(
                    "nothing is listed after a death at " + at,
                    () -> StateDirectory.at(bed.state).ledger("demo").pins(),
                    List::isEmpty);
        }
    }
}
