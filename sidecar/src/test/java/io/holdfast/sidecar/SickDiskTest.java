package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A disk that is full, read-only or hangs stops new pins and no release. */
class SickDiskTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;

    @TempDir
    Path state;

    @Test
    void diskThatHangs_doesNotKeepAPinFromBeingReleased() throws IOException {
        WatchedDisk disk = new WatchedDisk();
        CountDownLatch mended = new CountDownLatch(1);
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", Seams.none().withFiles(disk));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            client.held(PREFIX);
            disk.hang(mended);
            try {
                Http.Answer answer = client.http.delete(SidecarClient.HOLDS);

                assertThat(answer.status()).as(answer.text()).isEqualTo(200);
                assertThat(answer.json().getInteger("released")).isEqualTo(1);
                assertThat(answer.json().getString("note")).contains("a restart of the sidecar would end it");
                assertThat(bed.engine.usedTokens()).isZero();
            } finally {
                mended.countDown();
            }
        }
    }

    @Test
    void pauseThatIsAnswered_isInTheLedger() throws IOException {
        WatchedDisk disk = new WatchedDisk();
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", Seams.none().withFiles(disk));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            // Long enough that an answer that does not wait comes first, and short of what an answer waits.
            disk.trouble(call -> {
                if (call.equals("force demo.ledger")) {
                    LockSupport.parkNanos(300_000_000);
                }
            });

            Http.Answer answer = client.http.delete(SidecarClient.HOLDS);

            assertThat(Files.readString(bed.ledgerFile())).contains("\"paused\":true");
            assertThat(disk.calls()).last().isEqualTo("force demo.ledger");
            assertThat(answer.json().containsKey("note")).as(answer.text()).isFalse();
        }
    }

    @Test
    void diskThatFillsUp_isSaidUntilItTakesLines() throws IOException {
        WatchedDisk disk = new WatchedDisk();
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", Seams.none().withFiles(disk));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            disk.trouble(WatchedDisk.failing(call -> call.startsWith("write ")));

            assertThat(client.http.delete(SidecarClient.HOLDS + "/" + id).status())
                    .isEqualTo(200);

            Eventually.see(
                    "readyz says that nothing can be written",
                    () -> client.http.get("/readyz").text(),
                    text -> text.contains("takes no line (No space left on device), so that nothing is pinned"));
            disk.trouble(call -> {});
            client.ready();
        }
    }

    @Test
    void ledgerThatIsDeleted_takesNoPinMore() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            Files.delete(bed.ledgerFile());

            Eventually.see(
                    "a hold that cannot be written",
                    () -> client.hold(PREFIX, 600).text(),
                    text -> text.contains("was deleted while it was in use"));
            assertThat(bed.engine.usedTokens()).isZero();
            assertThat(client.http.get("/readyz").status()).isEqualTo(503);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void diskThatTakesNothing_atTheStart_releasesWhatItLists(boolean readOnly) throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            WatchedDisk disk = readOnly ? WatchedDisk.readOnly() : WatchedDisk.full();

            try (Sidecar sidecar = bed.sidecar("", Seams.none().withFiles(disk));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                bed.usedBecomes(0);
                client.hear(bed.engine);
                bed.engine.generate(EngineClient.prompt(2, 64));
                Eventually.see("a prefix is known", client::engine, seen -> seen.getInteger("blocks") >= 4);
                JsonObject hold = Eventually.see(
                        "a hold that cannot be written",
                        () -> client.hold(EngineClient.prompt(2, 64), 600).json(),
                        seen -> seen.encode().contains("ledger cannot be written"));
                assertThat(hold.getString("state")).isNotEqualTo("held");
                assertThat(bed.engine.usedTokens()).isZero();
                if (readOnly) {
                    assertThat(client.http.get("/readyz").text()).contains("can be read but not written");
                }

                disk.trouble(call -> {});
                client.ready();
                client.held(EngineClient.prompt(2, 64));
                assertThat(bed.engine.usedTokens()).isEqualTo(64);
            }
            try (Sidecar next = bed.sidecar("");
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(bed.engine.usedTokens()).isZero();
            }
            assertThat(bed.outstanding()).isEmpty();
        }
    }
}
