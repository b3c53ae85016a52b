package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Released;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.sidecar.store.EngineLock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Releases without a controller: as many unpins as pins that may have arrived. */
final class EmergencyReleaseTest {
    private static final EngineIdentity ENGINE = new EngineIdentity("http://e", "http://e", Optional.of("m"));

    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final AtomicLong clock = new AtomicLong(1_000_000_000L);
    private final List<LedgerLine> lines = new ArrayList<>();
    private final Answering backend = new Answering();

    @TempDir
    private Path directory;

    @AfterEach
    void end() {
        timer.shutdownNow();
    }

    @Test
    void pinThatWasClipped_isNotUnpinnedWhereNoEventsShowWhereItWent() throws Exception {
        Ledger ledger = ledger();
        EngineCalls calls = calls(ledger);
        Backend controllers = calls.tracked(backend);
        PinCommand command = new PinCommand(1, 1, new HoldRequest(new long[] {7}, Duration.ofMinutes(1)), 1);
        ledger.append(entry(Step.PINNING));
        controllers.pin(command);
        backend.pin.complete(new Outcome(Kind.CLIPPED, "two caches pinned it"));

        EmergencyRelease release = release(ledger, calls);
        release.begin("its controller ended");
        assertThat(release.releaseAll()
                        .toCompletableFuture()
                        .get(10, TimeUnit.SECONDS)
                        .pending())
                .isOne();

        assertThat(backend.asked).isEmpty();
        assertThat(ledger.outstanding()).extracting(Entry::step).containsExactly(Step.UNSURE);
    }

    @Test
    void pinThatMayArriveAfterItsUnpinWasAsked_isUnpinnedOnceMore_howeverLateTheAnswerCame() throws Exception {
        lines.add(entry(Step.PINNING));
        Ledger ledger = ledger();
        EngineCalls calls = calls(ledger);
        calls.tracked(backend);
        EmergencyRelease release = release(ledger, calls);
        release.begin("its controller ended");

        CompletableFuture<Outcome> first = backend.nextUnpin();
        clock.addAndGet(TimeUnit.SECONDS.toNanos(61));
        first.complete(new Outcome(Kind.MISSING, "there is none"));
        CompletableFuture<Released> all = release.releaseAll().toCompletableFuture();
        backend.nextUnpin().complete(new Outcome(Kind.MISSING, "there is none"));

        assertThat(all.get(10, TimeUnit.SECONDS).released()).isOne();
        assertThat(backend.asked).isEmpty();
        assertThat(ledger.outstanding()).isEmpty();
    }

    @Test
    void unpinWithoutAClearAnswer_isNotRepeated() throws Exception {
        lines.add(entry(Step.PINNED));
        Ledger ledger = ledger();
        EngineCalls calls = calls(ledger);
        calls.tracked(backend);
        EmergencyRelease release = release(ledger, calls);
        release.begin("its controller ended");

        backend.nextUnpin().complete(new Outcome(Kind.DEFERRED, "no answer"));

        assertThat(release.releaseAll()
                        .toCompletableFuture()
                        .get(10, TimeUnit.SECONDS)
                        .pending())
                .isOne();
        assertThat(backend.asked).isEmpty();
        assertThat(ledger.outstanding()).extracting(Entry::step).containsExactly(Step.UNSURE);
    }

    private Ledger ledger() throws Exception {
        return new Ledger(new LedgerStore() {
            @Override
            public List<LedgerLine> read() {
                return List.copyOf(lines);
            }

            @Override
            public void append(LedgerLine line) {
                lines.add(line);
            }

            @Override
            public void replaceWith(List<LedgerLine> all) {
                lines.clear();
                lines.addAll(all);
            }
        });
    }

    private EngineCalls calls(Ledger ledger) {
        return new EngineCalls(ledger, new EngineLock(directory, () -> Optional.of(ENGINE), clock::get));
    }

    private EmergencyRelease release(Ledger ledger, EngineCalls calls) {
        return new EmergencyRelease("e", ledger, calls, () -> Optional.of(ENGINE), clock::get, Runnable::run, timer);
    }

    private static Entry entry(Step step) {
        return new Entry(step, 1, HoldOrigin.REQUESTED, "counted", "7", 7, 1, "");
    }

    /** A backend whose answers the test gives. */
    private static final class Answering implements Backend {
        final CompletableFuture<Outcome> pin = new CompletableFuture<>();
        final BlockingQueue<CompletableFuture<Outcome>> asked = new LinkedBlockingQueue<>();

        CompletableFuture<Outcome> nextUnpin() throws InterruptedException {
            return Optional.ofNullable(asked.poll(10, TimeUnit.SECONDS)).orElseThrow();
        }

        @Override
        public String name() {
            return "counted";
        }

        @Override
        public BackendTraits traits() {
            return BackendTraits.hard();
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return CompletableFuture.completedFuture(new Capabilities(true, "it can"));
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            return pin;
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            CompletableFuture<Outcome> answer = new CompletableFuture<>();
            asked.add(answer);
            return answer;
        }
    }
}
