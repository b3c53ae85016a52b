package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.Released;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Pause;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.core.pin.PinsView;
import io.holdfast.core.pin.UnpinAnswer;
import io.holdfast.sidecar.engine.EngineCalls.Call;
import io.holdfast.sidecar.engine.EngineCalls.PinKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lets go of one engine's pins when its controller cannot: from the ledger alone, and for good. */
public final class EmergencyRelease {
    /*
     * When
     * ----
     * Leases end, and calls that release are carried out, on the controller's thread. When that throws, ends or hangs,
     * nothing would end what is pinned but a restart of the process, which only an orchestrator brings. So everything is
     * let go of here, at once, and the controller is out of office for good: its pins and unpins are not sent any more,
     * should it wake up. Where it was only held up, another controller may begin with what the ledger lists then, as after
     * a restart of the process, once this one has nothing under way and has written what it let go of.
     *
     * What is asked
     * -------------
     * Engines count pins, so every pin is to be unpinned once. The ledger lists what may be pinned; what was asked last of
     * each, and what came of it, says what is left to do:
     *
     *     nothing was asked, of an earlier process      unpin
     *     nothing was asked, written by this one        never sent: close
     *     a pin or unpin is under way                   wait for its answer
     *     a pin that was not made                       close
     *     a pin that was or may have been made          unpin
     *     an unpin that did it, or found nothing        close: the controller did not come to write it
     *     an unpin without a clear answer               unsure: a second one could take somebody else's pin
     *     an unpin that was not sent or was refused     unpin
     *
     * What a backend cannot take back is not asked of, and stays in the ledger for the next start.
     *
     * Entries that are KEPT or UNSURE are not asked of. A pin without a clear answer may arrive late: when none is found, or
     * where an unpin's answer does not tell, it is asked for once more after that time.
     *
     * Without a sidecar
     * -----------------
     * A person may have a ledger released that no sidecar has (asked). Nothing else is different: no controller is there.
     *
     * What waits for what
     * -------------------
     * Unpins wait for no disk. What was released is written when the disk takes it; until then this process remembers.
     */

    private static final Logger LOG = LoggerFactory.getLogger(EmergencyRelease.class);
    /** As long as a request can be under way after its sender gave it up. */
    private static final long ARRIVAL_MILLIS = 60_000;

    private static final long FIRST_PAUSE_MILLIS = 500;
    private static final long LONGEST_PAUSE_MILLIS = 5_000;
    private static final long REFUSED_PAUSE_MILLIS = 60_000;

    public static final String UNRELEASABLE =
            "it cannot be released: it ends when the engine evicts it or empties its cache";

    private enum State {
        NEW,
        UNDER_WAY,
        /** To be asked (again). */
        WAITING,
        REFUSED,
        UNSURE,
        KEPT,
        /** Nobody here can ask for it. */
        ABANDONED,
        GONE
    }

    /** One pin on its way out. */
    private static final class Work {
        final Map<Long, Entry> entries = new LinkedHashMap<>();
        State state = State.NEW;
        long dueNanos;
        long mayArriveUntilNanos = Long.MIN_VALUE;
        long askedNanos;
        int attempts;
        String why = "";
        boolean unreleasable;

        boolean open() {
            return state == State.NEW || state == State.UNDER_WAY;
        }
    }

    private final String engineId;
    private final Ledger ledger;
    private final EngineCalls calls;
    private final Supplier<Optional<EngineIdentity>> engine;
    private final LongSupplier clock;
    private final Executor writing;
    private final ScheduledExecutorService timer;

    private final CompletableFuture<String> begun = new CompletableFuture<>();
    private final Map<PinKey, Work> works = new LinkedHashMap<>();
    private final List<CompletableFuture<Released>> waiting = new ArrayList<>();
    private Optional<Future<?>> next = Optional.empty();
    private final AtomicInteger writes = new AtomicInteger();
    private boolean ended;

    /**
     * @param engine which engine answers, as soon as that is known
     * @param writing where the ledger is written; its tasks may hang
     * @param timer begins and repeats; shared with nothing that could keep it busy
     */
    public EmergencyRelease(
            String engineId,
            Ledger ledger,
            EngineCalls calls,
            Supplier<Optional<EngineIdentity>> engine,
            LongSupplier clock,
            Executor writing,
            ScheduledExecutorService timer) {
        this.engineId = engineId;
        this.ledger = ledger;
        this.calls = calls;
        this.engine = engine;
        this.clock = clock;
        this.writing = writing;
        this.timer = timer;
    }

