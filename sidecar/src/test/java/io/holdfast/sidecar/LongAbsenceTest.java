package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The engine does not answer for an hour of the sidecar's clock, and then it does. */
class LongAbsenceTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;
    private static final int[] SHORT = EngineClient.prompt(2, 256);

    @TempDir
    Path state;

    private final AtomicLong ahead = new AtomicLong();

    @Test
    void engineGoneForAnHour_isSaid_losesLeasesThatEnd_andIsHeldAgain() throws IOException {
        Seams seams = Seams.none().withClock(() -> System.nanoTime() + ahead.get());
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", seams);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            bed.engine.generate(SHORT);
            String stays = client.hold(PREFIX, 7_200).json().getString("id");
            String ends = client.hold(SHORT, 1_800).json().getString("id");
            client.holdIn(stays, "held");
            client.holdIn(ends, "held");

            bed.gate.shut();
            for (int step = 0; step < 12; step++) {
                ahead.addAndGet(Duration.ofMinutes(5).toNanos());
                long looks = tick(client);
                Eventually.see("a round", () -> tick(client), tick -> tick > looks);
            }
            Eventually.see(
                    "it is said",
                    () -> client.engine().getJsonObject("readings").encode(),
                    text -> text.contains("unknown") || text.contains("why"));
            assertThat(client.holdById(ends).getString("state"))
                    .as("its lease is over, its unpin is not answered")
                    .isEqualTo("expiring");
            assertThat(client.holdById(stays).getString("state")).isEqualTo("held");
            assertThat(client.hold(EngineClient.prompt(3, 64), 60).json().getString("state"))
                    .as("nothing new is pinned")
                    .isIn("requested", "released");
            assertThat(bed.engine.usedTokens()).isEqualTo(512 + 256);

            bed.gate.open();
            client.holdIn(ends, "released");
            bed.usedBecomes(512);
            client.ready();
            assertThat(client.holdById(stays).getString("state")).isEqualTo("held");
            assertThat(client.release(stays).status()).isEqualTo(200);
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    private static long tick(SidecarClient client) {
        return client.engine().getJsonObject("plan").getLong("tick");
    }
}
