package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.ClaimView;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.sidecar.Unstarted;
import io.holdfast.sidecar.config.PrefixSource;
import io.holdfast.sidecar.store.HoldFile;
import io.holdfast.sidecar.store.KeptClaim;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is written of a hold is what was known of it last, in whatever order that comes to be written. */
class LastingHoldsOrderTest {
    private static final Instant NOW = Instant.ofEpochSecond(1_000_000);
    private static final Lease LEASE = Lease.absolute(Duration.ofMinutes(10));
    private static final PrefixSource ASKED = new PrefixSource.Hashes(new long[] {7});

    @TempDir
    Path directory;

    private final List<Runnable> waiting = new ArrayList<>();
    private Optional<Unstarted> engines = Optional.empty();
    private Optional<HoldFile> file = Optional.empty();
    private Optional<LastingHolds> made = Optional.empty();

    @BeforeEach
    void open() throws IOException {
        Unstarted unstarted = new Unstarted(directory.resolve("state"));
        engines = Optional.of(unstarted);
        HoldFile kept = HoldFile.open(directory, "demo", LedgerFiles.SYSTEM, NOW, Duration.ZERO);
        file = Optional.of(kept);
        EngineLink link = unstarted.engine("demo");
        made = Optional.of(new LastingHolds(
                link.config(), kept, link.controller(), link.prefixes(), Optional::empty, () -> NOW, waiting::add));
    }

    @AfterEach
    void close() throws IOException {
        file.orElseThrow().close();
        engines.orElseThrow().close();
    }

    private LastingHolds lasting() {
        return made.orElseThrow();
    }

    private static HoldView seen(int timesAsked, long order, String... requesters) {
        return new HoldView(
                3,
                HoldOrigin.REQUESTED,
                HoldState.HELD,
                1,
                1,
                16,
                0,
                0,
                timesAsked,
                1,
                LEASE.length(),
                Stream.of(requesters)
                        .map(requester -> new ClaimView(requester, LEASE, 1, LEASE.length(), LEASE.atMost()))
                        .toList(),
                Optional.empty(),
                "held",
                order);
    }

    private void kept(int timesAsked, long order, String... requesters) {
        CompletionStage<Boolean> _ =
                lasting().keep(seen(timesAsked, order, requesters), ASKED, new HoldRequest(new long[] {7}, LEASE));
    }

    private void changed(long order, String... requesters) {
        CompletionStage<Boolean> _ = lasting().changed(seen(2, order, requesters));
    }

    private void write() {
        List<Runnable> all = List.copyOf(waiting);
        waiting.clear();
        all.forEach(Runnable::run);
    }

    private void writeTheLastFirst() {
        List<Runnable> all = List.copyOf(waiting).reversed();
        waiting.clear();
        all.forEach(Runnable::run);
    }

    private List<String> requesters() {
        return file.orElseThrow().kept().stream()
                .flatMap(hold -> hold.claims().stream())
                .map(KeptClaim::requester)
                .toList();
    }

    @Test
    void renewalThatIsWrittenLate_doesNotBringBackWhoLeft() {
        kept(1, 1, "a", "b");
        write();
        kept(2, 2, "a", "b");
        changed(3, "b");

        writeTheLastFirst();

        assertThat(requesters()).containsExactly("b");
    }

    @Test
    void renewalThatIsWrittenLate_doesNotBringBackWhatWasReleased() {
        kept(1, 1, "a");
        write();
        kept(2, 2, "a");
        CompletionStage<Boolean> _ = lasting().released(3);

        writeTheLastFirst();

        assertThat(file.orElseThrow().kept()).isEmpty();
    }

    @Test
    void holdThatIsReleasedBeforeItIsWritten_isNotKept() {
        kept(1, 1, "a");
        CompletionStage<Boolean> _ = lasting().released(3);

        write();

        assertThat(file.orElseThrow().kept()).isEmpty();
    }

    @Test
    void changeThatComesBeforeTheHoldIsWritten_isWrittenWithIt() {
        kept(1, 1, "a", "b");
        changed(2, "b");

        writeTheLastFirst();

        assertThat(requesters()).containsExactly("b");
    }

    @Test
    void releaseWhileTheDiskHangs_waitsForNothing() {
        kept(1, 1, "a");
        write();
        synchronized (lasting()) {
            CompletableFuture<Void> released = CompletableFuture.runAsync(() -> {
                CompletionStage<Boolean> _ = lasting().released(3);
                lasting().allReleased();
            });
            assertThat(released).succeedsWithin(Duration.ofSeconds(30));
        }

        write();

        assertThat(file.orElseThrow().kept()).isEmpty();
    }

    @Test
    void twoWhoJoin_areBothKept_inEitherOrder() {
        kept(1, 1, "a");
        kept(2, 2, "a", "b");
        kept(3, 3, "a", "b", "c");

        writeTheLastFirst();

        assertThat(requesters()).containsExactly("a", "b", "c");
    }
}
