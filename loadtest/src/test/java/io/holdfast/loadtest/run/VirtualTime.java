package io.holdfast.loadtest.run;

import io.holdfast.rules.engine.EngineClock;
import java.time.Instant;
import java.util.SplittableRandom;

/**
 * A clock for both sides of a load test that jumps to what is waited for, a little late each time as on a real machine.
 * The same seed gives the same lateness.
 */
public final class VirtualTime implements RunClock, EngineClock {
    private static final Instant START = Instant.parse("2026-11-22T00:00:00Z");
    private static final double SPIKES = 0.01;
    private static final double SPIKE_FACTOR = 20;

    private final long seed;
    private final SplittableRandom random;
    private final double meanLatenessNanos;
    private long now;

    /** @param meanLatenessMicros of every wake-up; one in a hundred is twenty times as late */
    public VirtualTime(long seed, double meanLatenessMicros) {
        this.seed = seed;
        this.random = new SplittableRandom(seed);
        this.meanLatenessNanos = 1e3 * meanLatenessMicros;
    }

    /** What else happens by chance, of the same seed and without moving the clock. */
    SplittableRandom chances() {
        return chances(0);
    }

    /** Another such stream for each number. */
    SplittableRandom chances(int number) {
        SplittableRandom root = new SplittableRandom(~seed);
        SplittableRandom stream = root.split();
        for (int i = 0; i < number; i++) {
            stream = root.split();
        }
        return stream;
    }

    @Override
    public long nanos() {
        return now;
    }

    @Override
    public void sleepUntil(long deadlineNanos) {
        await(deadlineNanos);
    }

    @Override
    public void await(long deadlineNanos) {
        if (deadlineNanos > now) {
            double factor = random.nextDouble() < SPIKES ? SPIKE_FACTOR : 1;
            now = deadlineNanos + Math.round(-Math.log(1 - random.nextDouble()) * factor * meanLatenessNanos);
        }
    }

    @Override
    public Instant now() {
        return START.plusNanos(now);
    }

    @Override
    public double unixSeconds() {
        return START.getEpochSecond() + now / 1e9;
    }
}
