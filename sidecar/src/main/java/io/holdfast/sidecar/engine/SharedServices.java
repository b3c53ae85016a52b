package io.holdfast.sidecar.engine;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.embed.ViewSource;
import io.holdfast.embed.ledger.LedgerFiles;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;

/**
 * What all engines of one sidecar share.
 *
 * @param executor runs what may wait, a thread for each task
 * @param timer ends calls that take too long; its tasks never wait
 * @param showText whether the API shows by what texts and tokens holds were asked for
 * @param snapshots how often what was learned is written
 * @param siblings other processes that follow the same engines, from which views may be had
 * @param watch looks after the event thread and releases in its place, so nothing else may keep it busy
 */
public record SharedServices(
        LongSupplier clock,
        ExecutorService executor,
        ScheduledExecutorService timer,
        ScheduledExecutorService watch,
        MeterRegistry registry,
        boolean showText,
        Duration snapshots,
        List<ViewSource> siblings,
        Seams seams) {

    public SharedServices withExecutor(ExecutorService value) {
        return new SharedServices(clock, value, timer, watch, registry, showText, snapshots, siblings, seams);
    }

    /**
     * Where tests put something else in the place of the world.
     *
     * @param files the disk that has the ledgers
     * @param sinks what hears an engine's events, made of the engine's id and of what should
     * @param wall what leases that outlive the process are measured by
     * @param hangLimit how long the event thread may take for one round before it is given up
     * @param clock in nanoseconds, monotonic
     * @param pace how many times as fast as the machine's clock that one goes, so that the planner and the readings come
     *     round so much sooner; what bounds calls and looks after the process stays on the machine's
     * @param summaries how much of the clock's time passes between two summaries in the log
     */
    public record Seams(
            LedgerFiles files,
            BiFunction<String, KvEventSink, KvEventSink> sinks,
            InstantSource wall,
            Duration hangLimit,
            LongSupplier clock,
            double pace,
            Duration summaries) {
        public static Seams none() {
            return new Seams(
                    LedgerFiles.SYSTEM,
                    (engine, sink) -> sink,
                    InstantSource.system(),
                    Duration.ofSeconds(10),
                    System::nanoTime,
                    1,
                    Duration.ofMinutes(10));
        }

        public Seams withFiles(LedgerFiles value) {
            return new Seams(value, sinks, wall, hangLimit, clock, pace, summaries);
        }

        public Seams withSinks(BiFunction<String, KvEventSink, KvEventSink> value) {
            return new Seams(files, value, wall, hangLimit, clock, pace, summaries);
        }

        public Seams withHangLimit(Duration value) {
            return new Seams(files, sinks, wall, value, clock, pace, summaries);
        }

        public Seams withClock(LongSupplier value) {
            return new Seams(files, sinks, wall, hangLimit, value, pace, summaries);
        }

        public Seams withPace(double value) {
            return new Seams(files, sinks, wall, hangLimit, clock, value, summaries);
        }

        public Seams withSummaries(Duration value) {
            return new Seams(files, sinks, wall, hangLimit, clock, pace, value);
        }

        /** How long the machine waits for so much of the clock's time, at least a millisecond. */
        public long waitMillis(Duration time) {
            return Math.max(1, Math.round(time.toMillis() / pace));
        }

        public Seams withWall(InstantSource value) {
            return new Seams(files, sinks, value, hangLimit, clock, pace, summaries);
        }
    }
}
