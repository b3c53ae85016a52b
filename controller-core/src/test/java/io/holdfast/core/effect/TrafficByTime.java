package io.holdfast.core.effect;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.effect.TtftEffect.State;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;

/** A loop beside an engine whose traffic goes on by the clock, whatever windows the loop cuts it into. */
final class TrafficByTime {
    /*
     * All that varies slowly (times to first token, load, the mix of prompts, what others find in the cache) returns to its
     * mean by itself within minutes; each request varies for itself besides. What is given is how far the logarithm of the
     * mean time to first token of five minutes strays. A quarter of the requests share heads. With holds they find them;
     * without, a tenth does. Half of the time to first token is prefill, so computed tokens change by twice as much. Where
     * holds do nothing, shared heads are found with and without them, as often as the moment has it.
     *
     * What the arm does follows a switch within one residence.
     */
    static final double SECOND = 1e9;
    private static final int TICK = 5;
    private static final int RESIDENCE = 20;
    private static final int REUSE = 20;
    private static final double DAY = 86_400;
    private static final double SLOW_SD = 0.05;
    /** In five minutes, so that its mean strays by as much as is said. */
    private static final double SLOW_SECONDS = 136;

    private static final double SLOW_OF_MEAN = 0.736;
    private static final double SHARED = 0.25;
    private static final double USERS_PROMPT = 3_000;
    private static final double OTHERS_PROMPT = 2_000;
    private static final double OTHERS_CACHED = 0.4;
    private static final double LOST_FOUND = 0.1;

    /** What the engine tells beside its times to first token. */
    enum Told {
        NOTHING,
        CACHED_TOKENS,
        CACHED_TOKENS_AND_EVENTS
    }

    /** What was found, and after how long. */
    record Answer(State state, Duration after) {}

    private final TtftLoop loop;
    private final Random random;
    private final Told told;
    private final double rate;
    private final double ofARequest;
    private final double effect;
    private final double head;
    private final Wander times = new Wander(SLOW_SECONDS, SLOW_SD / SLOW_OF_MEAN);
    private final Wander load = new Wander(400, 0.25);
    private final Wander prompts = new Wander(200, 0.2);
    private final Wander mix = new Wander(600, 0.15);
    private final Wander cached = new Wander(300, 0.06);
    private final Wander found = new Wander(300, 0.12);
    private double seconds;
    private double count;
    private double promptTokens;
    private double cachedTokens;
    private double itlSeconds;
    private double itlCount;
    private double arm = 1;
    private long tick;

    /** A value that strays from zero and comes back. */
    private final class Wander {
        private final double keep;
        private final double sd;
        private double now;

        Wander(double seconds, double sd) {
            this.keep = Math.exp(-TICK / seconds);
            this.sd = sd;
        }

        double next() {
            now = tick == 0
                    ? sd * random.nextGaussian()
                    : keep * now + Math.sqrt(1 - keep * keep) * sd * random.nextGaussian();
            return now;
        }
    }

    /**
     * Of so many requests a second.
     *
     * @param sd how far the logarithm of five minutes' mean time to first token strays
     * @param change of the mean time to first token of all requests with holds, such as -0.1
     */
    TrafficByTime(long seed, double rate, double sd, double change, Told told, EffectSettings settings) {
        this.random = new Random(seed);
        this.rate = rate;
        this.ofARequest = Math.sqrt(Math.max(0, sd * sd - SLOW_SD * SLOW_SD) * 300 * rate);
        this.effect = Math.log1p(change);
        this.told = told;
        double computed = SHARED * USERS_PROMPT + (1 - SHARED) * OTHERS_PROMPT * (1 - OTHERS_CACHED);
        this.head = change == 0 ? 1_500 : Math.abs(2 * change) * computed / SHARED / (1 - LOST_FOUND);
        this.loop = new TtftLoop(settings, new SplittableRandom(seed), new TtftLoop.Cache() {
            @Override
            public Optional<Duration> residence() {
                return Optional.of(Duration.ofSeconds(RESIDENCE));
            }

            @Override
            public Optional<Duration> reuse() {
                return Optional.of(Duration.ofSeconds(REUSE));
            }

            @Override
            public PrefillCost prefill() {
                return new PrefillCost.Known(0.01, 1e-4, 1e-6, 100);
            }
        });
    }

