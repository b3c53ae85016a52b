package io.holdfast.rules.engine;

import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.GpuFault;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** The emulated GPU: computes nothing, takes its time. Faults that make a server slow are its own. */
public final class Gpu {
    private static final double NANOS = 1e9;

    /** Longer than a scheduler's work between two passes, shorter than a pause that anybody would measure. */
    private static final long MOMENT_NANOS = 2_000_000;

    private final Speed speed;
    private final Faults faults;
    private final EngineClock clock;
    private final BooleanSupplier stopping;
    private int firsts;
    private long lastEnd;

    private Optional<GpuFault> drift = Optional.empty();
    private long driftSince;

    private Optional<GpuNoise> noise = Optional.empty();

    /** Emulated nanoseconds of work under a fault that makes work tell. */
    private double worked;

    /** @param stopping ends waiting early when true; the thread is unparked for it */
    public Gpu(Speed speed, Faults faults, EngineClock clock, BooleanSupplier stopping) {
        this.speed = speed;
        this.faults = faults;
        this.clock = clock;
        this.stopping = stopping;
    }

    /** Works for as long as the pass takes; false when the server is being stopped. */
    public boolean run(Pass pass) {
        return run(pass, speed.nanos(pass));
    }

    /** Runs a pass of an engine with its own idea of what a pass takes by itself, in emulated nanoseconds. */
    public boolean run(Pass pass, double ideal) {
        long deadline = start(pass) + Math.round(nanos(pass, ideal) / speed.scale());
        lastEnd = deadline;
        while (!stopping.getAsBoolean() && clock.nanos() - deadline < 0) {
            clock.await(deadline);
        }
        return !stopping.getAsBoolean();
    }

    /** The engine has emptied its cache, so that what comes now is another run of whatever asks it. */
    public void cacheEmptied() {
        noise.ifPresent(GpuNoise::cacheEmptied);
    }

    /**
     * Now, or for a pass that only decodes the end of the pass before, where that was a moment ago: what this machine's
     * scheduler took between two passes is no part of the emulated time, and would add up in the pace of tokens. A
     * prefill begins now: what lies before it may be the time in which a client asked.
     */
    private long start(Pass pass) {
        long now = clock.nanos();
        long since = now - lastEnd;
        return pass.prefills() == 0 && since > 0 && since < MOMENT_NANOS ? lastEnd : now;
    }

    private double nanos(Pass pass, double ideal) {
        double factor = 1;
        double extra = 0;
        boolean tires = false;
        for (GpuFault fault : faults.all(GpuFault.class)) {
            switch (fault) {
                case GpuFault.ColdFirstWave wave ->
                    extra += pass.firsts() > 0 && firsts < wave.requests()
                            ? wave.extra().toNanos()
                            : 0;
                case GpuFault.Warming warming ->
                    factor *= pass.prefills() > 0 && firsts < warming.requests() ? GpuFault.Warming.FACTOR : 1;
                case GpuFault.Drift slope -> factor *= drifted(slope);
                case GpuFault.Throttling throttling -> {
                    factor /= throttled(throttling);
                    tires = true;
                }
                case GpuFault.HoldsSlow holds -> factor *= 1 + holds.percent() / 100 * pass.held() / 1_000;
                case GpuFault.Noise it -> factor *= noise(it).factor(pass);
            }
        }
        firsts += pass.firsts();
        double nanos = ideal * factor + extra;
        worked = tires ? worked + nanos : 0;
        return nanos;
    }

    private GpuNoise noise(GpuFault.Noise fault) {
        GpuNoise known = noise.filter(it -> it.isOf(fault)).orElseGet(() -> new GpuNoise(fault, clock.nanos()));
        noise = Optional.of(known);
        return known;
    }

    private double drifted(GpuFault.Drift slope) {
        if (!drift.equals(Optional.of(slope))) {
            drift = Optional.of(slope);
            driftSince = clock.nanos();
        }
        double seconds = (clock.nanos() - driftSince) * speed.scale() / NANOS;
        return 1 + slope.percent() / 100 * Math.min(1, seconds / slope.seconds());
    }

    /** Share of the speed that is left. */
    private double throttled(GpuFault.Throttling throttling) {
        double floor = throttling.factor();
        return floor + (1 - floor) * Math.exp(-worked / NANOS / throttling.seconds());
    }
}