    /** Takes over from the controller, once and for good; any thread. */
    void begin(String why) {
        if (taken(why)) {
            LOG.error("Engine {}: {}. Releasing every pin in the ledger without the controller.", engineId, why);
        }
    }

    /** Begins because a person asked for it, where there is no controller. */
    public void asked() {
        boolean _ = taken("a person requested it");
    }

    private boolean taken(String why) {
        calls.take();
        boolean first = begun.complete(why);
        if (first) {
            later(0);
        }
        return first;
    }

    /** Whether nothing more comes of waiting a while: all is gone, or stays. */
    public synchronized boolean settled() {
        return !works.isEmpty()
                && works.values().stream().noneMatch(work -> work.open() || work.state == State.WAITING);
    }

    /** Why nobody else may begin with this ledger yet: what it lists is not yet what the engine has. Absent when one may. */
    Optional<String> unfinished() {
        if (underWay()) {
            return Optional.of("a call about its pins is not answered yet");
        }
        return writes.get() > 0
                        || ledger.outstanding().stream()
                                .anyMatch(entry -> left(entry).isEmpty())
                ? Optional.of("some releases are not written to its ledger yet")
                : Optional.empty();
    }

    /** Asks for nothing more; what is left is in the ledger. */
    synchronized void end() {
        ended = true;
        next.ifPresent(round -> round.cancel(false));
    }

    /** Whether a call has not been answered. */
    public synchronized boolean underWay() {
        return works.values().stream().anyMatch(work -> work.state == State.UNDER_WAY);
    }

    /** Of this entry, why it is not let go of; absent when it is. */
    public synchronized Optional<String> left(Entry entry) {
        Work work = works.getOrDefault(PinKey.of(entry), new Work());
        return switch (work.state) {
            case GONE -> Optional.empty();
            case NEW -> Optional.of("the engine was not asked");
            case UNDER_WAY -> Optional.of("the engine has not answered its unpin yet");
            case WAITING, REFUSED, UNSURE, KEPT, ABANDONED -> Optional.of(work.why);
        };
    }

    /** Why it took over; absent while the controller is in office. */
    Optional<String> reason() {
        return begun.isDone() ? Optional.of(begun.join()) : Optional.empty();
    }

    /** Completed when it takes over. */
    CompletionStage<String> begun() {
        return begun;
    }

    /** What was let go of since it took over, as soon as every pin was asked of once; asks again for what waits. */
    CompletionStage<Released> releaseAll() {
        CompletableFuture<Released> answer = new CompletableFuture<>();
        synchronized (this) {
            works.values().stream()
                    .filter(work -> work.state == State.WAITING || work.state == State.REFUSED)
                    .filter(work -> work.mayArriveUntilNanos <= clock.getAsLong())
                    .forEach(work -> work.state = State.NEW);
            waiting.add(answer);
        }
        later(0);
        return answer;
    }

    /** Has the ledger say that nothing is to be held, also by the next process; answered with whether it does. */
    CompletionStage<Boolean> pause(String reason) {
        CompletableFuture<Boolean> written = new CompletableFuture<>();
        try {
            writing.execute(() -> written.complete(ledger.record(new Pause(true, reason))));
        } catch (RejectedExecutionException closing) {
            written.complete(false);
        }
        return written;
    }

    /** Of this hold: why it may still be pinned; empty when it is not. */
    synchronized Optional<String> pending(long holdId) {
        if (works.isEmpty()) {
            return ledger.outstanding().stream().anyMatch(entry -> entry.holdId() == holdId)
                    ? Optional.of("it is being unpinned")
                    : Optional.empty();
        }
        return works.values().stream()
                .filter(work -> work.state != State.GONE && work.entries.containsKey(holdId))
                .map(work -> work.why.isEmpty() ? "it is being unpinned" : work.why)
                .findFirst();
    }

    /** What may still be pinned. */
    synchronized PinsView pins() {
        Map<State, Integer> counts = new HashMap<>();
        works.values().forEach(work -> counts.merge(work.state, 1, Integer::sum));
        int asked = counts.getOrDefault(State.NEW, 0)
                + counts.getOrDefault(State.UNDER_WAY, 0)
                + counts.getOrDefault(State.WAITING, 0);
        return new PinsView(
                0,
                asked,
                counts.getOrDefault(State.UNSURE, 0),
                counts.getOrDefault(State.KEPT, 0) - (int) unreleasable().count(),
                counts.getOrDefault(State.REFUSED, 0),
                counts.getOrDefault(State.ABANDONED, 0),
                // Those that share blocks are counted in each.
                unreleasable()
                        .flatMap(work -> work.entries.values().stream().limit(1))
                        .mapToLong(Entry::blocks)
                        .sum(),
                0,
                Optional.empty());
    }

