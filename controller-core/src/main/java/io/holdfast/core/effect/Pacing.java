package io.holdfast.core.effect;

import io.holdfast.evidence.SequentialComparison;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/** Decides how long windows are, which part of them counts, and when an answer is to be expected at this traffic. */
final class Pacing {
    /*
     * Short windows answer sooner: what is slow in the traffic is alike in neighbours, and cancels. What sets a limit
     * is what one arm leaves to the other. Blocks that were released stay for one residence; prefixes that are to be
     * held again have to be used first, which takes about one reuse time. For the longer of both nothing counts after a
     * switch, so a window is three times as long, and so long that what counts of it has requests enough.
     *
     * Reuse is the median of all prefixes, those of long pauses among them. It makes windows no longer than five
     * minutes.
     */
    private static final long SECOND = 1_000_000_000L;
    private static final long SHORTEST = 60 * SECOND;
    private static final long LONGEST = 1_800 * SECOND;
    private static final long LONGEST_FOR_REUSE = 300 * SECOND;
    private static final long STEPS = 10 * SECOND;
    private static final int TIMES = 3;
    /** Number of requests in a window, half of which may not count. */
    private static final double ENOUGH_REQUESTS = 80;
    /** Windows are compared with each other, so their length changes when it has to. */
    private static final double WRONG = 1.5;

    private static final long SAMPLE_NANOS = 10 * SECOND;
    private static final int SAMPLES = 60;
    /** Number of windows by which nine of ten gains worth speaking of are shown. */
    static final int MOST_ARE_KNOWN = 48;

    private static final int FIRST_WINDOWS = SequentialComparison.FIRST_WINDOWS;

    private record Sample(long nanos, double count) {}

    private final Optional<Duration> fixed;
    private final int fewestRequests;
    private final TtftLoop.Cache cache;
    private final Deque<Sample> samples = new ArrayDeque<>();
    private double newest;
    private long windowNanos;

    Pacing(Optional<Duration> fixed, int fewestRequests, TtftLoop.Cache cache) {
        this.fixed = fixed;
        this.fewestRequests = fewestRequests;
        this.cache = cache;
        this.windowNanos = fixed.map(Duration::toNanos).orElse(SHORTEST);
    }

    /** Takes in how many requests were counted by now; the count begins anew when the counting engine restarts. */
    void counted(double count, long nanos) {
        if (count < newest) {
            samples.clear();
        }
        newest = count;
        if (samples.isEmpty() || nanos - samples.peekLast().nanos >= SAMPLE_NANOS) {
            samples.addLast(new Sample(nanos, count));
        }
        if (samples.size() > SAMPLES) {
            samples.removeFirst();
        }
    }

    /** Requests a second over the last ten minutes; absent before they can be told. */
    OptionalDouble rate() {
        if (samples.size() < 2) {
            return OptionalDouble.empty();
        }
        Sample from = samples.peekFirst();
        Sample to = samples.peekLast();
        return OptionalDouble.of((to.count - from.count) / ((to.nanos - from.nanos) / (double) SECOND));
    }

    long windowNanos() {
        return windowNanos;
    }

    /** Returns true if nobody set how long windows are. */
    boolean automatic() {
        return fixed.isEmpty();
    }

    /** Has windows be as long as they should be from the next one on. */
    void adapt() {
        if (fixed.isPresent()) {
            return;
        }
        long wanted = Math.max(
                SHORTEST, TIMES * cache.residence().map(Duration::toNanos).orElse(0L));
        wanted = Math.max(
                wanted,
                Math.min(
                        LONGEST_FOR_REUSE,
                        TIMES * cache.reuse().map(Duration::toNanos).orElse(0L)));
        OptionalDouble rate = rate();
        if (rate.isPresent()) {
            wanted = Math.max(wanted, (long) Math.min(LONGEST, ENOUGH_REQUESTS / rate.getAsDouble() * SECOND));
        }
        wanted = Math.min(LONGEST, (wanted + STEPS - 1) / STEPS * STEPS);
        if (wanted > WRONG * windowNanos || windowNanos > WRONG * wanted) {
            windowNanos = wanted;
        }
    }

    /** Returns how much of a window after a switch belongs to the other arm. */
    long discarded() {
        long leaving = cache.residence().map(Duration::toNanos).orElse(windowNanos / 4);
        long comingBack = automatic() ? cache.reuse().map(Duration::toNanos).orElse(0L) : 0;
        return Math.min(Math.max(leaving, comingBack), windowNanos / 2);
    }

    /** Returns a complaint if blocks stay so long that a part of what the other arm left is in what counts. */
    Optional<String> tooShort() {
        return cache.residence()
                .filter(residence -> residence.toNanos() > windowNanos / 2)
                .filter(residence -> !automatic() || windowNanos == LONGEST)
                .map(residence -> "; blocks stay " + residence.toSeconds()
                        + " s in this cache, longer than half a window, so part of the effect is not seen: make windows"
                        + " longer (ttftWindowSeconds)");
    }

    /**
     * Returns when an answer is to be expected.
     *
     * @param steady windows that have to go before
     * @param windows that were measured
     */
    String expected(int steady, int windows) {
        OptionalDouble rate = rate();
        if (rate.isEmpty()) {
            return "how long an answer takes shows when requests come";
        }
        double counted = (fixed.isPresent() ? windowNanos - discarded() : LONGEST / 2.0) / SECOND;
        if (rate.getAsDouble() * counted < fewestRequests) {
            return String.format(
                    Locale.ROOT,
                    "no answer is to be expected at this traffic: %.3g requests a minute are %.0f in the part of a"
                            + " window that counts, and it takes %d%s",
                    60 * rate.getAsDouble(),
                    Math.floor(rate.getAsDouble() * counted),
                    fewestRequests,
                    fixed.isPresent() ? " (longer windows have more: ttftWindowSeconds)" : "");
        }
        if (windows >= MOST_ARE_KNOWN) {
            return "a large effect would have shown by now, and a small one or none may take "
                    + time(Math.max(4, SequentialComparison.SPAN - windows)) + " more";
        }
        double first = minutes(steady + Math.max(4 - windows % 4, FIRST_WINDOWS - windows));
        double most = minutes(steady + MOST_ARE_KNOWN - windows);
        return String.format(
                Locale.ROOT,
                "an answer takes about %s to %s%s at this traffic",
                shortly(first, most),
                time(most),
                windows == 0 ? "" : " more");
    }

    private double minutes(int windows) {
        return (double) windows * windowNanos / (60 * SECOND);
    }

    private String time(int windows) {
        return time(minutes(windows));
    }

    private static String time(double minutes) {
        return minutes < 120
                ? Math.round(Math.ceil(minutes)) + " minutes"
                : String.format(Locale.ROOT, "%.0f hours", Math.ceil(minutes / 60));
    }

    /** Without the unit where the other one has the same. */
    private static String shortly(double minutes, double most) {
        return most < 120
                ? Long.toString(Math.round(Math.ceil(minutes)))
                : minutes >= 60 ? String.format(Locale.ROOT, "%.0f", Math.ceil(minutes / 60)) : time(minutes);
    }
}
