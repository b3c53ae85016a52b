package io.holdfast.workbench.matrix;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Consumer;

/*
 * Waiting for a server to cool down
 * =================================
 *
 * A GPU that has worked for a while is slower than a fresh one, often for good. A gate that waits for the speed of the
 * first request waits in vain before every leg, until its limit: hours of it, and nothing is gained. So what is waited
 * for is not the first speed. It is the median of what the server does after a burst of work, and, as the first legs
 * end, of what it does right after them.
 *
 * Three things end a wait: the speed is near enough, it has settled (three probes alike: waiting longer would change
 * nothing), or the limit. Where the speed was not reached twice in a row the server has become another one, so the
 * reference becomes what it does now, and all legs from there on are marked. What all waits together may take is
 * limited as well.
 *
 * A probe is a short request of a text of its own: its tokens by the time until the last of them.
 */

/** Waits before each leg of a suite until the server is about as fast as it is under sustained load. */
public final class CoolDown implements Suite.Between {
    /** Names of a leg's notes. */
    static final String OUTCOME = "cooldown";

    static final String SECONDS = "cooldown_seconds";
    private static final String PROBE = "cooldown_probe_tps";
    private static final String REFERENCE = "cooldown_reference_tps";
    private static final String DEGRADED = "cooldown_degraded";

    static final double USUAL_TOLERANCE = 0.20;
    private static final double DOUBTFUL_TOLERANCE = 0.10;
    private static final double ALIKE = 0.03;
    private static final int ALIKE_PROBES = 3;
    private static final int BURST = 8;
    private static final int SUSTAINED_LEGS = 3;
    private static final int CAPS_TO_WARN_OF = 3;
    private static final long PAUSE_NANOS = 5_000_000_000L;
    private static final double NANOS = 1e9;
    private static final double SECONDS_OF_AN_HOUR = 3_600;

    private final Settings settings;
    private final Probe probe;
    private final RunClock clock;
    private final Consumer<String> tell;
    private final List<Double> sustained = new ArrayList<>();
    private final List<Double> waits = new ArrayList<>();
    private double reference;
    private double spent;
    private int legsLeft;
    private int missedInARow;
    private int cappedInARow;
    private boolean degraded;

    /**
     * Limits of the waiting.
     *
     * @param tolerance how far the speed may lie below the reference, as a part of it
     * @param cap the most that one wait may take
     * @param budget the most that all of them may take together
     */
    public record Settings(double tolerance, Duration cap, Duration budget) {
        public Settings {
            if (!(tolerance > 0 && tolerance < 1)) {
                throw new LoadTestException("The tolerance of the cool-down is " + tolerance
                        + "; write a part of 1, as " + USUAL_TOLERANCE + ".");
            }
            if (cap.compareTo(Duration.ofSeconds(1)) < 0 || budget.compareTo(cap) < 0) {
                throw new LoadTestException("A cool-down of at most " + cap.toSeconds() + " s within "
                        + budget.toSeconds()
                        + " s for all of them cannot be: write at least 1 s each, and no less for all than for one.");
            }
        }

        /** Returns a doubt about a tolerance that is too small to be reached, before anything is known. */
        public Optional<String> doubt() {
            return tolerance < DOUBTFUL_TOLERANCE
                    ? Optional.of(String.format(
                            Locale.ROOT,
                            "A tolerance of %.2f is less than what many servers lose for good under load; what this"
                                    + " one sustains is said as soon as it is known.",
                            tolerance))
                    : Optional.empty();
        }
    }

    /** Measures how fast the server is now. */
    interface Probe {
        /** Tokens in a second; absent where it did not answer well. */
        OptionalDouble tokensPerSecond(EngineUnderTest engine);
    }

    private enum End {
        REFERENCE("reference"),
        PASSED("passed"),
        SETTLED("settled"),
        TIMED_OUT("timed out"),
        BUDGET_SPENT("budget spent");

        private final String text;

        End(String text) {
            this.text = text;
        }
    }

    CoolDown(Settings settings, Probe probe, int legs, RunClock clock, Consumer<String> tell) {
        this.settings = settings;
        this.probe = probe;
        this.clock = clock;
        this.tell = tell;
        this.legsLeft = legs;
    }

    /**
     * The gate of a suite.
     *
     * @param legs that are still to be run
     * @param tell told, in a sentence, what people have to know
     */
    public static CoolDown before(Settings settings, int legs, RunClock clock, Consumer<String> tell) {
        settings.doubt().ifPresent(tell);
        double most = Math.min(
                (double) settings.budget().toSeconds(),
                (double) legs * settings.cap().toSeconds());
        tell.accept(String.format(
                Locale.ROOT,
                "Before each of %d legs the server may cool down for %d s, %.1f h at the most for all of them.",
                legs,
                settings.cap().toSeconds(),
                most / SECONDS_OF_AN_HOUR));
        return new CoolDown(settings, new SpeedProbe(), legs, clock, tell);
    }

    /** Returns true if a speed is near enough to the reference. */
    static boolean passes(double speed, double reference, double tolerance) {
        return speed >= (1 - tolerance) * reference;
    }

    @Override
    public Map<String, String> before(Suite.Leg next, EngineUnderTest engine) {
        if (sustained.isEmpty()) {
            double speed = findReference(engine);
            legsLeft--;
            return notes(End.REFERENCE, 0, speed);
        }
        long began = clock.nanos();
        List<Double> probes = new ArrayList<>();
        End end = await(engine, began, probes);
        double seconds = (clock.nanos() - began) / NANOS;
        spent += seconds;
        waits.add(seconds);
        // What was waited for, before what was found out moves it.
        Map<String, String> notes = notes(end, seconds, probes.getLast());
        learn(end, probes);
        if (degraded) {
            notes.put(DEGRADED, "true");
        }
        legsLeft--;
        return notes;
    }