    private Stream<Work> unreleasable() {
        return works.values().stream().filter(work -> work.unreleasable);
    }

    private synchronized void later(long millis) {
        if (ended) {
            return;
        }
        next.ifPresent(earlier -> earlier.cancel(false));
        try {
            next = Optional.of(timer.schedule(this::round, millis, TimeUnit.MILLISECONDS));
        } catch (RejectedExecutionException closing) {
            LOG.debug("Nothing is released any more: the sidecar ends.");
        }
    }

    private void round() {
        try {
            lookAtAll();
        } catch (RuntimeException | Error e) {
            LOG.error("Engine {}: a round of letting go failed and is repeated.", engineId, e);
        }
        synchronized (this) {
            long wait = works.values().stream()
                    .filter(work ->
                            work.state == State.NEW || work.state == State.WAITING || work.state == State.REFUSED)
                    .mapToLong(work -> (work.dueNanos - clock.getAsLong()) / 1_000_000)
                    .min()
                    .orElse(LONGEST_PAUSE_MILLIS);
            later(Math.clamp(wait, FIRST_PAUSE_MILLIS, LONGEST_PAUSE_MILLIS));
        }
    }

    private synchronized void lookAtAll() {
        if (ended) {
            return;
        }
        for (Entry entry : ledger.outstanding()) {
            Work work = works.computeIfAbsent(PinKey.of(entry), key -> new Work());
            boolean late = work.entries.put(entry.holdId(), entry) == null && work.state == State.GONE;
            if (late) {
                // Its line was held up by the disk; its pin was not sent any more.
                record(work, Step.RELEASED);
            }
        }
        Optional<String> foreign = notOurs();
        works.forEach((key, work) -> {
            boolean due = work.state == State.NEW
                    || ((work.state == State.WAITING || work.state == State.REFUSED)
                            && work.dueNanos - clock.getAsLong() <= 0);
            if (due && foreign.isPresent()) {
                put(work, State.WAITING, FIRST_PAUSE_MILLIS, foreign.get());
            } else if (due) {
                decide(key, work);
            }
        });
        answer();
    }

    /** Why nothing may be asked of the engine that answers; absent when its pins are those in the ledger. */
    private Optional<String> notOurs() {
        Optional<EngineIdentity> known = engine.get();
        if (known.isEmpty()) {
            return Optional.of("which engine this is is not known yet: it has not answered");
        }
        return ledger.engine().map(known.get()::sameAs).orElse(true)
                ? Optional.empty()
                : Optional.of("the ledger belongs to another engine");
    }

    private void decide(PinKey key, Work work) {
        Optional<Backend> backend = calls.backend(key.backend());
        Optional<Call> last = calls.last(key);
        if (backend.isPresent() && !backend.get().traits().releasable()) {
            work.unreleasable = true;
            put(work, State.KEPT, 0, UNRELEASABLE);
        } else if (has(work, Step.KEPT)) {
            put(work, State.KEPT, 0, "an unpin could hurt the engine");
        } else if (backend.isEmpty()) {
            put(work, State.ABANDONED, 0, "no backend " + key.backend() + " is in use here");
        } else if (work.attempts > 0) {
            unpin(key, work, backend.get());
        } else if (last.isEmpty()) {
            if (!calls.inherited(key)) {
                gone(work);
            } else if (has(work, Step.UNSURE)) {
                put(work, State.UNSURE, 0, "its last unpin had no clear answer");
            } else {
                if (has(work, Step.PINNING)) {
                    work.mayArriveUntilNanos = clock.getAsLong() + ARRIVAL_MILLIS * 1_000_000;
                }
                unpin(key, work, backend.get());
            }
        } else if (!last.get().outcome().isDone()) {
            work.state = State.UNDER_WAY;
            CompletionStage<Outcome> _ = last.get().outcome().whenComplete((outcome, failure) -> wakeUp(work));
        } else {
            decide(key, work, backend.get(), last.get());
        }
    }

    private void wakeUp(Work work) {
        synchronized (this) {
            work.state = State.NEW;
        }
        later(0);
    }

