package io.holdfast.loadtest.client;

import io.holdfast.loadtest.journal.ClientHealth;
import io.vertx.core.Vertx;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Watches the event loop that it lives on while loads are under way. All of it runs on that loop. */
final class ClientWatch {
    private static final long TICK_MILLIS = 10;
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS);
    /** End of a collector's name where it works beside the program and counts its work, not only its pauses. */
    private static final String BESIDE = "Cycles";

    private final Vertx vertx;
    private final LongSupplier nanos;
    private final LongSupplier dateMillis;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans().stream()
            .filter(collector -> !collector.getName().endsWith(BESIDE))
            .toList();
    private Mark total = new Mark(0, 0, 0, 0, 0, 0);
    private Mark began = total;
    private OptionalLong ticking = OptionalLong.empty();
    private long ticked;
    private long still;

    ClientWatch(Vertx vertx, LongSupplier nanos, LongSupplier dateMillis) {
        this.vertx = vertx;
        this.nanos = nanos;
        this.dateMillis = dateMillis;
    }

    /** Forgets what it saw. */
    void fresh() {
        total = new Mark(0, 0, 0, 0, 0, 0);
        still = 0;
    }

    void begin() {
        if (ticking.isPresent()) {
            return;
        }
        began = mark();
        ticked = began.nanos();
        ticking = OptionalLong.of(vertx.setPeriodic(TICK_MILLIS, id -> tick()));
    }

    private void tick() {
        long now = nanos.getAsLong();
        still = Math.max(still, now - ticked - TICK_NANOS);
        ticked = now;
    }

    void end() {
        if (ticking.isEmpty()) {
            return;
        }
        tick();
        vertx.cancelTimer(ticking.getAsLong());
        ticking = OptionalLong.empty();
        total = total.plus(mark().minus(began));
    }

    ClientHealth health() {
        return new ClientHealth(
                total.nanos(),
                total.loopCpu(),
                total.processCpu(),
                still,
                total.collections(),
                total.collectionNanos(),
                total.date() - total.nanos());
    }

    private Mark mark() {
        return new Mark(
                nanos.getAsLong(),
                TimeUnit.MILLISECONDS.toNanos(dateMillis.getAsLong()),
                Math.max(0, threads.getCurrentThreadCpuTime()),
                ProcessHandle.current()
                        .info()
                        .totalCpuDuration()
                        .map(Duration::toNanos)
                        .orElse(0L),
                collectors.stream()
                        .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                        .sum(),
                TimeUnit.MILLISECONDS.toNanos(collectors.stream()
                        .mapToLong(GarbageCollectorMXBean::getCollectionTime)
                        .sum()));
    }

    /** Readings of all meters at one time, or what lies between two of them. */
    private record Mark(long nanos, long date, long loopCpu, long processCpu, long collections, long collectionNanos) {
        Mark minus(Mark before) {
            return new Mark(
                    nanos - before.nanos,
                    date - before.date,
                    loopCpu - before.loopCpu,
                    processCpu - before.processCpu,
                    collections - before.collections,
                    collectionNanos - before.collectionNanos);
        }

        Mark plus(Mark more) {
            return new Mark(
                    nanos + more.nanos,
                    date + more.date,
                    loopCpu + more.loopCpu,
                    processCpu + more.processCpu,
                    collections + more.collections,
                    collectionNanos + more.collectionNanos);
        }
    }
}
