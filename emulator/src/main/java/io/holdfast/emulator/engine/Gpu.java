package io.holdfast.emulator.engine;

import io.holdfast.emulator.fault.Fault;
import io.holdfast.emulator.fault.Faults;
import io.holdfast.emulator.fault.GpuFault;
import java.util.function.BooleanSupplier;

/** The emulated GPU: computes nothing, takes its time. Faults that make a server slow are its own. */
public final class Gpu {
    private final Speed speed;
    private final Faults faults;
    private final EngineClock clock;
    private final BooleanSupplier stopping;
    private int firsts;

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

    /** The same for an engine that has its own idea of what a pass takes by itself, in emulated nanoseconds. */
    public boolean run(Pass pass, double ideal) {
        long deadline = clock.nanos() + Math.round(nanos(pass, ideal) / speed.scale());
        while (!stopping.getAsBoolean() && clock.nanos() - deadline < 0) {
            clock.await(deadline);
        }
        return !stopping.getAsBoolean();
    }

    private double nanos(Pass pass, double ideal) {
        if (pass.prefills() == 0) {
            return ideal;
        }
        firsts += pass.firsts();
        double factor = 1;
        double extra = 0;
        for (Fault fault : faults.all()) {
            switch (fault) {
                case GpuFault.Warming warming -> factor *= firsts <= warming.requests() ? GpuFault.Warming.FACTOR : 1;
                case GpuFault.ColdFirstWave wave ->
                    extra += firsts <= wave.requests() ? wave.extra().toNanos() : 0;
                default -> {}
            }
        }
        return ideal * factor + extra;
    }
}
