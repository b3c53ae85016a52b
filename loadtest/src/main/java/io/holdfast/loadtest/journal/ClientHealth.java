package io.holdfast.loadtest.journal;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Behaviour of the client itself while the requests of a leg were under way: what it did to its own stamps.
 *
 * @param loadNanos how long requests were under way
 * @param loopCpuNanos CPU time that the busiest event loop took meanwhile
 * @param processCpuNanos CPU time that the whole process took meanwhile, its compilers and collectors included
 * @param stillNanos the longest that an event loop came late to something that was due
 * @param collections pauses for garbage
 * @param collectionNanos what they took together, as far as the machine tells
 * @param clockNanos by how much the date moved away from the monotonic clock; a machine that slept, or a date that was
 *     set
 */
public record ClientHealth(
        long loadNanos,
        long loopCpuNanos,
        long processCpuNanos,
        long stillNanos,
        long collections,
        long collectionNanos,
        long clockNanos) {

    private static final long MILLI = 1_000_000;
    private static final double MOST_LOOP_SHARE = 0.8;
    private static final long MOST_STILL = 100 * MILLI;
    private static final long MOST_CLOCK_MOVE = 500 * MILLI;
    private static final long SHORTEST_LOAD = 50 * MILLI;

    /** The share of one core that the event loop took. */
    public double loopShare() {
        return loadNanos > 0 ? (double) loopCpuNanos / loadNanos : 0;
    }

    /**
     * Returns why the stamps of that time say more about the client than about the server, a clause each; empty if not.
     */
    public List<String> troubles() {
        List<String> failed = new ArrayList<>();
        if (loadNanos >= SHORTEST_LOAD && loopShare() > MOST_LOOP_SHARE) {
            failed.add(String.format(
                    Locale.ROOT,
                    "the client was saturated: its event loop took %.0f %% of a core where at most 80 %% are allowed;"
                            + " use a lower concurrency or a faster machine",
                    100 * loopShare()));
        }
        if (stillNanos > MOST_STILL) {
            failed.add(String.format(
                    Locale.ROOT,
                    "the client stood still for %d ms where at most 100 ms are allowed (%d pauses for garbage of %d ms"
                            + " in all); use a machine with less other load",
                    stillNanos / MILLI,
                    collections,
                    collectionNanos / MILLI));
        }
        if (Math.abs(clockNanos) > MOST_CLOCK_MOVE) {
            failed.add(String.format(
                    Locale.ROOT,
                    "the date moved by %+d ms against the clock that the stamps are from, so the machine slept or its"
                            + " date was set",
                    clockNanos / MILLI));
        }
        return failed;
    }
}
