package io.holdfast.core.requests;

import java.util.OptionalDouble;

/**
 * Share of the engine's requests that its events do not show: what the engine counted less what was seen, both since
 * the first reading.
 *
 * <p>The two are counted at different moments of a request's life, so the share wavers by the requests that run; it is
 * unknown until the engine counted one. Of a long life the whole says little about now, so a share of the last ten to
 * twenty minutes is kept beside it, with how far it may be off.
 */
public final class InvisibleShare {
    private static final long WINDOW_NANOS = 600_000_000_000L;

    /** Number of requests on their way between the engine's counter and its events, beside those that run. */
    private static final int UNDER_WAY = 5;

    private boolean based;
    private long firstCount;
    private long lastCount;
    private long firstSeen;
    private long lastSeen;

    /** Counts at the beginning of the window before this one, and of this one. */
    private long olderCount;

    private long olderSeen;
    private double olderRunning;
    private long newerCount;
    private long newerSeen;
    private double newerRunning;
    private long newerNanos;

    /**
     * Takes a reading.
     *
     * @param requests requests that the engine counted in its life; fewer than before: it is another life
     * @param seen requests that its events showed, ever growing
     * @param running requests that run just then
     */
    public void counted(long requests, long seen, double running, long nanos) {
        if (!based || requests < lastCount) {
            based = true;
            firstCount = requests;
            firstSeen = seen;
            olderCount = requests;
            olderSeen = seen;
            olderRunning = running;
            newerCount = requests;
            newerSeen = seen;
            newerRunning = running;
            newerNanos = nanos;
        }
        if (nanos - newerNanos >= WINDOW_NANOS) {
            olderCount = newerCount;
            olderSeen = newerSeen;
            olderRunning = newerRunning;
            newerCount = requests;
            newerSeen = seen;
            newerRunning = running;
            newerNanos = nanos;
        }
        newerRunning = Math.max(newerRunning, running);
        lastCount = requests;
        lastSeen = seen;
    }

    /** Begins anew with the next reading: events were lost. */
    public void reset() {
        based = false;
        firstCount = 0;
        lastCount = 0;
        olderCount = 0;
    }

    /** Requests that the engine counted. */
    public long requests() {
        return lastCount - firstCount;
    }

    /** Returns the number of those requests that its events did not show. */
    public long invisible() {
        return based ? Math.max(0, requests() - (lastSeen - firstSeen)) : 0;
    }

    /** Returns the share, between 0 and 1; absent before the engine counted a request. */
    public OptionalDouble share() {
        return requests() == 0 ? OptionalDouble.empty() : OptionalDouble.of((double) invisible() / requests());
    }

    /** Returns the share of the last ten to twenty minutes; absent where the engine counted none in them. */
    public OptionalDouble recentShare() {
        long recent = lastCount - olderCount;
        return recent == 0
                ? OptionalDouble.empty()
                : OptionalDouble.of((double) Math.max(0, recent - (lastSeen - olderSeen)) / recent);
    }

    /** Returns by how much that share may be off, for the requests that ran when it began or run now. */
    public double recentDoubt() {
        return (Math.max(olderRunning, newerRunning) + UNDER_WAY) / Math.max(1, lastCount - olderCount);
    }
}
