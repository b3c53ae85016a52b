package io.holdfast.app.workbench;

import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.bed.SampleSource;
import io.holdfast.workbench.load.BesideLeg;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Says of a leg that lasts how far it is, so that nobody takes it for one that hangs. */
public final class LegPulse implements BesideLeg {
    private static final Duration EVERY = Duration.ofSeconds(10);

    private final SampleSource.Reading saying;

    private LegPulse(SampleSource.Reading saying) {
        this.saying = saying;
    }

    /**
     * Begins to tell how many requests of a leg were answered.
     *
     * @param answered counts requests, those of earlier legs among them
     */
    public static BesideLeg begin(LongSupplier answered, Consumer<String> said, ThreadFactory threads, RunClock clock) {
        long began = clock.nanos();
        long before = answered.getAsLong();
        return new LegPulse(SampleSource.polled(
                        () -> {
                            Duration lasts = Duration.ofNanos(clock.nanos() - began);
                            if (lasts.compareTo(EVERY) >= 0) {
                                said.accept("  after " + TimeSpan.shown(lasts) + ": " + (answered.getAsLong() - before)
                                        + " answered.");
                            }
                            return List.of();
                        },
                        EVERY)
                .begin(sample -> {}, threads, clock));
    }

    @Override
    public Map<String, String> ended() {
        saying.close();
        return Map.of();
    }
}
