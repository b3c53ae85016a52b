package io.holdfast.core.effect;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.effect.TtftEffect.State;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.plan.Why;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.random.RandomGenerator;

/**
 * Releases holds for a window now and then, learns from that whether they help, and releases them for longer where they
 * do not.
 */
public final class TtftLoop {
    /*
     * Phases
     * ------
     * STEADY     holds on, until two windows in a row are ready with something held: there is no effect to measure of
     *            what is not there, and a cache that fills shows another one than a full cache
     * MEASURING  four windows make a quad, on-off-off-on or off-on-on-off by a coin: within a quad a steady drift
     *            cancels, and the coin keeps the order from falling in step with anything periodic in the traffic
     * PROVEN     holds on; one window in each block of twenty, by a coin, is off. Nothing is released by so few. A
     *            detector only sends it back to MEASURING
     * RESTING    no benefit, or harm: holds are released, for longer each time until they were proven again
     *
     * When a window counts
     * --------------------
     * How long windows are, and what of one belongs to the arm before it and counts for nothing, is the pacing's.
     *
     * A window is ready when it has twenty requests, no restart, and in on-windows something held for half of what
     * counts: a hold that comes late shows in the rest as if there were none. It is not ready when the application
     * limits it: traffic so thin, against what is usual, that the cache was hardly asked for anything. Time to first
     * token of a nearly idle engine says how fast it computes, whatever is in its cache: a night of such windows would
     * outvote the day and release what helps it. "Usual" is the median of the last twenty windows, ready or not, so a
     * day that stays quiet becomes usual. A cache that evicts nothing is not application-limited in this sense:
     * requests come, and holds do nothing for them, which is a finding.
     *
     * Windows are not prolonged until they are ready, which would leave a quiet engine in one arm for good; one that is
     * not ends the quad, and measuring begins with a steady window again, since off windows cost and yield nothing
     * then. What was measured before stays.
     *
     * What is compared
     * ----------------
     * The logarithms of the window's mean time to first token and of the part of its prompts that was computed, by
     * regressions on the arm, the logarithm of the mean prompt length and, of times, the mean number of running
     * requests, whose errors follow one another (evidence has it). Running requests are partly an effect of what is
     * studied: faster prefill leaves fewer of them. Decoding makes nearly all of their number, so what this hides of
     * the effect is small, and it is hidden, not made up.
     *
     * Guards
     * ------
     * While requests queue behind a full engine, or wait though nothing runs, there are no off windows: whatever holds
     * save is needed then. Time between tokens is compared as time to first token is: holds that lengthen it are
     * harmful even where first tokens come sooner. Engines export no count of errors that would tell ours from a
     * client's, so none is looked at.
     */
    private static final long PACED_EVERY_NANOS = 10_000_000_000L;
    private static final int FEWEST_REQUESTS = 20;
    private static final int STEADY_WINDOWS = 2;
    private static final int FIRST_REST = 20;
    /** Shortest rest, for windows that are as short as can be, since traffic does not change as fast. */
    private static final long SHORTEST_REST_NANOS = 6_000_000_000_000L;

    private static final int MOST_DOUBLINGS = 4;
    private static final double HELD_PART = 0.5;
    private static final boolean[] ABBA = {true, false, false, true};
    private static final boolean[] BAAB = {false, true, true, false};

    private enum Phase {
        STEADY,
        MEASURING,
        PROVEN,
        RESTING
    }

    /** Measurements of the cache that are made elsewhere. */
    public interface Cache {
        /** Returns how long a block stays that nobody uses. */
        Optional<Duration> residence();

        /** Returns how long it takes until a prefix is used again. */
        Optional<Duration> reuse();

        PrefillCost prefill();
    }

    private final EffectSettings settings;
    private final Pacing pacing;
    private final RandomGenerator random;
    private final Cache cache;
    private final EffectRecord record;
    private final QueueGuard queue = new QueueGuard();
    private final OffCost cost = new OffCost();
    private final UsualTraffic usual = new UsualTraffic();

    private Phase phase = Phase.STEADY;
    private State state = State.UNPROVEN;
    private String why = "no window is over yet";
    private boolean[] order = {true};
    private int index;
    private int steady;
    private int releases;
    private long restUntilNanos;
    private boolean began;
    private long nowNanos;
    private long startedNanos;
    private long skipNanos;
    private long number;
    private Window window = new Window();
    private long windowNanos;
    private long pacedNanos;
    private long lookedNanos;
    private long heldNanos;
    private long round;
    private boolean countsReadings;
    private long reports;
    private Optional<String> trouble = Optional.empty();
    private TtftEffect effect = TtftEffect.unproven("measuring: no window is over yet");