    private void decide(PinKey key, Work work, Backend backend, Call last) {
        Outcome.Kind came = kind(last.outcome());
        if (last.kind() == Call.Kind.PIN) {
            switch (came) {
                case REJECTED, MISSING, NOT_SENT -> gone(work);
                case DEFERRED -> {
                    work.mayArriveUntilNanos = clock.getAsLong() + ARRIVAL_MILLIS * 1_000_000;
                    unpin(key, work, backend);
                }
                case ACCEPTED -> unpin(key, work, backend);
                // Somewhere it may have gone astray, and then an unpin could hurt the engine.
                case CLIPPED -> unsure(work);
            }
            return;
        }
        boolean mightArrive = came == Outcome.Kind.MISSING && has(work, Step.PINNING);
        // The controller may have asked for several at once, and which of them were found is not known.
        Outcome.Kind answer = came == Outcome.Kind.CLIPPED ? Outcome.Kind.DEFERRED : came;
        switch (UnpinAnswer.to(answer, backend.traits(), mightArrive)) {
            case GONE -> gone(work);
            case ONCE_IT_HAS_ARRIVED -> {
                work.mayArriveUntilNanos = clock.getAsLong() + ARRIVAL_MILLIS * 1_000_000;
                work.attempts = 1;
                waitForArrival(work);
            }
            case AGAIN, REFUSED -> unpin(key, work, backend);
            case UNSURE -> unsure(work);
        }
    }

    private static Outcome.Kind kind(CompletableFuture<Outcome> outcome) {
        return outcome.isCompletedExceptionally()
                ? Outcome.Kind.DEFERRED
                : outcome.join().kind();
    }

    private void unpin(PinKey key, Work work, Backend backend) {
        work.state = State.UNDER_WAY;
        work.askedNanos = clock.getAsLong();
        work.attempts++;
        calls.unpinInstead(backend, key.handle()).whenComplete((outcome, failure) -> {
            synchronized (this) {
                answered(
                        work,
                        backend.traits(),
                        failure == null
                                ? outcome
                                : new Outcome(Outcome.Kind.DEFERRED, "The backend failed: " + failure));
                answer();
            }
        });
    }

    private void answered(Work work, BackendTraits traits, Outcome outcome) {
        switch (UnpinAnswer.to(outcome.kind(), traits, work.askedNanos < work.mayArriveUntilNanos)) {
            case GONE -> gone(work);
            case ONCE_IT_HAS_ARRIVED -> waitForArrival(work);
            case AGAIN -> put(work, State.WAITING, pause(work), outcome.reason());
            case REFUSED -> put(work, State.REFUSED, REFUSED_PAUSE_MILLIS, outcome.reason());
            case UNSURE -> unsure(work);
        }
    }

    private void waitForArrival(Work work) {
        long left = Math.max(0, work.mayArriveUntilNanos - clock.getAsLong());
        put(work, State.WAITING, left / 1_000_000 + 1, "its pin may still arrive");
    }

    private static long pause(Work work) {
        return Math.min(LONGEST_PAUSE_MILLIS, FIRST_PAUSE_MILLIS << Math.min(work.attempts, 6));
    }

    private void put(Work work, State state, long millis, String why) {
        work.state = state;
        work.dueNanos = clock.getAsLong() + millis * 1_000_000;
        work.why = why;
    }

    private void unsure(Work work) {
        put(work, State.UNSURE, 0, "its unpin had no clear answer, and a second one could take a pin that is not ours");
        record(work, Step.UNSURE);
    }

    private void gone(Work work) {
        put(work, State.GONE, 0, "");
        record(work, Step.RELEASED);
    }

    private void record(Work work, Step step) {
        List<Entry> lines = work.entries.values().stream()
                .map(entry -> new Entry(
                        step,
                        entry.holdId(),
                        entry.origin(),
                        entry.backend(),
                        entry.handle(),
                        entry.lastBlock(),
                        entry.blocks(),
                        work.why))
                .toList();
        try {
            writes.incrementAndGet();
            writing.execute(() -> {
                try {
                    lines.forEach(ledger::record);
                } finally {
                    writes.decrementAndGet();
                }
            });
        } catch (RejectedExecutionException closing) {
            writes.decrementAndGet();
            LOG.warn("Engine {}: the release of a pin is not written to the ledger, since the sidecar ends.", engineId);
        }
    }

    private static boolean has(Work work, Step step) {
        return work.entries.values().stream().anyMatch(entry -> entry.step() == step);
    }

    /** Tells who waits, once nothing is under way. */
    private void answer() {
        if (works.values().stream().noneMatch(Work::open)) {
            int released = 0;
            int pending = 0;
            for (Work work : works.values()) {
                if (work.state == State.GONE) {
                    released += work.entries.size();
                } else {
                    pending += work.entries.size();
                }
            }
            Released soFar = new Released(released, pending);
            waiting.forEach(answer -> {
                boolean _ = answer.complete(soFar);
            });
            waiting.clear();
        }
    }
}
