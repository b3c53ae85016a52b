package io.holdfast.core.effect;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.effect.TtftEffect.State;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.plan.Why;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** Lets holds go for a window now and then, learns from that whether they help, and lets them go for longer where they do not. */
public final class TtftLoop {
    /*
     * Phases
     * ------
     * STEADY     holds on, until two windows in a row are ready with something held: there is no effect to measure of what
     *            is not there, and a cache that fills shows another one than a full cache
     * MEASURING  four windows make a quad, on-off-off-on or off-on-on-off by a coin: within a quad a steady drift cancels,
     *            and the coin keeps the order from falling in step with anything periodic in the traffic
     * PROVEN     holds on; one window in each block of twenty, by a coin, is off. Nothing is let go by so few. A detector
     *            only sends it back to MEASURING
     * RESTING    no benefit, or harm: holds are let go, for longer each time until they were proven again
     *
     * When a window counts
     * --------------------
     * After a switch the cache still has what the other arm left in it: for one residence released blocks stay, and blocks
     * that are held again have to be stored. So that long nothing counts, but at most half of a window; where residence is
     * not known, a quarter. Where blocks stay for longer, part of the other arm's effect is in every window, and the
     * estimate errs towards none: it is said that windows are too short.
     *
     * A window is ready when it has twenty requests, no restart, and in on-windows something held. It is not ready when the
     * application limits it: traffic so thin, against what is usual, that the cache was hardly asked for anything. Time to first token of a nearly
     * idle engine says how fast it computes, whatever is in its cache: a night of such windows would outvote the day and let
     * go what helps it. "Usual" is the median of the last twenty windows, ready or not, so a day that stays quiet becomes
     * usual. A cache that evicts nothing is not application-limited in this sense: requests come, and holds do nothing for
     * them, which is a finding.
     *
     * Windows are not prolonged until they are ready, which would leave a quiet engine in one arm for good; one that is not
     * ends the quad, and measuring begins with a steady window again, since off windows cost and yield nothing then. What was
     * measured before stays.
     *
     * What is compared
     * ----------------
     * The logarithm of the window's mean time to first token, by a regression on the arm, the logarithm of the mean prompt
     * length and the mean number of running requests, whose errors follow one another (evidence has it). Running requests are
     * partly an effect of what is studied: faster prefill leaves fewer of them. Decoding makes nearly all of their number, so
     * what this hides of the effect is small, and it is hidden, not made up.
     *
     * Guards
     * ------
     * While requests queue behind a full engine, or wait though nothing runs, there are no off windows: whatever holds save
     * is needed then. Time between tokens is compared as time to first token is: holds that lengthen it are harmful even where
     * first tokens come sooner. Engines export no count of errors that would tell ours from a client's, so none is looked at.
     */
    private static final int FEWEST_REQUESTS = 20;
    private static final int STEADY_WINDOWS = 2;
    private static final int FIRST_REST = 20;
    private static final int MOST_DOUBLINGS = 4;
    private static final boolean[] ABBA = {true, false, false, true};
    private static final boolean[] BAAB = {false, true, true, false};

    private enum Phase {
        STEADY,
        MEASURING,
        PROVEN,
        RESTING
    }

    /** What is measured of the cache elsewhere. */
    public interface Cache {
        /** How long a block stays that nobody uses. */
        Optional<Duration> residence();

        PrefillCost prefill();
    }

    private final EffectSettings settings;
    private final long windowNanos;
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
    private boolean held;
    private Optional<String> trouble = Optional.empty();
    private TtftEffect effect = TtftEffect.unproven("measuring: no window is over yet");

    public TtftLoop(EffectSettings settings, RandomGenerator random, Cache cache) {
        this.settings = settings;
        this.windowNanos = settings.window().toNanos();
        this.random = random;
        this.cache = cache;
        this.record = new EffectRecord(settings.leastGain());
    }

    /**
     * Ends windows whose time is over.
     *
     * @param holding whether anything is held that is let go in an off window
     * @param stall why holds must not be off now
     */
    public void tick(long nanos, boolean holding, Optional<String> stall) {
        nowNanos = nanos;
        if (!began) {
            began = true;
            start(0);
        }
        held |= holding && counts();
        trouble = stall.or(queue::trouble);
        if (trouble.isPresent() && phase != Phase.RESTING) {
            window.spoilt(trouble.get());
            if (!on()) {
                steadyAgain();
                start(discarded());
            }
        }
        if (nowNanos - startedNanos >= windowNanos) {
            boolean before = on();
            finish();
            start(on() == before ? 0 : discarded());
        }
    }

