package io.holdfast.core.pin;

import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Header;
import io.holdfast.core.pin.LedgerLine.Step;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A record of the pins that one engine may have for us: read at the start, appended ahead of every pin, and kept short
 * by forgetting what was released.
 *
 * <p>Any thread may use it; {@link #append} waits for the disk, the questions do not. Reading and releasing need no
 * disk that can be written: shortening the ledger is tried and may fail. The largest hold id survives every shortening,
 * so ids are never used twice.
 */
public final class Ledger {
    private static final Logger LOG = LoggerFactory.getLogger(Ledger.class);
    private static final int COMPACT_AFTER = 10_000;

    /** One hold may have an old pin on its way out while a new one is made. */
    private record Key(long holdId, String backend, String handle) {
        static Key of(Entry entry) {
            return new Key(entry.holdId(), entry.backend(), entry.handle());
        }
    }

    private final LedgerStore store;
    /** Held while writing, so that lines keep their order; never by who only asks. */
    private final Object writing = new Object();

    private final Map<Key, Entry> outstanding = new LinkedHashMap<>();
    /** Entries that are true and not on the disk, the newest of each thing, oldest first. */
    private final Map<Object, LedgerLine> unwritten = new LinkedHashMap<>();

    private Optional<EngineIdentity> engine = Optional.empty();
    private Optional<String> paused = Optional.empty();
    private long largestId;
    private int appended;

    /**
     * Reads what an earlier process left.
     *
     * @throws IOException with one sentence, when it cannot be read; an unwritable store is no reason
     */
    public Ledger(LedgerStore store) throws IOException {
        this.store = store;
        List<LedgerLine> lines = store.read();
        lines.forEach(this::note);
        // The first line of ours shortens what was found; who never writes one leaves it byte for byte.
        appended = lines.isEmpty() ? 0 : COMPACT_AFTER - 1;
    }

    /** Every entry that is not released, oldest first. */
    public synchronized List<Entry> outstanding() {
        return List.copyOf(outstanding.values());
    }

    /** Whose pins these are; absent before the first pin, and of a ledger that an older version wrote. */
    public synchronized Optional<EngineIdentity> engine() {
        return engine;
    }

    /**
     * Returns the reason why nothing is to be held, since one call released everything and nobody has lifted that yet.
     */
    public synchronized Optional<String> paused() {
        return paused;
    }

    /** Returns the largest hold id ever written; 0 before the first. */
    public synchronized long largestId() {
        return largestId;
    }

    /** Durable when it returns, and with it all that was recorded before. */
    public void append(LedgerLine line) throws IOException {
        synchronized (writing) {
            catchUp();
            store.append(line);
            appended++;
            note(line);
            shorten();
        }
    }

    /**
     * Writes what is true already, and what the next start would be glad to know. Where the disk refuses, it says so in
     * the log, keeps the line and writes it as soon as it can: with the next line, or by {@link #retry}.
     *
     * @return whether it is on the disk
     */
    public boolean record(LedgerLine line) {
        synchronized (writing) {
            Object about = about(line);
            synchronized (this) {
                note(line);
                unwritten.remove(about);
                unwritten.put(about, line);
            }
            retry();
            return !behind();
        }
    }

    /** Returns true if something recorded is not on the disk. */
    synchronized boolean behind() {
        return !unwritten.isEmpty();
    }

    /** Tries once more to write what was recorded and is not on the disk. */
    void retry() {
        synchronized (writing) {
            try {
                catchUp();
                shorten();
            } catch (IOException | RuntimeException e) {
                LOG.warn("The ledger cannot be written: {}", e.getMessage());
            }
        }
    }

    private void catchUp() throws IOException {
        for (LedgerLine line : recorded()) {
            store.append(line);
            appended++;
            synchronized (this) {
                unwritten.remove(about(line));
            }
        }
    }

    private synchronized List<LedgerLine> recorded() {
        return List.copyOf(unwritten.values());
    }

    private static Object about(LedgerLine line) {
        return line instanceof Entry entry ? Key.of(entry) : line.getClass();
    }

    private synchronized void note(LedgerLine line) {
        switch (line) {
            case Header header -> engine = Optional.of(header.engine());
            case LedgerLine.Pause pause -> paused = pause.paused() ? Optional.of(pause.reason()) : Optional.empty();
            case Entry entry -> {
                Key key = Key.of(entry);
                if (entry.step() == Step.RELEASED) {
                    outstanding.remove(key);
                } else {
                    outstanding.put(key, entry);
                }
                largestId = Math.max(largestId, entry.holdId());
            }
        }
    }

    private void shorten() {
        if (appended < COMPACT_AFTER) {
            return;
        }
        appended = 0;
        try {
            store.replaceWith(kept());
        } catch (IOException | RuntimeException e) {
            LOG.warn("The ledger could not be shortened and goes on growing: {}", e.getMessage());
        }
    }

    private synchronized List<LedgerLine> kept() {
        List<LedgerLine> kept = new ArrayList<>();
        engine.ifPresent(whose -> kept.add(new Header(Header.VERSION, whose)));
        paused.ifPresent(why -> kept.add(new LedgerLine.Pause(true, why)));
        if (largestId > 0 && outstanding.values().stream().noneMatch(entry -> entry.holdId() == largestId)) {
            kept.add(new Entry(Step.RELEASED, largestId, HoldOrigin.REQUESTED, "", "", 0, 0, ""));
        }
        kept.addAll(outstanding.values());
        return kept;
    }

    /** Returns a writer for a controller: {@code acting} waits for the disk, {@code owner} is its own thread. */
    Writer writer(Executor acting, Executor owner) {
        return new Writer(this, acting, owner);
    }

    /**
     * Writes away from the controller's thread, one line after the other, and tells that thread what came of it.
     *
     * <p>Every task has exactly one of two ends: it ran, or, because the executor takes no more, what it named for that
     * case did. A task that throws is logged and stops nobody.
     */
    static final class Writer {
        private static final long CATCH_UP_EVERY_NANOS = 5_000_000_000L;
        private static final String CLOSED = "the executor that acts for the ledger takes no more work";

        private final Ledger ledger;
        private final Executor acting;
        private final Executor owner;
        private final Queue<Task> tasks = new ConcurrentLinkedQueue<>();
        private final AtomicInteger waiting = new AtomicInteger();
        private boolean catchingUp;
        private long nextCatchUpNanos;

        private record Task(Runnable work, Runnable refused) {}

        private Writer(Ledger ledger, Executor acting, Executor owner) {
            this.ledger = ledger;
            this.acting = acting;
            this.owner = owner;
        }

        /**
         * Writes an intent, which has to be on the disk before anybody acts on it.
         *
         * @param header the line that is to be above it
         * @param then told why it is not written, or that it is
         * @param closed told why nothing is written any more, in its place
         */
        void write(Optional<Header> header, Entry intent, Consumer<Optional<String>> then, Consumer<String> closed) {
            execute(
                    () -> {
                        Optional<String> unwritten = append(header, intent);
                        owner.execute(() -> then.accept(unwritten));
                    },
                    () -> owner.execute(() -> closed.accept(CLOSED)));
        }

        private Optional<String> append(Optional<Header> header, Entry intent) {
            try {
                if (header.isPresent()) {
                    ledger.append(header.get());
                }
                ledger.append(intent);
                return Optional.empty();
            } catch (IOException | RuntimeException e) {
                return Optional.of(
                        "the ledger cannot be written, and without it a pin could outlive us: " + e.getMessage());
            }
        }

        /**
         * Writes what is only to be known at the next start; answered with whether it is on the disk, as soon as that
         * was tried.
         */
        CompletionStage<Boolean> record(LedgerLine line) {
            CompletableFuture<Boolean> written = new CompletableFuture<>();
            execute(() -> written.complete(ledger.record(line)), () -> {
                LOG.warn("A line is not written to the ledger, since {}.", CLOSED);
                written.complete(false);
            });
            return written;
        }

        /**
         * Writes what could not be written before when the disk allows, even if nothing else has to be written any
         * more.
         */
        void catchUp(long nowNanos) {
            if (catchingUp || nowNanos < nextCatchUpNanos || !ledger.behind()) {
                return;
            }
            catchingUp = true;
            nextCatchUpNanos = nowNanos + CATCH_UP_EVERY_NANOS;
            execute(
                    () -> {
                        ledger.retry();
                        owner.execute(() -> catchingUp = false);
                    },
                    () -> {});
        }

        /** Any thread may call {@code refused}. */
        private void execute(Runnable work, Runnable refused) {
            tasks.add(new Task(work, refused));
            if (waiting.getAndIncrement() == 0) {
                try {
                    acting.execute(() -> doTasks(true));
                } catch (RejectedExecutionException closed) {
                    doTasks(false);
                }
            }
        }

        private void doTasks(boolean taken) {
            do {
                Task task = tasks.remove();
                try {
                    (taken ? task.work : task.refused).run();
                } catch (RuntimeException | Error e) {
                    LOG.error("A task of the ledger failed; the next ones go on.", e);
                }
            } while (waiting.decrementAndGet() > 0);
        }
    }
}
