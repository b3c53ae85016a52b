package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.sidecar.store.EngineLock;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * All pins and unpins that one engine's controller asks for, until they are taken out of its hands.
 *
 * <p>What was asked last of each pin is remembered, with what came of it: a controller that fails may have heard of an
 * answer or not, and whoever releases in its place must unpin what is pinned once, and never what is not.
 */
public final class EngineCalls {
    private static final int PRUNE_ABOVE = 4096;
    private static final String TAKEN =
            "It was not sent: after a fault of the sidecar its controller pins and unpins nothing any more.";

    /** A pin, as its backend calls it. */
    record PinKey(String backend, String handle) {
        static PinKey of(Entry entry) {
            return new PinKey(entry.backend(), entry.handle());
        }
    }

    /** What was asked last of a pin. */
    record Call(Kind kind, CompletableFuture<Outcome> outcome) {
        enum Kind {
            PIN,
            UNPIN
        }
    }

    private final Ledger ledger;
    private final EngineLock lock;
    private final CallWatch watch;
    private final Map<String, Backend> backends = new HashMap<>();
    private final Map<PinKey, Call> last = new HashMap<>();
    /** What an earlier process may have pinned, and nothing was asked of yet. */
    private final Set<PinKey> inherited;

    private boolean taken;

    /** Creates calls that nobody watches. */
    public EngineCalls(Ledger ledger, EngineLock lock) {
        this(ledger, lock, CallWatch.NOBODY);
    }

    /**
     * Creates the calls to one engine.
     *
     * @param lock asked before each pin whether this sidecar may
     * @param watch told of every call that leaves
     */
    EngineCalls(Ledger ledger, EngineLock lock, CallWatch watch) {
        this.lock = lock;
        this.watch = watch;
        this.ledger = ledger;
        this.inherited = new HashSet<>(open());
    }

    /** The backend for the controller's use: its calls are remembered here. */
    public synchronized Backend tracked(Backend backend) {
        backends.put(backend.name(), backend);
        watch.expect(backend);
        return new Tracked(backend);
    }

    /** From now on the controller's calls are answered with {@link Outcome.Kind#NOT_SENT}; calls under way go on. */
    synchronized void take() {
        taken = true;
    }

    /** The backend of this name, for whoever took the controller's place; absent where none was made. */
    synchronized Optional<Backend> backend(String name) {
        return Optional.ofNullable(backends.get(name));
    }

    synchronized Optional<Call> last(PinKey key) {
        return Optional.ofNullable(last.get(key));
    }

    /** Returns why the engine did not take back what the ledger still lists; absent where no unpin of that has failed. */
    Optional<String> unpinFailure() {
        Set<PinKey> open = open();
        synchronized (this) {
            return last.entrySet().stream()
                    .filter(each -> open.contains(each.getKey()))
                    .map(Map.Entry::getValue)
                    .filter(call -> call.kind() == Call.Kind.UNPIN)
                    .map(Call::outcome)
                    .filter(outcome -> outcome.isDone() && !outcome.isCompletedExceptionally())
                    .map(CompletableFuture::join)
                    .filter(outcome ->
                            outcome.kind() != Outcome.Kind.ACCEPTED && outcome.kind() != Outcome.Kind.MISSING)
                    .map(Outcome::reason)
                    .findFirst();
        }
    }

    private Set<PinKey> open() {
        return ledger.outstanding().stream().map(PinKey::of).collect(Collectors.toSet());
    }

    /** Of a pin that nothing was asked of: whether an earlier process wrote of it; else it was never sent. */
    synchronized boolean inherited(PinKey key) {
        return inherited.contains(key);
    }

    private synchronized boolean isTaken() {
        return taken;
    }

    private synchronized CompletionStage<Outcome> pin(Backend backend, PinCommand command) {
        if (taken) {
            return notSent(TAKEN);
        }
        Optional<String> refused = backend.traits().needsEngineLock() ? lock.refusal() : Optional.empty();
        if (refused.isPresent()) {
            return notSent(refused.get());
        }
        CompletableFuture<Outcome> outcome = made(() -> backend.pin(command), watch.pin(backend, command));
        prune();
        remember(backend, backend.handle(command), Call.Kind.PIN, outcome);
        return outcome;
    }

    private synchronized CompletionStage<Outcome> unpin(Backend backend, List<String> handles) {
        if (taken) {
            return notSent(TAKEN);
        }
        CompletableFuture<Outcome> outcome = made(() -> backend.unpin(handles), watch.unpin(backend, handles));
        handles.forEach(handle -> remember(backend, handle, Call.Kind.UNPIN, outcome));
        return outcome;
    }

    /** Unpins for whoever took the controller's place, past what is remembered of the controller. */
    CompletionStage<Outcome> unpinInstead(Backend backend, String handle) {
        return made(() -> backend.unpin(List.of(handle)), watch.unpin(backend, List.of(handle)));
    }

    /** Makes a call; its outcome is known to others once it was told here. */
    private static CompletableFuture<Outcome> made(Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> told) {
        return call.get()
                .thenApply(outcome -> {
                    told.accept(outcome);
                    return outcome;
                })
                .toCompletableFuture();
    }

    private void remember(Backend backend, String handle, Call.Kind kind, CompletableFuture<Outcome> outcome) {
        PinKey key = new PinKey(backend.name(), handle);
        last.put(key, new Call(kind, outcome));
        inherited.remove(key);
    }

    private static CompletionStage<Outcome> notSent(String why) {
        return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.NOT_SENT, why));
    }

    /** What the ledger has closed needs no memory; done now and then, since it looks at all of it. */
    private void prune() {
        if (last.size() > PRUNE_ABOVE) {
            Set<PinKey> open = open();
            last.entrySet().removeIf(each -> each.getValue().outcome().isDone() && !open.contains(each.getKey()));
        }
    }

    /** Backend for the controller: its calls are remembered, and none leaves after they were taken. */
    private final class Tracked implements Backend {
        private final Backend backend;

        Tracked(Backend backend) {
            this.backend = backend;
        }

        @Override
        public String name() {
            return backend.name();
        }

        @Override
        public BackendTraits traits() {
            return backend.traits();
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return backend.probe();
        }

        @Override
        public String handle(PinCommand command) {
            return backend.handle(command);
        }

        @Override
        public Optional<String> hindrance() {
            Optional<String> own = backend.hindrance();
            return own.isPresent() || !backend.traits().needsEngineLock() ? own : lock.refusedLately();
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            return EngineCalls.this.pin(backend, command);
        }

        /** What is renewed was pinned before: it is no further pin, and nothing of it is left to undo. */
        @Override
        public CompletionStage<Outcome> renew(PinCommand command) {
            return isTaken() ? notSent(TAKEN) : made(() -> backend.renew(command), watch.renew());
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            return EngineCalls.this.unpin(backend, handles);
        }
    }
}