    /** The first speed is looked at only to be told how far below it the sustained one lies. */
    private double findReference(EngineUnderTest engine) {
        double first = ask(engine);
        for (int i = 0; i < BURST; i++) {
            ask(engine);
        }
        for (int i = 0; i < SUSTAINED_LEGS; i++) {
            sustained.add(ask(engine));
        }
        reference = median(sustained);
        double ratio = reference / Math.max(first, Double.MIN_NORMAL);
        tell.accept(String.format(
                Locale.ROOT,
                "After a burst the server makes %.1f tokens a second, %.0f %% of its first %.1f; the cool-down waits"
                        + " for %.1f.%s",
                reference,
                100 * ratio,
                first,
                (1 - settings.tolerance()) * reference,
                passes(reference, first, settings.tolerance())
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                " With a tolerance of %.2f its first speed would never be reached again.",
                                settings.tolerance())));
        return sustained.getLast();
    }

    private End await(EngineUnderTest engine, long began, List<Double> probes) {
        long cap = Math.round(
                Math.min((double) settings.cap().toNanos(), settings.budget().toNanos() - spent * NANOS));
        while (true) {
            double speed = ask(engine);
            probes.add(speed);
            if (probes.size() == 1 && waits.size() < SUSTAINED_LEGS && !degraded && speed > 0) {
                sustained.add(speed);
                reference = median(sustained);
            }
            if (passes(speed, reference, settings.tolerance())) {
                return End.PASSED;
            }
            if (isSettled(probes)) {
                return End.SETTLED;
            }
            if (clock.nanos() - began + PAUSE_NANOS > cap) {
                return cap < settings.cap().toNanos() ? End.BUDGET_SPENT : End.TIMED_OUT;
            }
            clock.sleep(PAUSE_NANOS);
        }
    }

    private static boolean isSettled(List<Double> probes) {
        if (probes.size() < ALIKE_PROBES) {
            return false;
        }
        List<Double> last = probes.subList(probes.size() - ALIKE_PROBES, probes.size());
        double least = last.stream().mapToDouble(Double::doubleValue).min().orElse(0);
        double most = last.stream().mapToDouble(Double::doubleValue).max().orElse(0);
        return least > 0 && most <= least * (1 + ALIKE);
    }

    private void learn(End end, List<Double> probes) {
        missedInARow = end == End.TIMED_OUT || end == End.SETTLED ? missedInARow + 1 : 0;
        cappedInARow = end == End.TIMED_OUT ? cappedInARow + 1 : 0;
        if (cappedInARow == CAPS_TO_WARN_OF) {
            double projected = Math.min(
                    Math.max(0, settings.budget().toSeconds() - spent),
                    (double) (legsLeft - 1) * settings.cap().toSeconds());
            tell.accept(String.format(
                    Locale.ROOT,
                    "Three cool-downs in a row have ended at their limit of %d s; for the %d legs that are left that"
                            + " will be %.1f h of waiting.",
                    settings.cap().toSeconds(),
                    legsLeft - 1,
                    projected / SECONDS_OF_AN_HOUR));
        }
        if (missedInARow >= 2) {
            double before = reference;
            reference = median(probes.subList(Math.max(0, probes.size() - ALIKE_PROBES), probes.size()));
            degraded = true;
            missedInARow = 0;
            tell.accept(String.format(
                    Locale.ROOT,
                    "Twice in a row the server did not come back to %.1f tokens a second; from here on %.1f is what it"
                            + " is waited for, and the legs are marked.",
                    before,
                    reference));
        }
    }

    private Map<String, String> notes(End end, double seconds, double speed) {
        Map<String, String> notes = new LinkedHashMap<>();
        notes.put(OUTCOME, end.text);
        if (end != End.REFERENCE) {
            notes.put(SECONDS, String.format(Locale.ROOT, "%.1f", seconds));
        }
        notes.put(PROBE, String.format(Locale.ROOT, "%.2f", speed));
        notes.put(REFERENCE, String.format(Locale.ROOT, "%.2f", reference));
        return notes;
    }

    /** A server that does not answer is as slow as can be. */
    private double ask(EngineUnderTest engine) {
        return probe.tokensPerSecond(engine).orElse(0);
    }

    private static double median(List<Double> values) {
        return Quantiles.ofSorted(
                values.stream().mapToDouble(Double::doubleValue).sorted().toArray(), 0.5);
    }

    /** Seconds that a leg cooled down before; absent where it did not. */
    static OptionalDouble secondsOf(LoadLeg leg) {
        return Optional.ofNullable(leg.notes().get(SECONDS)).stream()
                .mapToDouble(Double::parseDouble)
                .findFirst();
    }

    /** Summarises the cool-downs of a suite in a sentence; absent where there were none. */
    public static Optional<String> told(List<LoadLeg> legs) {
        double[] seconds = legs.stream()
                .flatMapToDouble(leg -> secondsOf(leg).stream())
                .sorted()
                .toArray();
        if (seconds.length == 0) {
            return Optional.empty();
        }
        long capped = legs.stream()
                .filter(leg -> End.TIMED_OUT.text.equals(leg.notes().get(OUTCOME)))
                .count();
        long marked =
                legs.stream().filter(leg -> leg.notes().containsKey(DEGRADED)).count();
        return Optional.of(String.format(
                Locale.ROOT,
                "Cool-downs: median %.0f s, %d of %d (%.0f %%) ended at their limit%s.",
                Quantiles.ofSorted(seconds, 0.5),
                capped,
                seconds.length,
                100.0 * capped / seconds.length,
                marked == 0 ? "" : ", " + marked + " after the reference was lowered"));
    }
}