    public void reading(EngineReadings readings, long nanos) {
        nowNanos = nanos;
        queue.look(readings);
        if (counts()) {
            window.reading(readings);
        }
    }

    /** A request's first token, as who sent the request saw it. */
    public void firstToken(FirstToken report, long nanos) {
        nowNanos = nanos;
        if (counts()) {
            window.report(report);
        }
    }

    /** The engine's cache or process was replaced: this window measures neither arm. */
    public void interrupted() {
        window.spoilt("the engine's cache was replaced");
    }

    /** Why what may be let go is not held now; absent when it is. */
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
                why + ": holds are let go, and tried again later"));
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

    /** How much of a window after a switch belongs to the other arm. */
    private long discarded() {
        return cache.residence()
                .map(residence -> Math.min(residence.toNanos(), windowNanos / 2))
                .orElse(windowNanos / 4);
    }

    private void start(long skip) {
        startedNanos = nowNanos;
        skipNanos = skip;
        window = new Window();
        held = false;
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

    /** Why this window says nothing. */
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
        if (on() && !held) {
            return Optional.of("nothing was held that may be let go, so there was nothing to measure");
        }
        if (!on() && held) {
            return Optional.of("what was to be let go was held still");
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
        order = new boolean[] {on};
        index = 0;
    }

    private void measure() {
        phase = Phase.MEASURING;
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

    /** On, but for one window by a coin. */
    private void provenBlock() {
        order = new boolean[settings.offShare() > 0 ? (int) Math.ceil(1 / settings.offShare()) : 1];
        Arrays.fill(order, true);
        if (settings.offShare() > 0) {
            order[random.nextInt(order.length)] = false;
        }
        index = 0;
    }

    private void decide() {
        EffectRecord.Verdict verdict = record.verdict();
        switch (verdict) {
            case GAIN -> {
                state = State.PROVEN;
                phase = Phase.PROVEN;
                releases = 0;
                record.watch();
                provenBlock();
            }
            case LOSS, TOKENS_SLOWER -> rest(State.HARMFUL, verdict.said());
            case NO_GAIN -> rest(State.NO_BENEFIT, verdict.said().formatted(percent(settings.leastGain())));
            case OPEN -> next(this::measure);
        }
        why = verdict == EffectRecord.Verdict.NO_GAIN
                ? verdict.said().formatted(percent(settings.leastGain()))
                : verdict.said();
    }

    private void confirm() {
        if (record.verdict() == EffectRecord.Verdict.TOKENS_SLOWER) {
            why = EffectRecord.Verdict.TOKENS_SLOWER.said();
            rest(State.HARMFUL, why);
            return;
        }
        record.changed().ifPresent(change -> {
            state = State.UNPROVEN;
            record.forget();
            measure();
            why = change;
        });
    }

    private void rest(State found, String because) {
        state = found;
        why = because;
        phase = Phase.RESTING;
        restUntilNanos = nowNanos + ((FIRST_REST * windowNanos) << Math.min(releases, MOST_DOUBLINGS));
        releases++;
        always(false);
    }

    private static String percent(double part) {
        return String.format(Locale.ROOT, "%.3g %%", 100 * part);
    }

    private TtftEffect picture() {
        return record.effect(
                state,
                reason(),
                trouble,
                cost.time(),
                cost.prefill(),
                phase == Phase.RESTING ? Optional.of(Duration.ofNanos(restUntilNanos - nowNanos)) : Optional.empty());
    }

    private String reason() {
        String said = switch (phase) {
            case STEADY ->
                "measuring begins after " + STEADY_WINDOWS + " windows of "
                        + settings.window().toSeconds()
                        + " s in which something is held and " + FEWEST_REQUESTS
                        + " requests are served; the last one: " + (steady > 0 ? "ready" : why);
            case MEASURING -> record.progress(why);
            case PROVEN, RESTING -> why;
        };
        return said + tooShort().orElse("");
    }

    private Optional<String> tooShort() {
        return cache.residence()
                .filter(residence -> residence.toNanos() > windowNanos / 2 && phase != Phase.RESTING)
                .map(residence -> "; blocks stay " + residence.toSeconds()
                        + " s in this cache, longer than half a window, so part of the effect is not seen: make windows"
                        + " longer (ttftWindowSeconds)");
    }
}
