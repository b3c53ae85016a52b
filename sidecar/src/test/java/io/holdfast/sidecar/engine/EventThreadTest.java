package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Controller;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.events.Subscription;
import io.holdfast.sidecar.EventFeed;
import io.holdfast.sidecar.Eventually;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread whose events gather for a day unless somebody wants them. */
@Timeout(60)
final class EventThreadTest {
    private static final int DAY_MILLIS = (int) TimeUnit.DAYS.toMillis(1);

    @Test
    void upToDate_appliesWhatGathers() {
        try (EventFeed feed = new EventFeed();
                EventThread thread = new EventThread(System::nanoTime, DAY_MILLIS)) {
            Cache cache = new BlockTree(BlockTree.Naming.ENGINE_HASH).addCache(CacheTraits.sglang());
            CompletableFuture<Subscription> made = new CompletableFuture<>();
            thread.execute(loop -> made.complete(loop.subscribe(feed.endpoint(), "", cache)));
            thread.start();
            Subscription events = made.join();
            // A publisher says nothing to a subscriber that it has not heard of yet.
            Eventually.see(
                    "the first batch",
                    () -> {
                        feed.cleared();
                        return events.received();
                    },
                    received -> received > 0);
            long before = events.received();
            feed.cleared();
            feed.cleared();
            Eventually.see(
                    "what came after it",
                    () -> {
                        thread.upToDate().toCompletableFuture().join();
                        return events.received();
                    },
                    received -> received >= before + 2);
            assertThat(thread.fault()).isEmpty();
        }
    }

    @Test
    void whoWaitedInVain_keepsTheThreadFromNoRest() {
        AtomicLong reads = new AtomicLong();
        CompletableFuture<Void> busy = new CompletableFuture<>();
        try (EventThread thread = new EventThread(
                () -> {
                    reads.incrementAndGet();
                    return System.nanoTime();
                },
                DAY_MILLIS)) {
            thread.execute(loop -> busy.join());
            thread.start();
            Eventually.see("somebody who waits in vain", () -> waitsFor(thread.upToDate()), Boolean::booleanValue);
            busy.complete(null);
            AtomicLong before = new AtomicLong(-1);
            Eventually.see("a thread that rests", reads::get, now -> before.getAndSet(now) == now);
        }
    }

    @Test
    void nothingToDecideAnywhere_eventsGatherFourTimesAsLong() throws IOException {
        try (EventThread thread = new EventThread(System::nanoTime, 100)) {
            thread.drive(controller(AutomaticHolds.OFF), fault -> {});
            assertThat(thread.roundMillis()).isEqualTo(400);
            thread.drive(controller(AutomaticHolds.ON), fault -> {});
            assertThat(thread.roundMillis()).isEqualTo(100);
        }
    }

    private static Controller controller(AutomaticHolds automatic) throws IOException {
        return new Controller(
                new ControllerSettings(
                        "main",
                        BudgetSettings.defaults(),
                        automatic,
                        Duration.ofMinutes(1),
                        ControllerSettings.LEAST_SAVING,
                        Duration.ofMillis(100),
                        ControllerSettings.OWN_REQUESTS_AN_HOUR,
                        Optional.empty()),
                new DryRunBackend(),
                new NoLedger(),
                Runnable::run,
                new SplittableRandom(1));
    }

    /** Keeps nothing, since a dry run pins nothing. */
    static final class NoLedger implements LedgerStore {
        @Override
        public List<LedgerLine> read() {
            return List.of();
        }

        @Override
        public void append(LedgerLine line) {}

        @Override
        public void replaceWith(List<LedgerLine> lines) {}
    }

    private static boolean waitsFor(CompletionStage<Void> asked) {
        boolean waits = !asked.toCompletableFuture().isDone();
        asked.toCompletableFuture().join();
        return waits;
    }
}
