package io.holdfast.core.effect;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.MeanInterval;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.random.RandomGenerator;

/** Measures what automatic holds do to time to first token, by windows with and without them; it reports and decides nothing. */
public final class Switchback {
    /*
     * Four windows make a quad, on-off-off-on or off-on-on-off by a coin: within a quad a steady drift cancels, and the
     * coin keeps the order from falling in step with anything periodic in the traffic. A window's first quarter is left
     * out: the cache still has what the other arm left in it. What counts is the mean TTFT of the requests between the first
     * reading after that and the last reading in the window, as a logarithm. A window with fewer than ten requests, with a
     * missing reading at either end, or in which a counter fell (the engine restarted) is not ready, and neither is
     * its quad; nothing is filled in. Nor is a window "on" in whose measured part nothing was held: it is a window "off" by
     * another name, and comparing two of those would find "no benefit" of what was never tried. Windows are not prolonged until they are ready: that would leave a quiet engine in
     * one arm for good.
     *
     * A quad gives one value, mean(on) - mean(off); quads are the independent repetitions. From four on, a Student interval
     * on their mean says what is known. "No benefit" is a finding too: the 90 % interval lies within 5 % either way.
     */
    private static final int FEWEST_REQUESTS = 10;
    private static final int FEWEST_QUADS = 4;
    private static final int MOST_QUADS = 256;
    private static final double NEGLIGIBLE = Math.log(1.05);
    private static final boolean[] ABBA = {true, false, false, true};
    private static final boolean[] BAAB = {false, true, true, false};

    private final long windowNanos;
    private final RandomGenerator random;
    private final List<Double> effects = new ArrayList<>();
    private final double[] logTtft = new double[4];
    private boolean[] order = ABBA;
    private boolean quadReady;
    private int window = -1;
    private long startedNanos;
    private Window measured = new Window();
    private boolean held;
    private int readyWindows;
    private int idleWindows;
    private TtftEffect effect = TtftEffect.unproven("measuring: no window is over yet");

    public Switchback(long windowNanos, RandomGenerator random) {
        this.windowNanos = windowNanos;
        this.random = random;
    }

    /** Ends windows whose time is over; {@code holding} says whether there is an automatic hold right now. */
    public void tick(long nowNanos, boolean holding) {
        if (window < 0) {
            startQuad();
            start(nowNanos);
        } else if (nowNanos - startedNanos >= windowNanos) {
            finish();
            start(nowNanos);
        }
        held |= holding && nowNanos - startedNanos >= windowNanos / 4;
    }

    public void reading(EngineReadings readings, long nowNanos) {
        if (counts(nowNanos)) {
            measured.reading(readings);
        }
    }

    /** A request's first token, as who sent it saw it. */
    public void firstToken(FirstToken report, long nowNanos) {
        if (counts(nowNanos)) {
            measured.report(report);
        }
    }

    private boolean counts(long nowNanos) {
        return window >= 0 && nowNanos - startedNanos >= windowNanos / 4 && nowNanos - startedNanos <= windowNanos;
    }

    /** The engine's cache or process was replaced: this window measures neither arm. */
    public void interrupted() {
        measured.spoilt("the engine's cache was replaced");
    }

    /** Why automatic holds are off now; absent when they are on. */
    public Optional<String> off() {
        return window < 0 || order[window]
                ? Optional.empty()
                : Optional.of("measuring: a window without automatic holds, to compare time to first token");
    }

    public TtftEffect effect() {
        return effect;
    }

    private void startQuad() {
        order = random.nextBoolean() ? ABBA : BAAB;
        quadReady = true;
        window = 0;
    }

    private void start(long nowNanos) {
        startedNanos = nowNanos;
        measured = new Window();
        held = false;
    }

    private void finish() {
        boolean idle = order[window] && !held;
        idleWindows += idle ? 1 : 0;
        OptionalDouble mean = idle ? OptionalDouble.empty() : meanTtft();
        if (mean.isPresent()) {
            readyWindows++;
            logTtft[window] = Math.log(mean.getAsDouble());
        } else {
            quadReady = false;
        }
        if (window < 3) {
            window++;
        } else {
            if (quadReady) {
                addQuad();
            }
            startQuad();
        }
        effect = judge();
    }

    private OptionalDouble meanTtft() {
        return measured.measured(FEWEST_REQUESTS).stream()
                .mapToDouble(Window.Measured::seconds)
                .findFirst();
    }

    private void addQuad() {
        double on = 0;
        double off = 0;
        for (int i = 0; i < 4; i++) {
            if (order[i]) {
                on += logTtft[i] / 2;
            } else {
                off += logTtft[i] / 2;
            }
        }
        effects.add(on - off);
        if (effects.size() > MOST_QUADS) {
            effects.remove(0);
        }
    }

    private TtftEffect judge() {
        double[] sample = effects.stream().mapToDouble(Double::doubleValue).toArray();
        Optional<MeanInterval> at95 = MeanInterval.of(sample);
        Optional<MeanInterval> at90 = MeanInterval.of(sample, 0.9);
        if (sample.length < FEWEST_QUADS || at95.isEmpty() || at90.isEmpty()) {
            return new TtftEffect(
                    TtftEffect.State.UNPROVEN,
                    readyWindows,
                    OptionalDouble.empty(),
                    Optional.empty(),
                    "measuring: " + sample.length + " of at least " + FEWEST_QUADS
                            + " rounds of four windows are complete"
                            + (idleWindows == 0
                                    ? ""
                                    : "; in " + idleWindows
                                            + " windows nothing was held automatically, so they do not count"));
        }
        Interval interval = at95.get().interval();
        Interval narrow = at90.get().interval();
        TtftEffect.State state;
        String reason;
        if (interval.high() < 0) {
            state = TtftEffect.State.PROVEN;
            reason = "automatic holds shorten time to first token";
        } else if (interval.low() > 0) {
            state = TtftEffect.State.HARMFUL;
            reason = "automatic holds lengthen time to first token: turn them off";
        } else if (narrow.low() > -NEGLIGIBLE && narrow.high() < NEGLIGIBLE) {
            state = TtftEffect.State.NO_BENEFIT;
            reason = "automatic holds change time to first token by less than 5 %";
        } else {
            state = TtftEffect.State.UNPROVEN;
            reason = "the interval still contains both gain and loss";
        }
        return new TtftEffect(
                state,
                readyWindows,
                OptionalDouble.of(at95.get().percent()),
                Optional.of(new Interval(100 * Math.expm1(interval.low()), 100 * Math.expm1(interval.high()))),
                reason + ", over " + sample.length + " rounds of four windows");
    }
}
