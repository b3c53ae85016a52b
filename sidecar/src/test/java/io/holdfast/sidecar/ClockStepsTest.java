package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.store.HoldFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The clock on the wall is set forward and back: leases of one process do not notice, those of the next end no later. */
class ClockStepsTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;
    private static final int LEASE = 3_600;

    @TempDir
    Path state;

    private final AtomicReference<Duration> off = new AtomicReference<>(Duration.ZERO);
    private final Seams seams = Seams.none().withWall(() -> Instant.now().plus(off.get()));

    private static double left(SidecarClient client, String id) {
        return client.holdById(id).getDouble("leaseSeconds");
    }

    private static String hold(PinnedEngine bed, SidecarClient client) {
        client.meet(bed.engine);
        bed.engine.generate(PREFIX);
        String id = client.hold(PREFIX, LEASE).json().getString("id");
        client.holdIn(id, "held");
        return id;
    }

    /** The file's time as that machine would have it. */
    private void stamp(Path file) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().plus(off.get())));
    }

    @Test
    void stepWithinAProcess_movesNoLease() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", seams);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            String id = hold(bed, client);
            for (Duration step : new Duration[] {Duration.ofDays(1), Duration.ofDays(-1)}) {
                double before = left(client, id);
                off.set(step);
                long looks = client.engine().getJsonObject("plan").getLong("tick");
                Eventually.see(
                        "it has looked since",
                        () -> client.engine().getJsonObject("plan").getLong("tick"),
                        tick -> tick > looks + 20);
                assertThat(left(client, id)).isLessThan(before).isPositive();
                assertThat(client.holdById(id).getString("state")).isEqualTo("held");
                assertThat(bed.engine.usedTokens()).isEqualTo(512);
            }
        }
    }

    @Test
    void stepThatStays_isNoneForTheNextProcess() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            String id;
            double before;
            try (Sidecar sidecar = bed.sidecar("", seams);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                id = hold(bed, client);
                off.set(Duration.ofDays(1));
                // It is compared with each look, and written when it is off by more than a grain.
                Eventually.see(
                        "the lease is written by the new time",
                        () -> HoldFile.count(state, "demo", Instant.now().plus(off.get())),
                        count -> count == 1);
                before = left(client, id);
            }
            stamp(state.resolve("demo.holds"));
            try (Sidecar next = bed.sidecar("", seams);
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(left(client, id)).isLessThan(before).isGreaterThan(LEASE / 2.0);
            }
        }
    }

    @Test
    void clockSetForwardBetweenProcesses_endsLeasesThatAreOverByIt() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            String id;
            try (Sidecar sidecar = bed.sidecar("", seams);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                id = hold(bed, client);
            }
            off.set(Duration.ofSeconds(LEASE));
            try (Sidecar next = bed.sidecar("", seams);
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(client.http.get(SidecarClient.HOLDS + "/" + id).status())
                        .isEqualTo(404);
                assertThat(bed.engine.usedTokens()).isZero();
            }
        }
    }

    @Test
    void clockSetBackBetweenProcesses_prolongsNoLease() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            String id;
            double before;
            try (Sidecar sidecar = bed.sidecar("", seams);
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                id = hold(bed, client);
                before = left(client, id);
            }
            off.set(Duration.ofDays(-2));
            try (Sidecar next = bed.sidecar("", seams);
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(left(client, id)).isLessThanOrEqualTo(before).isGreaterThan(LEASE / 2.0);
            }
        }
    }
}
