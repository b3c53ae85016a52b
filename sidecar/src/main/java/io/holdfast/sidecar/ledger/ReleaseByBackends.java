package io.holdfast.sidecar.ledger;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.Secret;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.BackendRegistry;
import io.holdfast.sidecar.engine.EmergencyRelease;
import io.holdfast.sidecar.engine.EngineCalls;
import io.holdfast.sidecar.engine.EngineFamily;
import io.holdfast.sidecar.engine.EngineFamily.BackendParts;
import io.holdfast.sidecar.engine.ServedModel;
import io.holdfast.sidecar.ledger.LedgerRelease.Left;
import io.holdfast.sidecar.ledger.LedgerState.Pin;
import io.holdfast.sidecar.ledger.StateDirectory.Told;
import io.holdfast.sidecar.store.EngineLock;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Lets go of what a ledger lists that no sidecar has: each entry by its own backend, at the engine itself. */
final class ReleaseByBackends implements AutoCloseable {
    private static final long LOOK_MILLIS = 20;
    private static final long ASK_AGAIN_MILLIS = 250;
    /** For an engine that is there, and busy. */
    private static final Duration ANSWER = Duration.ofSeconds(10);

    private static final LongSupplier CLOCK = System::nanoTime;

    private final FileLedgerStore store;
    private final EngineConfig config;
    private final Duration patience;
    private final ExecutorService executor = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("holdfast-releasing-", 0).factory());
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("holdfast-timer").daemon().factory());
    private final EngineHttp http;
    private final EngineHttp admin;

    private ReleaseByBackends(
            FileLedgerStore store,
            EngineConfig config,
            Duration patience,
            Map<String, String> headers,
            Map<String, String> adminHeaders) {
        this.store = store;
        this.config = config;
        this.patience = patience;
        http = new EngineHttp(EngineHttpSettings.of(config.url()).withHeaders(headers), executor, timer, CLOCK);
        admin = http.withHeaders(adminHeaders);
    }

    /**
     * Sends nothing yet.
     *
     * @throws IOException with one sentence, when a key is not in the environment
     */
    static ReleaseByBackends open(FileLedgerStore store, EngineConfig config, Told told) throws IOException {
        Map<String, String> headers =
                Secret.headers(System.getenv(), told.apiKeyEnv().or(config::apiKeyEnv), "apiKeyEnv");
        Optional<String> adminKey = told.adminKeyEnv().or(config::adminKeyEnv);
        return new ReleaseByBackends(
                store,
                config,
                told.patience(),
                headers,
                adminKey.isPresent() ? Secret.headers(System.getenv(), adminKey, "adminKeyEnv") : headers);
    }

    /** @param notes to be told with whatever comes of it */
    LedgerRelease release(LedgerState before, List<String> notes) throws IOException {
        Ledger ledger = new Ledger(store);
        Optional<Refusal> refusal = unwritable(ledger).or(() -> refusal(ledger));
        if (refusal.isPresent()) {
            return report(
                    before,
                    List.of(),
                    before.pins().stream()
                            .map(pin -> new Left(pin, refusal.get().why()))
                            .toList(),
                    Optional.of(refusal.get().mend()),
                    notes);
        }
        EngineIdentity whose = ledger.engine().orElseGet(() -> EngineAddress.identity(config.url(), Optional.empty()));
        EngineCalls calls = new EngineCalls(
                ledger, new EngineLock(Path.of(System.getProperty("java.io.tmpdir")), Optional::empty, CLOCK));
        backends(ledger).forEach(backend -> {
            Backend _ = calls.tracked(backend);
        });
        List<Entry> entries = ledger.outstanding();
        EmergencyRelease release =
                new EmergencyRelease(config.id(), ledger, calls, () -> Optional.of(whose), CLOCK, Runnable::run, timer);
        release.asked();
        long end = CLOCK.getAsLong() + patience.toNanos();
        // A call that is cut off may have been carried out, and asking again could take a pin of somebody else's.
        long last = end + ANSWER.toNanos();
        while (!release.settled() && CLOCK.getAsLong() - (release.underWay() ? last : end) < 0) {
            pause(LOOK_MILLIS);
        }
        return report(before, entries, ledger, release, notes);
    }

    /** Returns what came of asking. */
    private LedgerRelease report(
            LedgerState before, List<Entry> entries, Ledger ledger, EmergencyRelease release, List<String> notes) {
        List<Left> left = new ArrayList<>();
        Set<Object> listed = new HashSet<>();
        for (Entry entry : ledger.outstanding()) {
            listed.add(FileLedgerStore.about(entry));
            left.add(new Left(
                    StateDirectory.pin(entry, store), release.left(entry).orElse("it was released a moment ago")));
        }
        List<Pin> released = entries.stream()
                .filter(entry -> !listed.contains(FileLedgerStore.about(entry)))
                .map(entry -> StateDirectory.pin(entry, store))
                .toList();
        if (store.unwritable().isPresent()) {
            released.forEach(pin -> left.add(
                    new Left(pin, "the engine released it, but that could not be written to the" + " ledger")));
            released = List.of();
        }
        Optional<String> mend = left.isEmpty() ? Optional.empty() : Optional.of(mend(left));
        return report(before, released, left, mend, notes);
    }

    private LedgerRelease report(
            LedgerState before, List<Pin> released, List<Left> left, Optional<String> mend, List<String> notes) {
        return new LedgerRelease(before.id(), "holdfast ledger release itself", released, left, mend, notes);
    }

    private String mend(List<Left> left) {
        if (store.unwritable().isPresent()) {
            return "The ledger " + store.file() + " cannot be written: free space on its disk or mend its permissions."
                    + " If everything in it was released, delete it, or the next start releases it once more.";
        }
        if (left.stream()
                .noneMatch(each -> EngineConfig.EngineType.allBackends()
                        .contains(each.pin().backend()))) {
            return "This version has no such backend: have the version that made these pins release them, or delete "
                    + store.file() + " as soon as they are gone.";
        }
        if (left.stream().noneMatch(each -> each.pin().releasable())) {
            return LedgerRelease.NO_CALL;
        }
        boolean stays = left.stream()
                .allMatch(each -> each.pin().step() == Step.UNSURE || each.pin().step() == Step.KEPT);
        return stays
                ? "A sidecar closes them when the engine, at rest, shows that they are gone: start one; or flush the"
                        + " engine's cache or restart the engine, and delete " + store.file() + "."
                : "Try again, or start the sidecar, which goes on asking; where the engine refuses, name its key with"
                        + " --admin-key-env.";
    }

    /** Why nothing may be asked of the engine that answers. */
    private record Refusal(String why, String mend) {}

    private Optional<Refusal> unwritable(Ledger ledger) {
        boolean counted =
                backends(ledger).stream().anyMatch(backend -> backend.traits().unpinsOnce());
        return counted && store.unwritable().isPresent()
                ? Optional.of(new Refusal(
                        "the ledger cannot be written, so the next to read it would ask for the same unpin again and"
                                + " could take a pin of somebody else's",
                        "Free space on the disk of " + store.file() + " or mend its permissions, and try again."))
                : Optional.empty();
    }

    private Optional<Refusal> refusal(Ledger ledger) {
        ServedModel.Attempt attempt = askForTheModel();
        return switch (attempt) {
            case ServedModel.Attempt.Unanswered unanswered ->
                Optional.of(new Refusal(
                        "the engine does not answer: " + unanswered.why().replace(": is the engine running?", "."),
                        "Start the engine and try again; where it has ended for good, its pins have, too: delete "
                                + store.file() + "."));
            case ServedModel.Attempt.Refused refused ->
                Optional.of(new Refusal(
                        "the engine does not say which one it is: " + refused.why(),
                        "Give its key and try again; nothing was sent."));
            case ServedModel.Attempt.Answered answered -> {
                EngineIdentity found = EngineAddress.identity(config.url(), answered.model());
                boolean ours = ledger.engine().map(found::sameAs).orElse(true);
                yield ours ? ranks(ledger) : Optional.of(foreign(ledger, found));
            }
        };
    }

    private Refusal foreign(Ledger ledger, EngineIdentity found) {
        String whose = ledger.engine().map(EngineIdentity::shown).orElse("an address that is not written");
        return new Refusal(
                "it is a pin of the engine at " + whose + ", and this one is at " + found.shown(),
                "Bring that engine back and try again; where it was restarted or has ended, its pins have, too: delete "
                        + store.file() + ".");
    }

    /** Of several caches another one than was thought may have a pin, which only their events tell. */
    private Optional<Refusal> ranks(Ledger ledger) {
        boolean atEnds =
                backends(ledger).stream().anyMatch(backend -> backend.traits().needs(Need.INSERTION_END));
        int caches = atEnds
                ? EngineFamily.of(config.type())
                        .questions(http)
                        .caches()
                        .toCompletableFuture()
                        .join()
                : 1;
        return caches == 1
                ? Optional.empty()
                : Optional.of(new Refusal(
                        "the engine has " + caches + " caches (data-parallel ranks), and an unpin that reaches one"
                                + " without the pin can end it: only who follows their events may ask for it",
                        "Start the sidecar, which follows them and releases first; or restart the engine and delete "
                                + store.file() + "."));
    }

    private ServedModel.Attempt askForTheModel() {
        long end = CLOCK.getAsLong() + Math.min(ANSWER.toNanos(), patience.toNanos());
        ServedModel.Attempt attempt =
                ServedModel.ask(http).toCompletableFuture().join();
        while (attempt instanceof ServedModel.Attempt.Unanswered unanswered
                && !unanswered.why().startsWith("Nothing listens")
                && CLOCK.getAsLong() - end < 0) {
            pause(ASK_AGAIN_MILLIS);
            attempt = ServedModel.ask(http).toCompletableFuture().join();
        }
        return attempt;
    }

    private List<Backend> backends(Ledger ledger) {
        BackendParts parts =
                new BackendParts(config, http, admin, Optional.empty(), timer, CLOCK, new SplittableRandom());
        return ledger.outstanding().stream()
                .map(Entry::backend)
                .distinct()
                .flatMap(name -> BackendRegistry.named(name, EngineFamily.of(config.type()), parts).stream())
                .toList();
    }

    private static void pause(long millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SidecarException("It was interrupted; holdfast ledger show says what is left.", e);
        }
    }

    @Override
    public void close() {
        http.close();
        timer.shutdownNow();
        executor.shutdownNow();
    }
}
