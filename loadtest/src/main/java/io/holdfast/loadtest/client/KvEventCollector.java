package io.holdfast.loadtest.client;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.CacheEvents;
import io.holdfast.loadtest.run.Listening;
import io.holdfast.loadtest.run.RunClock;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadFactory;

/*
 * What counts, and from when
 * ==========================
 *
 * Events come in the order in which the engine said them. So a clear that the engine announces needs no waiting: what
 * it stored before is told before, and is dropped when the announcement arrives, be that after `clear` has returned. An
 * engine that announces none is cleared where `clear` is called, and what was on its way then is taken for new.
 *
 * A batch that is missing makes the set a guess. So does the first batch of an engine that had a life before we
 * listened; both are told by `problem` until the next clear.
 */

/**
 * Listens to the events of an engine's caches on a thread of its own, and knows which blocks they have on the GPU since
 * the last clear, and how many were stored and removed.
 */
public final class KvEventCollector implements Listening {
    private static final int ROUND_MILLIS = 100;
    private static final long LOOK_NANOS = 5_000_000;
    /** Time after the last event from which no event is on its way any more. */
    private static final long QUIET_NANOS = 100_000_000;

    private final RunClock clock;
    private final KvEventLoop loop;
    private final List<Subscription> subscriptions;
    private final Thread thread;
    private final Set<Long> onGpu = new LinkedHashSet<>();
    private CacheEvents counted = CacheEvents.NONE;
    private Optional<String> problem = Optional.empty();
    private long lastBatch;
    private volatile boolean closed;

    private KvEventCollector(EventSource source, ThreadFactory threads, RunClock clock) {
        this.clock = clock;
        this.loop = new KvEventLoop(clock::nanos);
        try {
            this.subscriptions = loop.subscribe(source, rank -> new Sink());
        } catch (IllegalArgumentException e) {
            loop.close();
            throw new LoadTestException(String.valueOf(e.getMessage()), e);
        }
        this.thread = threads.newThread(this::listen);
    }

    /**
     * Begins to listen, and returns once the engine has answered at all of its event endpoints.
     *
     * @param within the most that this may take; a {@link LoadTestException} says that it took longer
     */
    public static KvEventCollector start(EventSource source, ThreadFactory threads, RunClock clock, Duration within) {
        KvEventCollector collector = new KvEventCollector(source, threads, clock);
        collector.thread.start();
        try {
            long until = clock.nanos() + within.toNanos();
            while (!collector.subscriptions.stream().allMatch(Subscription::connected)) {
                if (clock.nanos() >= until) {
                    throw new LoadTestException("Nobody answers at the event endpoint " + source.endpoint()
                            + " within " + within.toSeconds()
                            + " s; start the engine with its KV events on, or name the endpoint where it publishes.");
                }
                clock.sleep(LOOK_NANOS);
            }
            return collector;
        } catch (RuntimeException e) {
            collector.close();
            throw e;
        }
    }

    private void listen() {
        try {
            while (!closed) {
                loop.doWork(ROUND_MILLIS);
            }
        } finally {
            loop.close();
        }
    }

    @Override
    public synchronized void clear() {
        onGpu.clear();
        counted = CacheEvents.NONE;
        problem = Optional.empty();
    }

    @Override
    public synchronized List<Long> gpuBlocks() {
        return List.copyOf(onGpu);
    }

    @Override
    public synchronized CacheEvents counted() {
        return counted;
    }

    @Override
    public synchronized Optional<String> problem() {
        return problem;
    }

    @Override
    public void awaitQuiet(Duration within) {
        long began = clock.nanos();
        while (clock.nanos() - Math.max(began, lastBatch()) < QUIET_NANOS && clock.nanos() - began < within.toNanos()) {
            clock.sleep(LOOK_NANOS);
        }
    }

    private synchronized long lastBatch() {
        return lastBatch;
    }

    @Override
    public void close() {
        closed = true;
        loop.wakeup();
        if (thread.getState() == Thread.State.NEW) {
            loop.close();
            return;
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes what one cache tells, on the collector's thread. */
    private final class Sink implements KvEventSink {
        @Override
        public void batchStarted(long sequence, long stampMicros) {}

        @Override
        public void stored(StoredBlocks stores) {
            synchronized (KvEventCollector.this) {
                for (int i = 0; i < stores.count(); i++) {
                    if (stores.tier() == Tier.GPU) {
                        onGpu.add(stores.hash(i));
                        counted = counted.stored(1);
                    }
                }
            }
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            if (tier != Tier.GPU) {
                return;
            }
            synchronized (KvEventCollector.this) {
                for (int i = from; i < to; i++) {
                    onGpu.remove(hashes[i]);
                }
                counted = counted.removed(to - from);
            }
        }

        @Override
        public void cleared() {
            synchronized (KvEventCollector.this) {
                onGpu.clear();
                counted = counted.cleared();
                problem = Optional.empty();
            }
        }

        @Override
        public void batchEnded() {
            synchronized (KvEventCollector.this) {
                lastBatch = clock.nanos();
            }
        }

        @Override
        public void gap(Gap gap) {
            synchronized (KvEventCollector.this) {
                problem = Optional.of(
                        gap.cause() == Gap.Cause.JOINED_LATE
                                ? "the engine had told " + gap.batches() + " batches of events before anybody listened"
                                : gap.batches() + " batches of events were lost");
            }
        }

        @Override
        public void restarted(long seen) {
            synchronized (KvEventCollector.this) {
                onGpu.clear();
                problem = Optional.of("the engine began another life while it was listened to");
            }
        }
    }
}