    TtftLoop loop() {
        return loop;
    }

    Duration now() {
        return Duration.ofSeconds(tick * TICK);
    }

    /** Until the loop has found something, or so much time is over. */
    Answer answer(Duration most) {
        while (loop.effect().state() == State.UNPROVEN && now().compareTo(most) < 0) {
            step();
        }
        return new Answer(loop.effect().state(), now());
    }

    void step() {
        loop.tick(nanos(), loop.off().isEmpty(), Optional.empty());
        double to = loop.off().isEmpty() ? 1 : 0;
        double most = (double) TICK / RESIDENCE;
        arm += Math.clamp(to - arm, -most, most);
        double busy = Math.max(0.1, 1 + 0.4 * Math.sin(2 * Math.PI * tick * TICK / DAY) + load.next());
        int requests = poisson(rate * TICK * busy);
        int users = 0;
        double share = SHARED * Math.exp(mix.next());
        for (int i = 0; i < requests; i++) {
            users += random.nextDouble() < share ? 1 : 0;
        }
        double longer = Math.exp(prompts.next());
        double part = effect == 0 ? 0.6 + found.next() : LOST_FOUND + (1 - LOST_FOUND) * Math.signum(-effect) * arm;
        int finding = 0;
        for (int i = 0; i < users; i++) {
            finding += random.nextDouble() < part ? 1 : 0;
        }
        double othersPrompt = (requests - users) * OTHERS_PROMPT * longer;
        double othersFound = OTHERS_CACHED
                + cached.next()
                - 0.05 * (busy - 1)
                + (requests > users ? 0.35 * random.nextGaussian() / Math.sqrt(requests - users) : 0);
        double noise = times.next() + (requests > 0 ? ofARequest * random.nextGaussian() / Math.sqrt(requests) : 0);
        double ttft = 0.2 * Math.pow(longer, 0.8) * Math.exp(0.1 * busy + 0.02 * busy * busy + noise + effect * arm);
        count += requests;
        seconds += requests * ttft;
        promptTokens += users * USERS_PROMPT + othersPrompt;
        cachedTokens += finding * head + othersPrompt * Math.clamp(othersFound, 0, 1);
        itlCount += 100 * requests;
        itlSeconds += 100 * requests * 0.03 * Math.exp(0.1 * busy + 0.3 * noise);
        if (told == Told.CACHED_TOKENS_AND_EVENTS) {
            loop.used(new PrefixUse(requests, users, Math.round(users * USERS_PROMPT), Math.round(finding * head)));
        }
        tick++;
        loop.reading(readings(8 * busy), nanos());
    }

    /** Requests of one tick. */
    private int poisson(double mean) {
        if (mean > 100) {
            return (int) Math.max(0, Math.round(mean + Math.sqrt(mean) * random.nextGaussian()));
        }
        double limit = Math.exp(-mean);
        double product = random.nextDouble();
        int number = 0;
        while (product > limit) {
            product *= random.nextDouble();
            number++;
        }
        return number;
    }

    private long nanos() {
        return (long) (tick * TICK * SECOND);
    }

    private EngineReadings readings(double running) {
        Reading untold = Reading.unknown("the simulated engine does not tell it");
        return EngineReadings.unknownBut("the simulated engine does not tell it")
                .runningRequests(at(running))
                .waitingRequests(at(0))
                .ttftSumSeconds(at(seconds))
                .ttftCount(at(count))
                .promptTokens(at(promptTokens))
                .cachedTokens(told == Told.NOTHING ? untold : at(cachedTokens))
                .itlSumSeconds(at(itlSeconds))
                .itlCount(at(itlCount))
                .build();
    }

    private Reading at(double value) {
        return Reading.known(value, "the simulation", nanos());
    }
}
