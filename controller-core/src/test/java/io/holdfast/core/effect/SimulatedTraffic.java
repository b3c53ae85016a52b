package io.holdfast.core.effect;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.LongToDoubleFunction;

/** A loop beside an engine whose times to first token follow from what it does, by its counters alone. */
final class SimulatedTraffic {
    /*
     * Load has a day of 288 windows, bursts that last a few windows, and noise; the mix of prompts changes from window to
     * window. Time to first token follows both, not quite as the regression has it: with a power of the prompt's length, and
     * with the square of the load. What remains of a window's logarithm is an autoregression of first order, of the stated spread.
     * What the arm does to it follows a switch within one residence.
     */
    static final long SECOND = 1_000_000_000L;
    static final int WINDOW = 100;
    private static final int TICK = 5;
    private static final int RESIDENCE = 20;
    private static final int DAY = 288;
    private static final double CORRELATION = 0.3;

    private final TtftLoop loop;
    private final Random random;
    private final double sd;
    private final LongToDoubleFunction effect;
    private double seconds;
    private double count;
    private double prompts;
    private double itlSeconds;
    private double itlCount;
    private double arm = 1;
    private double noise;
    private double burst;
    private double prompt;
    private long tick;
    private double itlEffect;

    /** {@code effect} is that on the logarithm, by the number of windows since measuring began. */
    SimulatedTraffic(long seed, double sd, LongToDoubleFunction effect) {
        this.random = new Random(seed);
        this.sd = sd;
        this.effect = effect;
        this.noise = sd * random.nextGaussian();
        this.loop = new TtftLoop(
                EffectSettings.DEFAULTS.withWindow(Duration.ofSeconds(WINDOW)),
                new SplittableRandom(seed),
                new TtftLoop.Cache() {
                    @Override
                    public Optional<Duration> residence() {
                        return Optional.of(Duration.ofSeconds(RESIDENCE));
                    }

                    @Override
                    public Optional<Duration> reuse() {
                        return Optional.empty();
                    }

                    @Override
                    public PrefillCost prefill() {
                        return new PrefillCost.Known(0.01, 1e-4, 1e-6, 100);
                    }
                });
    }

    SimulatedTraffic withItlEffect(double logarithm) {
        itlEffect = logarithm;
        return this;
    }

    TtftLoop loop() {
        return loop;
    }

    /** Windows since measuring began: two steady ones go before. */
    int measuringWindows() {
        return (int) (tick / (WINDOW / TICK)) - 2;
    }

    void window() {
        double innovation = Math.sqrt(1 - CORRELATION * CORRELATION) * sd;
        noise = CORRELATION * noise + innovation * random.nextGaussian();
        burst = random.nextDouble() < 0.1 ? 0.5 : 0.6 * burst;
        prompt = 2_000 * Math.exp(0.25 * random.nextGaussian());
        double jitter = 0.1 * random.nextGaussian();
        for (int step = 0; step < WINDOW / TICK; step++) {
            step(jitter);
        }
        // What a window found shows with the tick after it.
        tick();
    }

    private void tick() {
        loop.tick(tick * TICK * SECOND, loop.off().isEmpty(), Optional.empty());
    }

    private void step(double jitter) {
        double day = Math.sin(2 * Math.PI * tick / (double) (DAY * WINDOW / TICK));
        double load = 1 + 0.4 * day + burst + jitter;
        tick();
        double to = loop.off().isEmpty() ? 1 : 0;
        double most = (double) TICK / RESIDENCE;
        arm += Math.clamp(to - arm, -most, most);
        double requests = Math.rint(20 * load);
        double ttft = 0.2
                * Math.pow(prompt / 2_000, 0.8)
                * Math.exp(0.1 * load + 0.02 * load * load + noise + effect.applyAsDouble(measuringWindows()) * arm);
        count += requests;
        seconds += requests * ttft;
        prompts += requests * prompt;
        itlCount += 100 * requests;
        itlSeconds += 100 * requests * 0.03 * Math.exp(0.1 * load + 0.3 * noise + itlEffect * arm);
        // What a tick decides acts until the next one, and a reading comes after it.
        tick++;
        loop.reading(readings(8 * load), tick * TICK * SECOND);
    }

    private EngineReadings readings(double running) {
        long nanos = tick * TICK * SECOND;
        return EngineReadings.unknownBut("the simulated engine does not tell it")
                .runningRequests(at(running, nanos))
                .waitingRequests(at(0, nanos))
                .ttftSumSeconds(at(seconds, nanos))
                .ttftCount(at(count, nanos))
                .promptTokens(at(prompts, nanos))
                .cachedTokens(at(prompts * 0.4, nanos))
                .itlSumSeconds(at(itlSeconds, nanos))
                .itlCount(at(itlCount, nanos))
                .build();
    }

    private static Reading at(double value, long nanos) {
        return Reading.known(value, "the simulation", nanos);
    }
}