    public TtftLoop(EffectSettings settings, RandomGenerator random, Cache cache) {
        this.settings = settings;
        this.pacing = new Pacing(settings.window(), FEWEST_REQUESTS, cache);
        this.random = random;
        this.cache = cache;
        this.record = new EffectRecord(settings.leastGain());
    }

    /**
     * Ends windows whose time is over.
     *
     * @param holding whether anything is held that is released in an off window
     * @param stall why holds must not be off now
     */
    public void tick(long nanos, boolean holding, Optional<String> stall) {
        nowNanos = nanos;
        if (!began) {
            began = true;
            lookedNanos = nowNanos;
            start(0);
        }
        if (!countsReadings) {
            pacing.counted((double) reports, nowNanos);
        }
        if (holding) {
            heldNanos += Math.max(
                    0,
                    Math.min(nowNanos, startedNanos + windowNanos) - Math.max(lookedNanos, startedNanos + skipNanos));
        }
        lookedNanos = nowNanos;
        trouble = stall.or(queue::trouble);
        if (trouble.isPresent() && phase != Phase.RESTING) {
            window.spoilt(trouble.get());
            if (!on()) {
                steadyAgain();
                start(pacing.discarded());
            }
        }
        paceAnew();
        if (nowNanos - startedNanos >= windowNanos) {
            boolean before = on();
            finish();
            start(on() == before ? 0 : pacing.discarded());
        }
    }

    /**
     * Begins a shorter window where traffic asks for one by now. Nothing is compared yet, and a start before the
     * traffic begins would wait for the end of the longest window.
     */
    private void paceAnew() {
        if (phase == Phase.STEADY && nowNanos - pacedNanos >= PACED_EVERY_NANOS) {
            pacedNanos = nowNanos;
            pacing.adapt();
            if (pacing.windowNanos() < windowNanos) {
                start(0);
            }
        }
    }

    public void reading(EngineReadings readings, long nanos) {
        nowNanos = nanos;
        queue.look(readings);
        OptionalDouble count = readings.ttftCount().number();
        countsReadings |= count.isPresent();
        count.ifPresent(requests -> pacing.counted(Math.max(requests, (double) reports), nanos));
        if (counts()) {
            window.reading(readings);
        }
    }

    /** A request's first token, as who sent the request saw it. */
    public void firstToken(FirstToken report, long nanos) {
        nowNanos = nanos;
        reports++;
        if (counts()) {
            window.report(report);
        }
    }

    /** Takes in what the events showed of prompts since the last call. */
    public void used(PrefixUse use) {
        if (counts()) {
            window.used(use);
        }
    }

    /**
     * Returns the number of this round of windows, in which each arm has its share. What is compared in both has to be
     * chosen before it.
     */
    public long round() {
        return round;
    }

    /** The engine's cache or process was replaced: this window measures neither arm. */
    public void interrupted() {
        window.spoilt("the engine's cache was replaced");
    }

    /** Returns the reason why what may be released is not held now; absent when it is. */
    public Optional<Why> off() {
        if (on()) {
            return Optional.empty();
        }
        if (phase != Phase.RESTING) {
            return Optional.of(new Why(
                    Reason.MEASURING, "measuring: a window without automatic holds, to compare time to first token"));
        }
        return Optional.of(new Why(
                state == State.HARMFUL ? Reason.HARMFUL : Reason.NO_BENEFIT,
                why + ": holds are released, and tried again later"));
    }

    /** Returns how long holds are on or off at a time while that is measured. */
    public Duration windowLength() {
        return Duration.ofNanos(pacing.windowNanos());
    }

    public TtftEffect effect() {
        return effect;
    }

    private boolean on() {
        return order[index];
    }

    private boolean counts() {
        return began && nowNanos - startedNanos >= skipNanos && nowNanos - startedNanos <= windowNanos;
    }

    private void start(long skip) {
        startedNanos = nowNanos;
        windowNanos = pacing.windowNanos();
        skipNanos = Math.min(skip, windowNanos / 2);
        window = new Window();
        heldNanos = 0;
        effect = picture();
    }

    private void finish() {
        number++;
        Optional<String> notReady = notReady();
        Optional<Window.Measured> measured = window.measured(FEWEST_REQUESTS);
        cost.ended(on(), phase == Phase.RESTING, nowNanos - startedNanos, skipNanos, measured, cache.prefill());
        switch (phase) {
            case STEADY -> steady(notReady);
            case MEASURING -> {
                if (notReady.isPresent()) {
                    why = notReady.get();
                    steadyAgain();
                } else {
                    record.add(number, on(), window, measured.orElseThrow());
                    decide();
                }
            }
            case PROVEN -> {
                if (notReady.isEmpty()) {
                    record.add(number, on(), window, measured.orElseThrow());
                    confirm();
                }
                if (phase == Phase.PROVEN) {
                    next(this::provenBlock);
                }
            }
            case RESTING -> {
                if (nowNanos >= restUntilNanos) {
                    state = State.UNPROVEN;
                    why = "it is tried again";
                    record.forget();
                    steadyAgain();
                }
            }
        }
    }

    /** Returns the reason why this window says nothing. */
    private Optional<String> notReady() {
        Optional<String> spoilt = window.spoilt();
        if (spoilt.isPresent()) {
            return spoilt;
        }
        if (phase == Phase.RESTING) {
            return Optional.empty();
        }
        long counted = windowNanos - skipNanos;
        int requests = window.measured(1).map(Window.Measured::requests).orElse(0);
        Optional<String> thin = usual.thin(requests, counted);
        if (on() && heldNanos == 0) {
            return Optional.of("nothing was held that may be released, so there was nothing to measure");
        }
        if (on() && heldNanos < counted * HELD_PART) {
            return Optional.of("something was held for " + Math.round(100.0 * heldNanos / counted)
                    + " % of it, and it takes half, so that what was not held does not count as held");
        }
        if (!on() && heldNanos > 0) {
            return Optional.of("holds that should have been released were still in place");
        }
        if (window.measured(FEWEST_REQUESTS).isEmpty()) {
            return Optional.of(window.untold()
                    .orElse("it had " + requests + " requests that count, and needs " + FEWEST_REQUESTS));
        }
        return thin;
    }

    private void steady(Optional<String> notReady) {
        if (notReady.isPresent()) {
            steady = 0;
            why = notReady.get();
            begin();
        } else if (++steady >= STEADY_WINDOWS) {
            measure();
        }
    }

    private void steadyAgain() {
        phase = Phase.STEADY;
        steady = 0;
        always(true);
    }

    private void always(boolean on) {
        begin();
        order = new boolean[] {on};
        index = 0;
    }

    private void begin() {
        round++;
        pacing.adapt();
    }

    private void measure() {
        phase = Phase.MEASURING;
        begin();
        order = random.nextBoolean() ? ABBA : BAAB;
        index = 0;
    }

    private interface Block {
        void begin();
    }

    private void next(Block following) {
        if (index + 1 < order.length) {
            index++;
        } else {
            following.begin();
        }
    }

    /** Begins a block of windows that are on, but for one by a coin. */
    private void provenBlock() {
        begin();
        order = new boolean[settings.offShare() > 0 ? (int) Math.ceil(1 / settings.offShare()) : 1];
        Arrays.fill(order, true);
        if (settings.offShare() > 0) {
            order[random.nextInt(order.length)] = false;
        }
        index = 0;
    }

    private void decide() {
        EffectRecord.Finding finding = record.finding();
        why = finding.said();
        switch (finding.verdict()) {
            case GAIN -> {
                state = State.PROVEN;
                phase = Phase.PROVEN;
                releases = 0;
                record.watch();
                provenBlock();
            }
            case LOSS, TOKENS_SLOWER -> rest(State.HARMFUL);
            case NO_GAIN -> rest(State.NO_BENEFIT);
            case OPEN -> next(this::measure);
        }
    }

    private void confirm() {
        EffectRecord.Finding finding = record.finding();
        if (finding.verdict() == EffectRecord.Verdict.TOKENS_SLOWER) {
            why = finding.said();
            rest(State.HARMFUL);
            return;
        }
        record.changed().ifPresent(change -> {
            state = State.UNPROVEN;
            record.forget();
            measure();
            why = change;
        });
    }

    private void rest(State found) {
        state = found;
        phase = Phase.RESTING;
        long first = FIRST_REST * windowNanos;
        restUntilNanos = nowNanos
                + ((pacing.automatic() ? Math.max(first, SHORTEST_REST_NANOS) : first)
                        << Math.min(releases, MOST_DOUBLINGS));
        releases++;
        always(false);
    }

    private TtftEffect picture() {
        return record.effect(
                state,
                reason(),
                trouble,
                cost.time(),
                cost.prefill(),
                phase == Phase.RESTING ? Optional.of(Duration.ofNanos(restUntilNanos - nowNanos)) : Optional.empty(),
                switch (phase) {
                    case STEADY -> Optional.of(pacing.expected(STEADY_WINDOWS - steady, record.windows()));
                    case MEASURING -> Optional.of(pacing.expected(0, record.windows()));
                    case PROVEN, RESTING -> Optional.empty();
                });
    }

    private String reason() {
        String said = switch (phase) {
            case STEADY ->
                "measuring begins after " + STEADY_WINDOWS + " windows of " + windowNanos / 1_000_000_000L
                        + " s in which something is held and " + FEWEST_REQUESTS
                        + " requests are served; the last one: " + (steady > 0 ? "ready" : why);
            case MEASURING -> record.progress(why);
            case PROVEN, RESTING -> why;
        };
        return said + (phase == Phase.RESTING ? "" : pacing.tooShort().orElse(""));
    }
}
